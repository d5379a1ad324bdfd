//! Serializable specification of experts.

use serde::{Deserialize, Serialize};

use super::{Experts, MixtureSpec};
use crate::error::{Result, in_range};
use crate::experts::Expert;
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

/// Models at most, those of experts that are experts themselves included: each takes some kilobytes before the first row.
const MOST: usize = 1000;

/// Models that experts which choose themselves count for.
const ADAPTIVE: usize = 100;

/// Models that are built from a specification.
fn count(spec: &serde_json::Value) -> usize {
    let experts = spec.get("experts").and_then(serde_json::Value::as_array);
    match (experts, spec.get("model")) {
        (Some(experts), _) => experts.iter().map(count).sum(),
        (None, Some(model)) => count(model),
        (None, None) => {
            if spec.get("adaptive").is_some() {
                ADAPTIVE
            } else {
                1
            }
        }
    }
}

impl ExpertsSpec {
    /// Untrained experts, with all parameters validated.
    pub fn build<M: Expert + Persist>(self) -> Result<Experts<M>> {
        let count = self.experts.iter().map(count).sum::<usize>();
        in_range("experts", format!("{count} of them"), count <= MOST, "at most 1,000 models")?;
        Experts::new(self.experts.into_iter().map(M::from_spec).collect::<Result<_>>()?, self.mixture)
    }
}
