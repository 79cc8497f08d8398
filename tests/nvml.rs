//! The real driver path against the fake library.
