//! The dashboard: source, pipeline and screen put together.
