//! A stand-in for `libnvidia-ml.so.1`.
