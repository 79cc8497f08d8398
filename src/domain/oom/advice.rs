//! Which tips help in a case, in order, with the bytes they are about; and which popular ones would not, and why.

use super::cause::{Activity, Verdict};
use super::clues::{Clue, Clues};
use super::event::{Allocator, Cause, Event, Kind, Stage};
use crate::domain::bytes::{GIB, MIB};
use crate::domain::{Bytes, Framework};

/// A tip for this case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    /// The tip's id in the catalogue.
    pub tip: &'static str,
    /// Why it should help here.
    pub why: String,
    /// Bytes that it may give, from and to; none where the text does not tell.
    pub saves: Option<(Bytes, Bytes)>,
}

/// A tip that many would try and that does nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unhelpful {
    /// The tip's id in the catalogue.
    pub tip: &'static str,
    /// Why not.
    pub why: String,
}

/// No more tips than this are proposed.
const MOST: usize = 3;

/// The case that is advised on.
struct Case<'a> {
    event: &'a Event,
    clues: &'a Clues,
    activity: Activity,
    /// Several ranks failed.
    ranks: usize,
}

fn tip(tip: &'static str, why: impl Into<String>) -> Proposed {
    Proposed { tip, why: why.into(), saves: None }
}

fn saving(tip: &'static str, from: Bytes, to: Bytes, why: impl Into<String>) -> Proposed {
    Proposed { tip, why: why.into(), saves: (to > Bytes::ZERO).then_some((from.min(to), to)) }
}

/// The tips for a failure, the best first.
pub fn propose(event: &Event, verdict: &Verdict, clues: &Clues, ranks: usize) -> Vec<Proposed> {
    let case = Case { event, clues, activity: verdict.activity, ranks };
    let mut tips = match verdict.cause {
        Cause::None => Vec::new(),
        Cause::HostMemory => case.host(),
        Cause::KernelLimit => vec![
            tip("smaller_kernel_tiles", "the kernel's tiles and stages have to fit the on-chip memory of one thread block"),
            tip("update_software", "newer releases choose tile sizes that this GPU has room for"),
        ],
        Cause::SessionLimit => vec![
            tip("limit_encode_sessions", "the driver allows only so many encode sessions at once"),
            tip("update_software", "newer drivers allow more sessions"),
        ],
        Cause::MemoryCap => case.cap(),
        Cause::CorruptSize => vec![
            tip("check_inputs", "print the shapes just before this call: one dimension is wrong, or a product overflowed"),
            tip("update_software", "libraries have had such overflows"),
        ],
        Cause::OversizedTensor => case.oversized(),
        Cause::DriverState => vec![
            tip(
                "restart_process",
                "the numbers contradict a full card: look for stale processes, lost device nodes and Xid messages",
            ),
            tip("update_software", "driver and library may disagree on what is free"),
        ],
        Cause::ModelTooLarge => case.model(),
        Cause::OptimizerState => vec![
            tip("optimizer_8bit", "Adam keeps 8 bytes a parameter in fp32; 8-bit states keep 2"),
            tip("shard_states", "ZeRO-1 or FSDP divides the states by the number of GPUs"),
            tip("cpu_offload", "states are touched once a step and can wait in RAM"),
        ],
        Cause::EvalWithoutNoGrad => vec![
            tip("inference_mode", "without it every layer's activations are kept for a backward pass that never comes"),
            tip(
                "detach_logged_tensors",
                "outputs that are collected on the GPU stay there with their graphs: move them to the CPU",
            ),
        ],
        Cause::LeakOverSteps => case.leak(),
        Cause::KvCache => case.cache(),
        Cause::Fragmentation => case.fragmentation(),
        Cause::ForeignProcess => case.foreign(),
        Cause::BatchTooLarge => case.step(),
        Cause::Unknown => case.unknown(),
    };
    tips.truncate(MOST);
    tips
}

impl Case<'_> {
    fn dialect(&self, id: &str) -> bool {
        self.event.dialect == id
    }

    fn pytorch(&self) -> bool {
        self.event.framework == Some(Framework::PyTorch)
    }

    fn has(&self, clue: Clue) -> bool {
        self.clues.has(clue)
    }

    /// Whether steps were under way: it was not the first call.
    fn runs(&self) -> bool {
        self.has(Clue::Progress) || self.clues.in_stack(Clue::Backward).is_some()
    }

    /// What is missing: the request less what is free.
    fn shortfall(&self) -> Option<Bytes> {
        let f = &self.event.figures;
        let room = f.free.or_else(|| f.allowed.map(|allowed| allowed.saturating_sub(f.allocated.unwrap_or_default())));
        Some(f.requested?.saturating_sub(room?))
    }

    /// What other processes hold.
    fn others(&self) -> Bytes {
        self.event.others.iter().filter_map(|other| other.bytes).sum()
    }

    fn names_of_others(&self) -> String {
        let mut named: Vec<String> = self
            .event
            .others
            .iter()
            .map(|other| match other.bytes {
                Some(bytes) => format!("process {} holds {bytes}", other.pid),
                None => format!("process {} is on the card", other.pid),
            })
            .collect();
        let rest = named.len().saturating_sub(3);
        named.truncate(3);
        if rest > 0 {
            named.push(format!("{rest} more are on the card"));
        }
        named.join(", ")
    }

    fn free_other(&self) -> Proposed {
        let others = self.others();
        if others > Bytes::ZERO {
            return saving("free_other_process", others, others, self.names_of_others());
        }
        let f = &self.event.figures;
        if self.event.stage == Some(Stage::StartCheck)
            && let (Some(capacity), Some(free)) = (f.capacity, f.free)
        {
            let held = capacity.saturating_sub(free);
            return saving(
                "free_other_process",
                Bytes::ZERO,
                held,
                format!("{held} are held before it starts, often by its own workers of a run before"),
            );
        }
        tip("free_other_process", "see with nvidia-smi who else holds memory on this card")
    }

    fn reduce(&self) -> Proposed {
        let why = match self.shortfall() {
            Some(short) if short > Bytes::ZERO => {
                format!("at least {short} are missing, and what a step holds shrinks with the batch")
            }
            _ => "what a step holds shrinks with the batch".to_owned(),
        };
        tip("reduce_batch_accumulate", why)
    }

    fn checkpointing(&self) -> Option<Proposed> {
        (!self.has(Clue::CheckpointingOn))
            .then(|| tip("gradient_checkpointing", "activations are computed again in the backward pass instead of being kept"))
    }

    fn shorter() -> Proposed {
        tip("shorter_sequence", "activations grow with the length, and scores of attention with its square")
    }

    fn host(&self) -> Vec<Proposed> {
        let event = self.event;
        if event.kind == Kind::HostShm {
            return vec![
                tip("raise_shm", "the container's /dev/shm is what ran out"),
                tip("fewer_dataloader_workers", "each worker passes its batches through /dev/shm"),
            ];
        }
        let ram = |why: &str| match (event.figures.requested, event.figures.free) {
            (Some(asked), Some(free)) if asked > free => {
                let short = asked.saturating_sub(free);
                saving("host_more_ram", short, short, format!("{asked} of RAM are needed and {free} are available"))
            }
            (Some(asked), _) => tip("host_more_ram", format!("{asked} of RAM were asked for")),
            _ => tip("host_more_ram", why),
        };
        let lazily = tip("load_weights_lazily", "a checkpoint that is mapped is not held in RAM twice");
        let workers = tip(
            "fewer_dataloader_workers",
            "each worker is a process with its own copy of what it touches and its prefetched batches",
        );
        if matches!(event.dialect, "ollama" | "llama_cpp") {
            return vec![
                ram("system RAM is what is short"),
                tip("quantize_weights", "a smaller quantization needs less RAM too"),
                tip("kv_cache_smaller", "a shorter context needs less"),
            ];
        }
        let loading =
            self.clues.said(Clue::Loading).is_some_and(|said| said.back <= 12 || said.in_stack) && !self.has(Clue::Progress);
        if event.dialect == "pytorch_host" && event.figures.requested.is_none() && event.text.contains("DataLoader") {
            return vec![workers, ram("the kernel killed a worker for the host's memory"), lazily];
        }
        if loading {
            return vec![
                lazily,
                ram("the weights pass through RAM"),
                tip("quantize_weights", "weights of half the size need half the RAM on their way"),
            ];
        }
        vec![ram("system RAM, or the limit of the container or job, is what ran out"), workers, lazily]
    }

    fn cap(&self) -> Vec<Proposed> {
        let f = &self.event.figures;
        let why = match (f.allowed, f.free) {
            (Some(allowed), Some(free)) => format!("the limit is {allowed}, and {free} is free on the card"),
            (Some(allowed), None) => format!("the limit is {allowed}"),
            _ => "a configured limit refused it, not the card".to_owned(),
        };
        let raise = match (f.free, f.requested) {
            (Some(free), Some(_)) => saving("raise_memory_cap", Bytes::ZERO, free, why),
            _ => tip("raise_memory_cap", why),
        };
        let second = if self.pytorch() || self.activity == Activity::Training {
            self.reduce()
        } else {
            tip("chunk_or_tile", "work on parts that fit the limit")
        };
        vec![raise, second]
    }

    fn oversized(&self) -> Vec<Proposed> {
        let asked = self.event.figures.requested.unwrap_or_default();
        if self.clues.in_stack(Clue::Logits).is_some() {
            return vec![
                saving("fused_loss", Bytes::ZERO, asked, "the logits of all tokens are one tensor"),
                Self::shorter(),
                self.reduce(),
            ];
        }
        if self.clues.in_stack(Clue::Attention).is_some() || self.has(Clue::Attention) {
            return vec![
                saving(
                    "efficient_attention",
                    Bytes::ZERO,
                    asked,
                    format!("a full matrix of scores of {asked}; fused kernels never make it"),
                ),
                Self::shorter(),
                tip("check_inputs", "is the length what was meant?"),
            ];
        }
        vec![
            tip("check_inputs", format!("is a shape of {asked} what was meant?")),
            tip("chunk_or_tile", "no card has room for it in one piece"),
            tip("shorter_sequence", "a smaller input makes a smaller tensor"),
        ]
    }

    fn model(&self) -> Vec<Proposed> {
        let quantize = || {
            let allocated = self.event.figures.allocated.map(|allocated| Bytes(allocated.0 / 2));
            let why = "weights in half precision, 8 or 4 bits take a half, a quarter or an eighth of fp32";
            match allocated {
                Some(half) => saving("quantize_weights", Bytes::ZERO, half, why),
                None => tip("quantize_weights", why),
            }
        };
        let split = || tip("split_across_gpus", "several cards hold a part each");
        match self.event.dialect {
            "vllm" => vec![
                quantize(),
                split(),
                tip("raise_gpu_memory_utilization", "only where the card has room beside the engine's share"),
            ],
            "sglang" => vec![
                tip(
                    "raise_gpu_memory_utilization",
                    "the static share is smaller than weights and cache need: raise --mem-fraction-static",
                ),
                split(),
                quantize(),
            ],
            "llama_cpp" | "ollama" => vec![
                tip("fewer_gpu_layers", "the layers that do not fit stay in RAM"),
                tip("quantize_weights", "a smaller quantization"),
            ],
            "blender" => vec![
                tip("efficient_architecture", "a scene with smaller textures and fewer subdivisions"),
                tip("chunk_or_tile", "render in tiles or layers"),
            ],
            "faiss" => vec![
                tip("lower_library_reserve", "Faiss keeps a scratch reservation on each card"),
                tip("quantize_weights", "codes of a smaller type"),
                split(),
            ],
            _ if self.activity == Activity::LanguageServing => vec![quantize(), split()],
            _ => vec![quantize(), tip("cpu_offload", "what does not fit waits in RAM"), split()],
        }
    }

    fn leak(&self) -> Vec<Proposed> {
        let trend = self.clues.trends.rising.as_ref();
        let grown = trend.map_or(Bytes::ZERO, |trend| trend.last.saturating_sub(trend.first));
        vec![
            saving(
                "detach_logged_tensors",
                Bytes::ZERO,
                grown,
                "a loss or output that is kept with its graph keeps that step's activations",
            ),
            tip("del_and_gc", "references in lists, caches and closures keep tensors"),
            tip("memory_profiler", "a memory snapshot shows the lines whose tensors live on"),
        ]
    }

    fn cache(&self) -> Vec<Proposed> {
        let f = &self.event.figures;
        let smaller = match (f.requested, f.allowed) {
            (Some(needed), Some(available)) => {
                let short = needed.saturating_sub(available);
                let length = super::dialects::fitting_length(&self.event.text)
                    .map_or_else(String::new, |length| format!("; a length of {length} fits"));
                saving(
                    "kv_cache_smaller",
                    short,
                    short,
                    format!("{needed} of cache are needed and {available} are available{length}"),
                )
            }
            _ => tip("kv_cache_smaller", "a shorter context, fewer sequences or a quantized cache"),
        };
        let lower = || tip("lower_gpu_memory_utilization", "the engine's static pool leaves too little beside it");
        match self.event.dialect {
            "vllm" => vec![
                smaller,
                tip("raise_gpu_memory_utilization", "only where the card has room beside the engine's share"),
                tip("split_across_gpus", "each card then holds a part of weights and cache"),
            ],
            "llama_cpp" | "ollama" => {
                vec![smaller, tip("fewer_gpu_layers", "each layer that stays in RAM takes its weights and its cache with it")]
            }
            "sglang" if self.event.stage == Some(Stage::Running) && self.event.text.contains("Prefill") => vec![
                tip("chunked_prefill_smaller", "a smaller chunk asks for fewer tokens of the pool at once"),
                tip("fewer_concurrent_requests", "fewer requests share the pool"),
            ],
            "sglang" if self.event.stage == Some(Stage::Running) => {
                vec![tip("fewer_concurrent_requests", "fewer requests share the pool"), smaller]
            }
            "deepspeed" => vec![smaller, self.reduce()],
            _ if self.has(Clue::GraphCapture) => vec![
                lower(),
                tip(
                    "disable_cuda_graphs",
                    match self.event.pools {
                        Some(pools) => format!("captured graphs hold {pools} already"),
                        None => "each captured size keeps memory of its own".to_owned(),
                    },
                ),
                smaller,
            ],
            _ if self.activity == Activity::LanguageServing => vec![smaller, lower()],
            _ => vec![smaller, self.reduce()],
        }
    }

    fn fragmentation(&self) -> Vec<Proposed> {
        let f = &self.event.figures;
        let (asked, unused) = (f.requested.unwrap_or_default(), f.unallocated.unwrap_or_default());
        let of = f.capacity.map_or_else(String::new, |capacity| format!(" of {capacity}"));
        let why = format!("up to {unused}{of} are reserved in pieces that the {asked} do not fit into");
        let lengths = tip("bucket_lengths", "few distinct shapes let blocks be used again");
        if !self.pytorch() {
            return vec![saving("del_and_gc", Bytes::ZERO, unused, why), self.reduce()];
        }
        let before_expandable = match self.event.versions {
            Some(versions) => [">=1.4,<1.10", ">=1.10,<1.13", ">=1.13,<2.1", ">=1.0,<1.4", "<2.1"].contains(&versions),
            None => false,
        };
        let without_options = matches!(self.event.versions, Some(">=1.4,<1.10" | ">=1.0,<1.4"));
        if without_options {
            return vec![
                lengths,
                tip("empty_cache", "between phases, before the peak: it can't help at the failure itself"),
                self.reduce(),
            ];
        }
        if before_expandable || self.has(Clue::Windows) || self.event.allocator == Allocator::Xpu {
            return vec![saving("max_split_size", asked, unused, why), lengths];
        }
        let expandable = saving("expandable_segments", asked, unused, why);
        if self.others().0 >= f.capacity.unwrap_or_default().0 / 20 && self.others().0 >= GIB / 2 {
            return vec![expandable, self.free_other(), self.reduce()];
        }
        vec![expandable, lengths]
    }

    fn foreign(&self) -> Vec<Proposed> {
        let other_gpu = tip("pick_other_gpu", "a card on which nobody else is");
        let mut tips = vec![self.free_other(), other_gpu];
        if matches!(self.event.framework, Some(Framework::Jax)) {
            tips = vec![
                self.free_other(),
                tip("preallocate_off", "JAX takes 75 % of the card at its start, which it need not"),
                tip("preallocate_fraction", "or give each process its share"),
            ];
        } else if self.event.framework == Some(Framework::TensorFlow) {
            tips.insert(1, tip("memory_growth", "TensorFlow takes nearly all of the card at its start, which it need not"));
        } else if self.dialect("vllm") {
            tips.push(tip("lower_gpu_memory_utilization", "a share that is no larger than what is free"));
        } else if self.activity == Activity::Training {
            tips.push(self.reduce());
        }
        tips
    }

    /// A step's working set.
    fn step(&self) -> Vec<Proposed> {
        match self.event.framework {
            Some(Framework::Jax) => {
                let mut tips: Vec<Proposed> = self.checkpointing().into_iter().collect();
                tips.push(self.reduce());
                if self.event.cause == Some(Cause::BatchTooLarge) {
                    tips.push(Self::shorter());
                }
                return tips;
            }
            Some(Framework::Rmm) => {
                return vec![
                    tip("chunk_or_tile", "smaller partitions need less at once"),
                    tip("raise_memory_cap", "where the pool has a maximum size below the card's"),
                    tip("cpu_offload", "spilling to the host's memory"),
                ];
            }
            Some(Framework::OnnxRuntime | Framework::Paddle | Framework::Mxnet) => return vec![self.reduce(), self.free_other()],
            Some(Framework::Xgboost) => {
                return vec![tip("chunk_or_tile", "external memory reads the data in parts"), self.free_other()];
            }
            Some(Framework::Faiss) => {
                return vec![
                    tip("lower_library_reserve", "scratch memory of a smaller size"),
                    tip("chunk_or_tile", "search or add in smaller batches"),
                ];
            }
            Some(Framework::Cupy | Framework::Numba | Framework::CudaJl) => {
                return vec![
                    tip("chunk_or_tile", "work on parts of the arrays"),
                    tip("del_and_gc", "arrays that are no longer needed still fill the pool"),
                ];
            }
            Some(Framework::Nccl) => return self.unknown(),
            _ => {}
        }
        let training = self.activity == Activity::Training;
        if training && self.clues.in_stack(Clue::Logits).is_some() && self.clues.in_stack(Clue::Backward).is_none() {
            let asked = self.event.figures.requested.unwrap_or_default();
            return vec![
                saving(
                    "fused_loss",
                    Bytes::ZERO,
                    asked,
                    "the logits of all tokens and their fp32 copy need never exist as a whole",
                ),
                self.reduce(),
            ];
        }
        match self.activity {
            Activity::LanguageServing | Activity::Serving if self.has(Clue::Prefill) => vec![
                tip("chunked_prefill_smaller", "a prefill of fewer tokens at once has smaller activations"),
                tip("lower_gpu_memory_utilization", "leave more of the card outside the engine's static pool"),
                tip("fewer_concurrent_requests", "fewer sequences at once"),
            ],
            Activity::LanguageServing if self.has(Clue::Profile) => vec![
                tip("chunked_prefill_smaller", "the profiled step is one of as many tokens as are allowed"),
                tip("fewer_concurrent_requests", "fewer sequences at once"),
            ],
            Activity::LanguageServing => vec![
                tip("kv_cache_smaller", "a shorter context, fewer sequences or a quantized cache"),
                tip("lower_gpu_memory_utilization", "leave more of the card outside the engine's static pool"),
            ],
            Activity::Serving => vec![self.reduce(), tip("fewer_concurrent_requests", "fewer requests at once")],
            Activity::Application => Self::application(),
            Activity::Inference | Activity::Evaluation | Activity::Unknown if self.has(Clue::Diffusion) => vec![
                tip("chunk_or_tile", "smaller tiles, or fewer frames at once"),
                tip("cpu_offload", "parts of the pipeline that are not in use wait in RAM"),
            ],
            Activity::Inference | Activity::Evaluation | Activity::Unknown if self.has(Clue::Tiles) => {
                vec![
                    tip("chunk_or_tile", "smaller tiles, or fewer frames at once"),
                    tip("inference_mode", "without it activations of all layers are kept"),
                ]
            }
            Activity::Inference | Activity::Evaluation => {
                vec![self.reduce(), tip("inference_mode", "without it activations of all layers are kept")]
            }
            Activity::Unknown => {
                let mut tips = vec![self.reduce()];
                if self.event.allocator == Allocator::Mps || self.pytorch() {
                    tips.extend(self.checkpointing());
                }
                tips
            }
            Activity::Training => {
                let mut tips = vec![self.reduce()];
                tips.extend(self.checkpointing());
                if self.has(Clue::Length) {
                    tips.push(Self::shorter());
                } else if self.ranks > 1 || self.has(Clue::Distributed) {
                    tips.push(tip("shard_states", "several GPUs hold the same states: FSDP or ZeRO divides them"));
                } else if self.has(Clue::FullPrecision) && !self.has(Clue::HalfPrecision) {
                    tips.push(tip("mixed_precision", "saved activations in 16 bits take half the room"));
                }
                tips
            }
        }
    }

    /// A ready application, whose options are all that its user can change.
    fn application() -> Vec<Proposed> {
        vec![
            tip("chunk_or_tile", "tiled decoding works on parts of the picture"),
            tip("cpu_offload", "models that are not in use wait in RAM"),
            tip("quantize_weights", "fp8 or GGUF weights leave more room"),
        ]
    }

    /// Nothing tells the cause: what is cheap to try.
    fn unknown(&self) -> Vec<Proposed> {
        let other_gpu = tip("pick_other_gpu", "a card on which nobody else is");
        match self.event.dialect {
            "nccl" => vec![
                tip("leave_headroom_for_libraries", "NCCL allocates outside the framework's pool, which has taken the rest"),
                self.reduce(),
                self.free_other(),
            ],
            "pytorch_plain" if self.event.framework == Some(Framework::Cuda) => vec![
                Proposed {
                    why: "the library found no room for its workspace outside the framework's pool; see who else holds memory"
                        .to_owned(),
                    ..self.free_other()
                },
                self.reduce(),
            ],
            "pytorch_plain" if self.event.stage == Some(Stage::Context) && self.runs() => vec![self.reduce(), self.free_other()],
            "pytorch_plain" if self.event.stage == Some(Stage::Context) => {
                vec![self.free_other(), other_gpu, tip("restart_process", "a process that died may still hold the card")]
            }
            "tensorflow" if self.event.stage == Some(Stage::Context) => vec![
                tip("memory_growth", "TensorFlow takes nearly all of the card, and its libraries find nothing left"),
                self.free_other(),
            ],
            _ if self.event.stage == Some(Stage::Context) => vec![self.free_other(), other_gpu],
            _ if self.activity == Activity::Application => Self::application(),
            "candle" => vec![tip("quantize_weights", "weights of a smaller type"), self.free_other()],
            "numba" | "cupy" => vec![tip("chunk_or_tile", "work on parts of the arrays"), self.free_other()],
            "cuda_jl" => vec![tip("del_and_gc", "arrays that are no longer needed still fill the pool"), self.reduce()],
            "xgboost" => vec![tip("chunk_or_tile", "external memory reads the data in parts"), self.free_other()],
            "rmm" => Self::step_of_tables(),
            "mxnet" | "tensorflow" | "paddle" | "onnxruntime" | "tensorrt" => vec![self.reduce(), self.free_other()],
            "pytorch" | "pytorch_plain" | "pytorch_async" => {
                let mut tips = vec![self.reduce()];
                if self.activity == Activity::Training {
                    tips.extend(self.checkpointing());
                    tips.push(tip("memory_profiler", "the message has no figures: a snapshot shows what fills the card"));
                } else {
                    tips.push(self.free_other());
                }
                tips
            }
            _ => vec![self.reduce(), tip("chunk_or_tile", "work on parts of the problem"), self.free_other()],
        }
    }

    fn step_of_tables() -> Vec<Proposed> {
        vec![tip("chunk_or_tile", "smaller partitions need less at once"), tip("cpu_offload", "spilling to the host's memory")]
    }
}

/// Popular tips that do nothing in this case; none of them is among the proposed.
pub fn unhelpful(event: &Event, verdict: &Verdict, clues: &Clues, proposed: &[Proposed]) -> Vec<Unhelpful> {
    let mut out: Vec<Unhelpful> = Vec::new();
    let mut no = |tip: &'static str, why: String| {
        if !proposed.iter().any(|proposed| proposed.tip == tip) && !out.iter().any(|known| known.tip == tip) {
            out.push(Unhelpful { tip, why });
        }
    };
    let f = &event.figures;
    match verdict.cause {
        Cause::None => return out,
        Cause::HostMemory => {
            no(
                "reduce_batch_accumulate",
                "memory of the host ran out, not of the GPU: a smaller batch on the GPU changes nothing there".to_owned(),
            );
            no("empty_cache", "it gives back GPU memory, which did not run out".to_owned());
            return out;
        }
        Cause::KernelLimit => {
            no("reduce_batch_accumulate", "the limit is that of one thread block, whatever the batch".to_owned());
            no("raise_shm", "this is memory on the chip, not /dev/shm".to_owned());
            return out;
        }
        Cause::SessionLimit => {
            no("empty_cache", "the number of sessions is limited, not the memory".to_owned());
            return out;
        }
        _ => {}
    }
    let training = matches!(verdict.activity, Activity::Training | Activity::Evaluation);
    if event.framework == Some(Framework::PyTorch) && event.allocator != Allocator::Other {
        no("empty_cache", "PyTorch has already given back every whole unused block before it raised the error".to_owned());
        if verdict.cause != Cause::Fragmentation {
            match f.unallocated {
                Some(unused) if f.requested.is_some_and(|asked| unused < asked) || unused.0 < 256 * MIB => {
                    no(
                        "expandable_segments",
                        format!(
                            "the message's own hint: it can win back {unused} at most, which is all that is reserved and not used"
                        ),
                    );
                }
                _ if event.allocator == Allocator::Async => {
                    no(
                        "expandable_segments",
                        "the cudaMallocAsync backend ignores the options of the native allocator".to_owned(),
                    );
                }
                _ => {}
            }
        } else if clues.has(Clue::ExpandableOn) {
            no("expandable_segments", "it is on already".to_owned());
        }
    }
    match verdict.cause {
        Cause::OversizedTensor => {
            no("free_other_process", "the request is larger than the whole card: freeing anything else does not help".to_owned());
        }
        Cause::MemoryCap => {
            no("free_other_process", "the limit refused it, and the card has room".to_owned());
        }
        Cause::ModelTooLarge => {
            no("reduce_batch_accumulate", "weights take the same room at any batch size".to_owned());
            no("inference_mode", "no activations exist while weights are loaded".to_owned());
            no("gradient_checkpointing", "no activations exist while weights are loaded".to_owned());
        }
        Cause::OptimizerState => {
            no("gradient_checkpointing", "it shrinks activations, and the optimizer step has none".to_owned());
            no("mixed_precision", "autocast shrinks activations, not weights, gradients and states".to_owned());
        }
        Cause::EvalWithoutNoGrad => {
            no("gradient_checkpointing", "it trades memory of a backward pass, and evaluation has none".to_owned());
        }
        Cause::LeakOverSteps => {
            no("reduce_batch_accumulate", "what grows without end only takes longer to fill the card".to_owned());
        }
        _ => {}
    }
    if !training
        && matches!(verdict.activity, Activity::Inference | Activity::Application | Activity::Serving | Activity::LanguageServing)
    {
        no("gradient_checkpointing", "nothing is trained here: there is no backward pass to save activations for".to_owned());
    }
    if event.others.is_empty() && f.process.is_some() && verdict.cause != Cause::ForeignProcess {
        no("free_other_process", "the message lists no other process on this card".to_owned());
    }
    out
}
