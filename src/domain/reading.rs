//! A value that may be missing, and why: absent is never zero.

use std::borrow::Cow;

/// A value from outside, or the reason why there is none.
pub type Reading<T> = Result<T, Missing>;

/// Why a value is missing. The texts are cleaned and short: they go to the screen as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// Not read yet.
    #[error("not read yet")]
    Pending,
    /// This device, driver or platform does not have it.
    #[error("not supported: {0}")]
    Unsupported(Cow<'static, str>),
    /// It exists, but not for this user.
    #[error("not permitted: {0}")]
    Denied(Cow<'static, str>),
    /// The device fell off the bus or needs a reset.
    #[error("device lost: {0}")]
    Lost(Cow<'static, str>),
    /// The call failed.
    #[error("failed: {0}")]
    Failed(Cow<'static, str>),
}

impl Missing {
    /// One word for a narrow column.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "…",
            Self::Unsupported(_) => "N/A",
            Self::Denied(_) => "denied",
            Self::Lost(_) => "lost",
            Self::Failed(_) => "failed",
        }
    }
}
