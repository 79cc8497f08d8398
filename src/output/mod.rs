//! Layer 5: what leaves the program other than the screen.
