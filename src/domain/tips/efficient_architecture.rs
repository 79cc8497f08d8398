//! Choose a leaner model.

use super::{Code, Effort, Side, Tip, Topic};

/// The entry.
pub const TIP: Tip = Tip {
    id: "efficient_architecture",
    title: "Choose a leaner model",
    topic: Topic::Step,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Redesign,
    does: "Depthwise convolutions, shared weights, grouped-query attention, pruned or distilled models hold \
           fewer weights and fewer activations for the same task.",
    code: &[Code {
        of: "PyTorch",
        lines: &[
            "# depthwise, then pointwise, instead of one dense convolution",
            "nn.Conv2d(c, c, 3, padding=1, groups=c)",
            "nn.Conv2d(c, d, 1)",
            "decoder.weight = encoder.weight  # shared, counted once",
        ],
    }],
    cost: "Quality has to be measured again, and the model trained again.",
    not_when: &["the model is given"],
    frameworks: &[],
    sources: &["https://arxiv.org/abs/1704.04861", "https://arxiv.org/abs/2305.13245"],
    applies: None,
};
