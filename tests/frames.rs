//! Whole frames: scenario, size and palette give this text and these colours.
