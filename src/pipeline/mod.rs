//! Layer 4: samples in, sinks and the fold, latest snapshot out.
