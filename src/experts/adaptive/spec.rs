//! Serializable specification of adaptive experts.

use serde::{Deserialize, Serialize};

use super::{AdaptiveExperts, AdaptiveParams};
use crate::error::{Result, in_range};
use crate::experts::MixtureSpec;
use crate::learner::Loss;
use crate::persist::check_params;
use crate::uncertainty::ColumnSpreads;

/// What accuracy may cost.
///
/// With trees, rows cost 1.5 to 3.4 times as much on eight tables, and errors are up to 11 % smaller (docs/experts-how.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Kernel experts, and trees beside them.
    #[default]
    High,
    /// Kernel experts alone.
    Low,
}

/// Specification of [`AdaptiveExperts`]; all fields have defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveSpec {
    /// Most points in a cell of an expert, from 10 to 4,000: the time of a row grows with its
    /// square.
    pub size: usize,
    /// Aggregation rule.
    pub mixture: MixtureSpec,
    /// Loss of experts and mixture: the squared loss, or the squared hinge if targets are the signs
    /// of [`Labels`](crate::table::Labels).
    pub loss: Loss,
    /// What accuracy may cost.
    pub effort: Effort,
    /// Parameters for experiments; not stored if they are the defaults.
    #[serde(skip_serializing_if = "AdaptiveParams::is_default")]
    pub params: AdaptiveParams,
}

impl Default for AdaptiveSpec {
    fn default() -> Self {
        Self {
            size: 300,
            mixture: MixtureSpec::default(),
            loss: Loss::default(),
            effort: Effort::default(),
            params: AdaptiveParams::default(),
        }
    }
}

impl AdaptiveSpec {
    /// Untrained experts, with all parameters validated.
    pub fn build(self) -> Result<AdaptiveExperts> {
        in_range("size", self.size, (10..=4_000).contains(&self.size), "from 10 to 4000")?;
        let known = matches!(self.loss, Loss::Squared | Loss::SquaredHinge);
        in_range("loss", self.loss, known, "squared or squared_hinge")?;
        check_params(&self.params)?;
        Ok(AdaptiveExperts::new(self))
    }

    /// Initial state of the sizes of errors by columns; empty for labels.
    pub(super) fn column_spreads(&self, columns: usize, outputs: usize) -> ColumnSpreads {
        if self.loss.is_margin() { ColumnSpreads::default() } else { ColumnSpreads::new(columns, outputs) }
    }
}

/// One value for regression and one for labels.
pub(super) fn of_loss<T>(loss: Loss, [numbers, labels]: [T; 2]) -> T {
    if loss.is_margin() { labels } else { numbers }
}
