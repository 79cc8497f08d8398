//! The catalogue of advice: one file per tip, named by its id. What applies to a finding, and what it saves, is said by
//! [`super::advice`].

mod avoid_clones;
mod balance_devices;
mod bucket_lengths;
mod check_inputs;
mod chunk_or_tile;
mod chunked_prefill_smaller;
mod clean_orphan;
mod cpu_offload;
mod cudnn_benchmark_off;
mod dataset_on_host;
mod del_and_gc;
mod detach_logged_tensors;
mod disable_cuda_graphs;
mod donate_buffers;
mod efficient_architecture;
mod efficient_attention;
mod empty_cache;
mod entry;
mod expandable_segments;
mod fewer_concurrent_requests;
mod fewer_dataloader_workers;
mod fewer_gpu_layers;
mod find;
mod free_other_process;
mod fused_loss;
mod gradient_checkpointing;
mod host_more_ram;
mod inference_mode;
mod inplace_ops;
mod keep_freed_memory;
mod kv_cache_smaller;
mod leave_headroom_for_libraries;
mod limit_encode_sessions;
mod load_on_cpu;
mod load_weights_lazily;
mod longest_batch_first;
mod lora;
mod lower_gpu_memory_utilization;
mod lower_library_reserve;
mod max_split_size;
mod memory_growth;
mod memory_profiler;
mod mixed_precision;
mod optimizer_8bit;
mod pick_other_gpu;
mod preallocate_fraction;
mod preallocate_off;
mod quantize_weights;
mod raise_gpu_memory_utilization;
mod raise_memory_cap;
mod raise_shm;
mod reduce_batch_accumulate;
mod restart_process;
mod set_device_per_rank;
mod shard_states;
mod shorter_sequence;
mod smaller_kernel_tiles;
mod split_across_gpus;
mod sysmem_fallback_off;
mod unload_idle_models;
mod update_software;
mod workers_without_cuda;
mod zero_grad_set_to_none;

pub use entry::{Code, Effort, Side, Tip, Topic};
pub use find::{Search, search};

/// Every tip, by topic.
pub static TIPS: &[Tip] = &[
    reduce_batch_accumulate::TIP,
    mixed_precision::TIP,
    gradient_checkpointing::TIP,
    shorter_sequence::TIP,
    efficient_attention::TIP,
    fused_loss::TIP,
    inplace_ops::TIP,
    avoid_clones::TIP,
    chunk_or_tile::TIP,
    efficient_architecture::TIP,
    inference_mode::TIP,
    detach_logged_tensors::TIP,
    del_and_gc::TIP,
    bucket_lengths::TIP,
    longest_batch_first::TIP,
    zero_grad_set_to_none::TIP,
    optimizer_8bit::TIP,
    shard_states::TIP,
    cpu_offload::TIP,
    lora::TIP,
    quantize_weights::TIP,
    split_across_gpus::TIP,
    load_on_cpu::TIP,
    dataset_on_host::TIP,
    donate_buffers::TIP,
    expandable_segments::TIP,
    max_split_size::TIP,
    empty_cache::TIP,
    cudnn_benchmark_off::TIP,
    keep_freed_memory::TIP,
    leave_headroom_for_libraries::TIP,
    lower_library_reserve::TIP,
    memory_growth::TIP,
    preallocate_fraction::TIP,
    preallocate_off::TIP,
    raise_memory_cap::TIP,
    kv_cache_smaller::TIP,
    raise_gpu_memory_utilization::TIP,
    lower_gpu_memory_utilization::TIP,
    disable_cuda_graphs::TIP,
    fewer_concurrent_requests::TIP,
    chunked_prefill_smaller::TIP,
    fewer_gpu_layers::TIP,
    unload_idle_models::TIP,
    free_other_process::TIP,
    pick_other_gpu::TIP,
    set_device_per_rank::TIP,
    workers_without_cuda::TIP,
    balance_devices::TIP,
    clean_orphan::TIP,
    restart_process::TIP,
    sysmem_fallback_off::TIP,
    memory_profiler::TIP,
    check_inputs::TIP,
    update_software::TIP,
    host_more_ram::TIP,
    fewer_dataloader_workers::TIP,
    load_weights_lazily::TIP,
    raise_shm::TIP,
    smaller_kernel_tiles::TIP,
    limit_encode_sessions::TIP,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every text of a tip, code apart.
    fn prose(tip: &Tip) -> Vec<&'static str> {
        let mut texts = vec![tip.title, tip.does, tip.cost];
        texts.extend(tip.not_when);
        texts
    }

    fn code(tip: &Tip) -> impl Iterator<Item = &'static str> {
        tip.code.iter().flat_map(|code| code.lines.iter().copied())
    }

    #[test]
    fn ids_are_unique_and_topics_stand_together() {
        let ids: BTreeSet<&str> = TIPS.iter().map(|tip| tip.id).collect();
        assert_eq!(ids.len(), TIPS.len());
        assert!(TIPS.is_sorted_by_key(|tip| tip.topic), "the list prints a heading at each change of topic");
    }

    #[test]
    fn every_tip_says_all_of_itself() {
        for tip in TIPS {
            for text in prose(tip) {
                assert!(!text.trim().is_empty(), "{}", tip.id);
                assert!(!text.contains("  ") && text.trim() == text, "{}: {text:?}", tip.id);
            }
            assert!(tip.title.len() <= 60 && !tip.title.ends_with('.'), "{}", tip.title);
            assert!(tip.does.ends_with('.') && tip.cost.ends_with('.'), "{}", tip.id);
            assert!(!tip.not_when.is_empty() && !tip.sides.is_empty() && !tip.code.is_empty(), "{}", tip.id);
            assert!(!tip.sources.is_empty() && tip.sources.iter().all(|url| url.starts_with("https://")), "{}", tip.id);
        }
    }

    /// A terminal without UTF-8 and a pipe get the same: nothing has to be replaced.
    #[test]
    fn texts_are_ascii_and_code_fits_a_terminal() {
        for tip in TIPS {
            assert!(prose(tip).into_iter().chain(code(tip)).chain(tip.sources.iter().copied()).all(str::is_ascii), "{}", tip.id);
            for line in code(tip) {
                assert!(line.len() <= 96, "{}: {line}", tip.id);
            }
        }
    }

    /// Names that have been replaced, each with what replaced it; those that begin a longer current name are written whole.
    const OLD: &[(&str, &str)] = &[
        ("cuda.amp", "torch.amp.autocast(\"cuda\"), torch.amp.GradScaler(\"cuda\") (2.3, 2.4)"),
        ("set_to_none=False", "True is the default (2.0)"),
        ("torch.cuda.OutOfMemoryError", "torch.OutOfMemoryError (2.4)"),
        ("memory_cached", "memory_reserved (1.4)"),
        ("apex", "torch.amp"),
        ("volatile", "torch.inference_mode (1.9)"),
        ("gpu_options", "tf.config.experimental.set_memory_growth (2.0)"),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"),
        ("torch_dtype", "dtype"),
        ("name, load_in_", "quantization_config=BitsAndBytesConfig(...)"),
        ("FullyShardedDataParallel", "torch.distributed.fsdp.fully_shard"),
        ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF, which every release reads"),
        ("group_by_length=True", "train_sampling_strategy=\"group_by_length\" (transformers 5)"),
        ("self_cuda_", "self_device_memory_usage, self_device_time_total (2.3)"),
        ("evaluation_strategy", "eval_strategy"),
    ];

    #[test]
    fn code_uses_current_names() {
        for tip in TIPS {
            for line in code(tip) {
                for (old, current) in OLD {
                    assert!(!line.contains(old), "{}: `{line}` is old, now {current}", tip.id);
                }
                // Has to be explicit, since the default is to change.
                if line.contains(" checkpoint(") && !line.contains("import") {
                    assert!(line.contains("use_reentrant=False"), "{}: {line}", tip.id);
                }
            }
        }
    }

    #[test]
    fn it_holds_what_advice_is_known_for() {
        for id in [
            "set_device_per_rank",
            "workers_without_cuda",
            "sysmem_fallback_off",
            "clean_orphan",
            "lora",
            "load_on_cpu",
            "keep_freed_memory",
            "cudnn_benchmark_off",
            "longest_batch_first",
            "balance_devices",
            "donate_buffers",
            "unload_idle_models",
        ] {
            assert!(Tip::named(id).is_some(), "{id}");
        }
    }
}
