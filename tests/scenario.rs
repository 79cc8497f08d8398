//! Scenario files and the streams they give.
