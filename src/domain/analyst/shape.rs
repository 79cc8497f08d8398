//! The one word for a series as a whole.

use super::signal::{Scale, Signal};
use super::trend::Trend;
use crate::domain::Shape;

/// The word for a series, its growth now, and whether it is loading.
pub(crate) fn shape(signal: &Signal, trend: Option<&Trend>, loading: bool, scale: &Scale) -> Shape {
    let _ = (signal, trend, loading, scale);
    Shape::Unknown
}
