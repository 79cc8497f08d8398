//! Run fewer encode sessions.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "limit_encode_sessions",
    title: "Run fewer encode sessions",
    topic: Topic::Host,
    sides: &[Side::Serving, Side::Operator],
    effort: Effort::Flag,
    does: "The driver of consumer cards limits how many NVENC sessions run at once, and reports the limit as \
           'out of memory'.",
    code: &[Code { of: "FFmpeg", lines: &["ffmpeg -i in.mp4 -c:v libx264 out.mp4  # the CPU, for what is over the limit"] }],
    cost: "Encoding on the CPU, or later.",
    not_when: &["professional cards have no such limit"],
    frameworks: &[Framework::Ffmpeg],
    sources: &["https://developer.nvidia.com/video-encode-and-decode-gpu-support-matrix-new"],
    applies: None,
};
