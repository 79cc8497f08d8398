//! Arrows between modules go down.
