//! What was going on when memory ran out: what the lines around a failure tell of the program.

use std::collections::{BTreeMap, BTreeSet};

use super::growth::{Trends, step};
use super::line::Line;
use super::size::Pattern;
use crate::domain::text::clean;

/// Something that a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Clue {
    /// The backward pass runs.
    Backward,
    /// Optimizer states are made or stepped.
    Optimizer,
    /// Optimizer states are made for the first time.
    OptimizerInit,
    /// Weights are loaded.
    Loading,
    /// It evaluates.
    Evaluation,
    /// Outputs are collected.
    Collecting,
    /// It trains.
    Training,
    /// It runs a model.
    Inference,
    /// It is a ready application for pictures and videos.
    Application,
    /// It answers requests.
    Serving,
    /// It serves a language model.
    LanguageEngine,
    /// A prompt is prefilled.
    Prefill,
    /// Graphs are captured.
    GraphCapture,
    /// A KV cache is made or grown.
    KvCache,
    /// Attention scores are computed.
    Attention,
    /// Logits or their loss are computed.
    Logits,
    /// Pictures, volumes or frames that can be tiled.
    Tiles,
    /// The length of sequences is told.
    Length,
    /// Several GPUs train one model.
    Distributed,
    /// Expandable segments are switched on in the environment.
    ExpandableOn,
    /// Windows Subsystem for Linux.
    Wsl,
    /// Native Windows.
    Windows,
    /// Checkpointing of activations is on.
    CheckpointingOn,
    /// Computation is in 16 bits already.
    HalfPrecision,
    /// Computation is in 32 bits.
    FullPrecision,
    /// Steps of a run: losses, progress bars.
    Progress,
    /// Data loader workers.
    Workers,
    /// A language model of ggml.
    Gguf,
    /// Dask, cuDF, tables.
    Tables,
    /// A test runner.
    Tests,
    /// The first call that needs the GPU.
    FirstCall,
    /// Pictures and videos are made by a pipeline of models.
    Diffusion,
    /// An engine measures the step that is allowed.
    Profile,
}

static CLUES: [(Clue, Pattern); 33] = [
    (
        Clue::Backward,
        Pattern::new(r"(?:\.|\b)backward\(|autograd/__init__\.py|torch\.autograd\.backward|in\x20backward\b|run_backward"),
    ),
    (
        Clue::Optimizer,
        Pattern::new(
            r"(?i)(?:\bopt(?:im|imizer)?\w*\.step\(|optimizer_step|/optim/\w+\.py|optim\\\w+\.py|_init_group|exp_avg|momentum_buffer|optimizer states?)",
        ),
    ),
    (
        Clue::OptimizerInit,
        Pattern::new(
            r"(?i)(?:_init_group|exp_avg|momentum_buffer|initialize_optimizer_states|initializ\w+ optimizer|create_fp32|fp32_partition|fp32_groups|init_state\b|_initialize_state|_lazy_init_state|init_group|master_(?:weights|params)|state\[['\x22](?:step|exp_avg|momentum)|get_optimizer_state|optimizer\.load_state_dict)",
        ),
    ),
    (
        Clue::Loading,
        Pattern::new(
            r"(?i)(?:load_state_dict|from_pretrained|\bloading (?:safetensors |model |pipeline )?(?:checkpoint|weights|model|pipeline|state|params|llm|vae|unet|shards)|load_model\b|load_weights|reload_model|load_checkpoint|param_applied = fn\(param\)|torch\.load\(|model_loader|create_weights|weight_loader|materializ\w+ (?:param|weight|module)|dispatch_model|set_module_tensor_to_device|caching_allocator_warmup|load_file\(|(?:model|net|pipe|pipeline|unet|vae|transformer|llm|encoder)\.(?:to\(|cuda\(|half\(\)\.(?:to|cuda)\()|loading [\w./-]{1,120}\.(?:safetensors|bin|pt|pth|ckpt|gguf|npz)|Module\.to\()",
        ),
    ),
    (
        Clue::Evaluation,
        Pattern::new(
            r"(?i)(?:\bvalidat\w*|\bevaluat\w*|\beval_(?:step|loop|epoch|batch)|prediction_(?:step|loop)|\bval_?(?:loader|epoch|step)|\bvalid_loader|test_loader|in test\b|compute_metrics|\beval\b)",
        ),
    ),
    (
        Clue::Collecting,
        Pattern::new(
            r"(?i)(?:\b(?:all_)?(?:preds?|outputs?|logits|features|embeddings|results|losses|scores)\w*\.append\(|nested_concat|all_preds|torch\.cat\(\s*(?:all_|preds|outputs))",
        ),
    ),
    (
        Clue::Training,
        Pattern::new(
            r"(?i)(?:\btrain\w*|\bepochs?\b|\bloss\b|\blr\b|\.fit\(|\bfinetun\w*|\bfine-tun\w*|\blora\b|\bgradient|\bsft\b|\bdpo\b|\bgrpo\b|accelerator|training_step|\boptimizer)",
        ),
    ),
    (
        Clue::Inference,
        Pattern::new(
            r"(?i)(?:\bsampl(?:e|es|ing)\b|sample\.py|\binfer\w*|\bgenerat\w*\(|\bpipe\(|pipeline|\bpredict\w*|upscal\w*|decode\(|\bvae\b|txt2img|img2img|diffus\w*|demo\.py|transcri\w*|\bembed\w*|rerank\w*|\bprompt\b|inpaint|esrgan|denois\w*|whisper)",
        ),
    ),
    (
        Clue::Application,
        Pattern::new(r"(?i)(?:comfy|webui|invokeai|fooocus|\bforge\b|a1111|swarmui|sd_models|Requested to load|Prompt executed)"),
    ),
    (
        Clue::Serving,
        Pattern::new(
            r"(?i)(?:sglang|vllm|\bengine|serving|POST /|GET /|uvicorn|scheduler\.py|scheduler hit|text-generation|/v1/|\brequest\b|server\.py|gunicorn|endpoint|\bserve\b)",
        ),
    ),
    (
        Clue::LanguageEngine,
        Pattern::new(
            r"(?i)(?:sglang|vllm|text[_-]generation[_-](?:inference|launcher|server)|\bchat\b|/v1/(?:chat|completions)|generate failed|EngineCore|lmdeploy|tokens/s|past_key_values|kv[_\x20-]?cache|\bdecode batch|llm_engine|lm_head|logits = self\.head)",
        ),
    ),
    (Clue::Prefill, Pattern::new(r"(?i)\bprefill")),
    (
        Clue::GraphCapture,
        Pattern::new(
            r"(?i)(?:captur\w+ (?:the )?(?:cuda |hip )?graph|cuda_?graph_runner|graph capturing|capture_model|capture_one_batch|self\.capture\(|CUDA graph shapes)",
        ),
    ),
    (
        Clue::KvCache,
        Pattern::new(
            r"(?i)(?:kv[_\x20-]?cache|past_key_values|cache_engine|_allocate_kv|allocate_kv|kv_pool|token_to_kv|cache_utils\.py|DynamicCache|key_cache|torch\.cat\(\[?self\.key)",
        ),
    ),
    (
        Clue::Attention,
        Pattern::new(
            r"(?i)(?:\battn|attention|\bscores\b|q @ k|matmul\(q|baddbmm|softmax\(\s*(?:scores|attn|qk)|query[^\n]{0,20}key)",
        ),
    ),
    (
        Clue::Logits,
        Pattern::new(
            r"(?i)(?:cross_entropy|log_softmax|logits\.float\(|lm_head\(|CrossEntropyLoss|selective_log_softmax|ForCausalLMLoss|fixed_cross_entropy|loss_function\(|logits = logits|logits\.(?:contiguous|view)|upcast[^\n]{0,10}logits|nll_loss)",
        ),
    ),
    (
        Clue::Tiles,
        Pattern::new(
            r"(?i)(?:\btil(?:e|es|ing|ed)\b|upscal\w*|\bvae\b|frames?\b|esrgan|\bvideo\b|super[_\x20-]?res|\bvolume\b|patch(?:es)?\b|\d{3,4}x\d{3,4}|interpolate|conv3d|\bvid\b)",
        ),
    ),
    (
        Clue::Length,
        Pattern::new(
            r"(?i)(?:\bseq(?:_?len(?:gth)?)?\b[\s=:]{1,3}\d{3,}|\bmax_?(?:seq_)?len(?:gth)?[\s=:]{1,3}\d{3,}|sequence length|\blongest \d+|\bcontext(?:_length)?[\s=:]{1,3}\d{3,})",
        ),
    ),
    (
        Clue::Distributed,
        Pattern::new(
            r"(?i)(?:\bfsdp|\bddp\b|DistributedDataParallel|deepspeed|zero-?[123]|\bworld[_\x20-]?size|torchrun|ProcessGroup|fully_shard|megatron)",
        ),
    ),
    (
        Clue::ExpandableOn,
        Pattern::new(
            r"(?i)(?:\b(?:export|set|env|environ|ENV)\b[^\n]{0,60}?PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF['\x22\]]*\s?[=:]\s?['\x22]?[\w:,.]*expandable_segments:True|^PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF=[\w:,.]*expandable_segments:True|expandable_segments[^\n]{0,12}(?:on|enabled|active)\b)",
        ),
    ),
    (Clue::Wsl, Pattern::new(r"(?i)microsoft-standard|WSL2?\b")),
    (Clue::Windows, Pattern::new(r"(?:^|[\s'\x22(])[A-Z]:\\|CategoryInfo|\.ps1\b|cmd\.exe")),
    (
        Clue::CheckpointingOn,
        Pattern::new(
            r"(?i)(?:gradient_?checkpointing(?:_enable\(|\s?[=:]\s?True| (?:is )?(?:on|enabled))|activation[_\x20-]?checkpointing[^\n]{0,20}(?:on|enabled|full|true)|checkpoint\.py\x22?, line|torch/utils/checkpoint\.py)",
        ),
    ),
    (
        Clue::HalfPrecision,
        Pattern::new(r"(?i)(?:\bbf16\b|\bbfloat16\b|\bfp16\b|\bfloat16\b|autocast|mixed[_\x20-]?precision|\bamp\b|\bfp8\b)"),
    ),
    (Clue::FullPrecision, Pattern::new(r"(?i)(?:\bfp32\b|\bfloat32\b|precision[\s=:]{1,3}32)")),
    (
        Clue::Progress,
        Pattern::new(
            r"(?i)(?:\d+%\s?\||\bit/s\b|\bs/it\b|\bloss[\s=:]{1,3}[\d.]+|\bstep[\s=:\[]{1,3}\d+|\bepoch[\s=:\[]{1,3}\d+|\biter(?:ation)?[\s=:\[]{1,3}\d+|\d+/\d+ \[)",
        ),
    ),
    (Clue::Workers, Pattern::new(r"(?i)(?:num_workers|DataLoader|worker)")),
    (Clue::Gguf, Pattern::new(r"(?i)(?:\.gguf|llama|ggml|ollama)")),
    (Clue::Tables, Pattern::new(r"(?i)(?:cudf|dask|rapids|parquet|merge|groupby|dataframe|spark)")),
    (Clue::Tests, Pattern::new(r"(?:::test_\w+|\bpytest\b|=+ \d+ (?:passed|failed)|PASSED \[)")),
    (
        Clue::FirstCall,
        Pattern::new(
            r"(?i)(?:using device|\.to\(\s*(?:args\.|self\.)?(?:device|dev)|\.cuda\(\)|torch\.zeros\(|set_device\(|_lazy_init|cuda\.init|_cuda_init)",
        ),
    ),
    (
        Clue::Diffusion,
        Pattern::new(r"(?i)(?:diffus\w*|\bpipe\(|\bframes?\b|\bvideo\b|\bvid\b|txt2img|img2img|text2video|image2video|flux)"),
    ),
    (
        Clue::Profile,
        Pattern::new(r"(?:profile_run|determine_available_memory|determine_num_available_blocks|_dummy_run|warmup_run)"),
    ),
];

static CARD: Pattern = Pattern::new(r"\bcuda:(\d{1,3})\b");
static BEGINS: Pattern = Pattern::new(r"Traceback \(most recent call last\)|stack ?trace|Stack trace");
static RECOVERS: Pattern = Pattern::new(
    r"(?i)(?:\bretry(?:ing)?\b[^\n]{0,40}(?:with|batch|tiled|smaller|half)|ran out of memory[^\n]{0,60}(?:retrying|skipping)|skip(?:ping|ped)?[^\n]{0,20}\bbatch|recover(?:ed|ing)? from (?:cuda )?(?:oom|out of memory)|(?:reduc|decreas|lower|halv)(?:ing|ed|e) (?:the )?(?:micro[_\x20-]?)?batch|batch[_\x20-]?size (?:reduced|lowered|halved|is now|->|to) ?|fall(?:ing|s)? ?back (?:to|on)|trying batch size|attempting to recover|caught (?:cuda )?oom|oom caught|continuing (?:with|without|anyway))",
);
static SUCCEEDS: Pattern = Pattern::new(
    r"(?i)(?:\btraining (?:is )?(?:finished|complete[d]?|done)|\bfinished training|\bPASSED\b|\b\d+ passed\b|\bsaved (?:checkpoint|model|to)\b|\bdone\b|completed successfully|finished successfully|Engine (?:generation completed|built)|exit code:? 0\b|\bsuccess(?:fully)?\b|rendering finished|Saved: )",
);
static FAILS: Pattern = Pattern::new(
    r"(?i)(?:\b(?:fatal|aborted|core dumped|killed)\b|FAILED|exit(?:ed)?[^\n]{0,20}code:? [1-9]|failed \(exitcode|failed to load model|ChildFailedError|Traceback)",
);

/// A line that tells something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The line, harmless and cut.
    pub text: String,
    /// How many lines it stands before the failure.
    pub back: usize,
    /// Whether it belongs to the stack of the failure.
    pub in_stack: bool,
}

/// All clues around a failure.
#[derive(Clone, Debug, Default)]
pub struct Clues {
    said: BTreeMap<Clue, Said>,
    /// What printed figures tell.
    pub trends: Trends,
    /// Cards that are named as `cuda:N`.
    pub cards: BTreeSet<u32>,
    /// The last step before the failure.
    step: Option<u64>,
    /// Evaluation was under way for so many batches.
    pub evaluated: Option<u64>,
    /// What came after.
    pub sequel: Sequel,
    /// Whether the failure has a stack.
    pub has_stack: bool,
    /// The lines just before, as they are searched for figures of engines.
    pub near: String,
}

/// What came after a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequel {
    /// The line in which the program says that it tries otherwise.
    pub recovers: Option<String>,
    /// Progress lines that are farther than the last one before.
    pub went_on: usize,
    /// A line of a good end.
    pub succeeds: Option<String>,
    /// A line of a bad end.
    pub fails: bool,
}

/// The lines that are kept as they are.
const NEAR: usize = 60;
/// The stack of a failure is no longer.
const LONGEST_STACK: usize = 160;

impl Clues {
    /// What the lines before a failure tell.
    pub fn before(lines: &[Line], trends: Trends) -> Self {
        let mut clues = Self { trends, ..Self::default() };
        let begins = lines.iter().rposition(|line| BEGINS.is_match(&line.text)).filter(|at| lines.len() - at <= LONGEST_STACK);
        clues.has_stack = begins.is_some();
        for (n, line) in lines.iter().enumerate() {
            let back = lines.len() - n;
            let in_stack = begins.map_or(back <= 8, |at| n > at);
            clues.line(&line.text, back, in_stack);
        }
        let near: Vec<&str> = lines.iter().rev().take(NEAR).map(|line| line.text.as_str()).collect();
        clues.near = near.into_iter().rev().collect::<Vec<&str>>().join("\n");
        clues
    }

    fn line(&mut self, text: &str, back: usize, in_stack: bool) {
        for (clue, pattern) in &CLUES {
            if pattern.is_match(text) {
                // In the stack it is what was going on; before it only what had gone on.
                let kept = self.said.get(clue).is_some_and(|said| said.in_stack && !in_stack);
                if !kept {
                    self.said.insert(*clue, Said { text: clean(text.trim(), 160), back, in_stack });
                }
            }
        }
        self.cards.extend(CARD.number(text).and_then(|card| u32::try_from(card).ok()));
        if let Some(step) = step(text) {
            self.step = Some(step);
            let evaluating = CLUES.iter().any(|(clue, pattern)| *clue == Clue::Evaluation && pattern.is_match(text));
            self.evaluated = evaluating.then_some(step);
        }
    }

    /// What the failing line itself tells, too.
    pub fn own(&mut self, text: &str) {
        self.line(text, 0, false);
    }

    /// What the lines after a failure tell.
    pub fn after(&mut self, lines: &[Line]) {
        for line in lines {
            let text = line.text.as_str();
            if self.sequel.recovers.is_none() && RECOVERS.is_match(text) {
                self.sequel.recovers = Some(clean(text.trim(), 160));
            }
            if SUCCEEDS.is_match(text) {
                self.sequel.succeeds = Some(clean(text.trim(), 160));
            }
            self.sequel.fails |= FAILS.is_match(text);
            if let Some(step) = step(text)
                && self.step.is_none_or(|before| step > before)
                && CLUES.iter().any(|(clue, pattern)| *clue == Clue::Progress && pattern.is_match(text))
            {
                self.sequel.went_on += 1;
            }
            for (clue, pattern) in &CLUES {
                if matches!(clue, Clue::GraphCapture | Clue::ExpandableOn | Clue::LanguageEngine) && pattern.is_match(text) {
                    self.said.entry(*clue).or_insert_with(|| Said { text: clean(text.trim(), 160), back: 0, in_stack: false });
                }
            }
        }
    }

    /// The line that tells something, the latest of the stack or else of all.
    pub fn said(&self, clue: Clue) -> Option<&Said> {
        self.said.get(&clue)
    }

    /// Whether any line tells it.
    pub fn has(&self, clue: Clue) -> bool {
        self.said.contains_key(&clue)
    }

    /// The line that tells it, within the stack of the failure.
    pub fn in_stack(&self, clue: Clue) -> Option<&Said> {
        self.said(clue).filter(|said| said.in_stack)
    }

    /// How many lines before the failure something was told last.
    pub fn back(&self, clue: Clue) -> usize {
        self.said(clue).map_or(usize::MAX, |said| said.back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Line> {
        text.lines().map(|text| Line { text: text.to_owned(), ..Line::default() }).collect()
    }

    fn before(text: &str) -> Clues {
        Clues::before(&lines(text), Trends::default())
    }

    #[test]
    fn the_stack_says_more_than_what_went_before() {
        let clues = before(
            "Loading checkpoint shards... done\nepoch 1 loss 0.3\nTraceback (most recent call last):\n  File \"x.py\", line 3, in step\n    loss.backward()",
        );
        assert!(clues.in_stack(Clue::Backward).is_some());
        assert!(clues.has(Clue::Loading) && clues.in_stack(Clue::Loading).is_none());
    }

    #[test]
    fn going_on_is_told_from_a_bar_that_is_drawn_again() {
        for (after, went_on) in [
            ("Epoch 1: 0%| | 1/1875 [00:02<1:22:03]", 0),
            ("Epoch 1: 0%| | 2/1875 [00:02<1:22:03]\nEpoch 1: 0%| | 3/1875 [00:02<1:22:03]", 2),
        ] {
            let mut clues = before("Epoch 1: 0%| | 1/1875 [00:01<58:12]");
            clues.after(&lines(after));
            assert_eq!(clues.sequel.went_on, went_on, "{after}");
        }
    }

    #[test]
    fn an_environment_is_no_hint() {
        for (text, on) in [
            ("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", true),
            ("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py", true),
            ("env: {'PYTORCH_CUDA_ALLOC_CONF': 'expandable_segments:True'}", true),
            (
                "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
                false,
            ),
        ] {
            assert_eq!(before(text).has(Clue::ExpandableOn), on, "{text}");
        }
    }
}
