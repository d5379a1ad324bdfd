//! Adaptive experts as they are written down.

use serde::{Deserialize, Serialize};

use super::{AdaptiveExperts, AdaptiveParams};
use crate::error::{Result, in_range};
use crate::experts::MixtureSpec;
use crate::learner::Loss;

/// Parameters of [`AdaptiveExperts`], none of which needs to be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveSpec {
    /// Points that a cell of an expert stores at most, from 10 to 4,000: the time of a row grows with its square.
    pub size: usize,
    /// How experts are mixed.
    pub mixture: MixtureSpec,
    /// What experts and their mixture minimize: the squared loss, or the squared hinge where targets are the signs of
    /// [`Labels`](crate::table::Labels).
    pub loss: Loss,
    /// Numbers for experiments; not stored if they are the defaults.
    #[serde(skip_serializing_if = "AdaptiveParams::is_default")]
    pub params: AdaptiveParams,
}

impl Default for AdaptiveSpec {
    fn default() -> Self {
        Self {
            size: 300,
            mixture: MixtureSpec::default(),
            loss: Loss::default(),
            params: AdaptiveParams::default(),
        }
    }
}

impl AdaptiveSpec {
    /// Experts that have seen nothing yet: all parameters checked.
    pub fn build(self) -> Result<AdaptiveExperts> {
        in_range("size", self.size, (10..=4_000).contains(&self.size), "from 10 to 4000")?;
        let known = matches!(self.loss, Loss::Squared | Loss::SquaredHinge);
        in_range("loss", self.loss, known, "squared or squared_hinge")?;
        self.params.check()?;
        Ok(AdaptiveExperts::new(self))
    }
}

/// One of two, that of numbers and that of labels.
pub(super) fn of_loss<T>(loss: Loss, [numbers, labels]: [T; 2]) -> T {
    if loss.is_margin() { labels } else { numbers }
}
