//! Scenario, keys, expected text.
