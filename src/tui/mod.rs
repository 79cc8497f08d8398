//! Layer 5: the dashboard.
