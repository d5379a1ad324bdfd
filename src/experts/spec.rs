//! Experts as they are written down.

use serde::{Deserialize, Serialize};

use super::{Experts, MixtureSpec};
use crate::error::Result;
use crate::model;

/// A list of models, each as [`model::from_json`] reads it, and how their predictions are mixed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpertsSpec {
    /// The models, at least one.
    pub experts: Vec<serde_json::Value>,
    /// How they are mixed.
    #[serde(default)]
    pub mixture: MixtureSpec,
}

impl ExpertsSpec {
    /// Experts that have seen nothing yet: all parameters checked.
    pub fn build(&self) -> Result<Experts> {
        let models = self.experts.iter().map(|spec| model::from_value(spec.clone()));
        Experts::new(models.collect::<Result<_>>()?, self.mixture)
    }
}
