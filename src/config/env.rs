//! The environment, read once and in this file alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::domain::cuda::Visible;

/// The variables of the process, or those that a test gives.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    vars: BTreeMap<String, String>,
    config_dir: Option<PathBuf>,
}

impl Environment {
    /// That of this process. Names and values that are not UTF-8 are taken with replacement characters.
    pub fn of_process() -> Self {
        use etcetera::BaseStrategy;
        let vars =
            std::env::vars_os().map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into_owned())).collect();
        let config_dir = etcetera::base_strategy::Xdg::new().ok().map(|dirs| dirs.config_dir());
        Self { vars, config_dir }
    }

    /// One of these variables alone.
    pub fn of(vars: &[(&str, &str)]) -> Self {
        Self { vars: vars.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect(), config_dir: None }
    }

    /// A variable that is set and not empty: an empty one counts as not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A variable that is set, also to nothing: for those of others, to whom that means something.
    pub fn set(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    /// What CUDA is shown, where somebody chose.
    pub fn cuda(&self) -> Option<Visible> {
        Some(Visible::new(self.set("CUDA_VISIBLE_DEVICES")?, self.get("CUDA_DEVICE_ORDER")))
    }

    /// Where the configuration file lies if nobody names one: `$XDG_CONFIG_HOME/vramscope/config.toml`.
    pub fn default_file(&self) -> Option<PathBuf> {
        self.config_dir.as_deref().map(|dir: &Path| dir.join("vramscope").join("config.toml"))
    }
}
