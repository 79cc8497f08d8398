//! Layer 1: what the user asked for.
