//! Registries are complete and generated documents current.
