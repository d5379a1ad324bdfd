//! Serializable specification of experts.

use serde::{Deserialize, Serialize};

use super::{Experts, MixtureSpec};
use crate::error::Result;
use crate::experts::AsExpert;
use crate::persist::Persist;

/// A list of models as [`AnyModel`](crate::any::AnyModel) reads them, and the aggregation rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpertsSpec {
    /// The models, at least one.
    pub experts: Vec<serde_json::Value>,
    /// Aggregation rule.
    #[serde(default)]
    pub mixture: MixtureSpec,
}

impl ExpertsSpec {
    /// Untrained experts, with all parameters validated.
    pub fn build<M: AsExpert + Persist>(self) -> Result<Experts<M>> {
        Experts::new(self.experts.into_iter().map(M::from_spec).collect::<Result<_>>()?, self.mixture)
    }
}
