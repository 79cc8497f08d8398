//! The messages of each library: one file per dialect.
//!
//! A dialect names the words that its messages hold ([`Dialect::marks`]), and reads a [`Passage`] that begins with such a line. The
//! first dialect in [`DIALECTS`] that reads a passage has it: those that speak of their own come before those whose words others repeat.

mod passage;

pub use passage::{Passage, cut};
pub use vllm::{fitting_length, left_for_cache};

use super::event::Event;

/// How one library says that memory ran out, or something that sounds like it.
#[derive(Debug)]
pub struct Dialect {
    /// Its name, that of its file.
    pub id: &'static str,
    /// Words in capitals and small letters as printed: one of them stands in the first line of each of its messages.
    pub marks: &'static [&'static str],
    /// Reads a message that begins in the first line of a passage.
    pub read: fn(&Passage) -> Option<Event>,
}

macro_rules! dialects {
    ($($id:ident)*) => {
        $(mod $id;)*

        /// Every dialect, the most specific first.
        pub static DIALECTS: &[Dialect] = &[$($id::DIALECT),*];
    };
}

dialects! {
    nvenc
    triton
    shared_memory
    rmm
    cupy
    numba
    xgboost
    faiss
    cuda_jl
    candle
    onnxruntime
    tensorrt
    paddle
    mxnet
    blender
    deepspeed
    vllm
    sglang
    ollama
    llama_cpp
    jax
    tensorflow
    nccl
    pytorch
    pytorch_async
    pytorch_mps
    pytorch_plain
    pytorch_host
    windows
    kubernetes
    slurm
    linux
    host
    cuda
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_and_marks_are_good() {
        let ids: BTreeSet<&str> = DIALECTS.iter().map(|dialect| dialect.id).collect();
        assert_eq!(ids.len(), DIALECTS.len());
        for dialect in DIALECTS {
            assert!(!dialect.marks.is_empty() && dialect.marks.iter().all(|mark| mark.len() >= 4), "{}", dialect.id);
        }
    }
}
