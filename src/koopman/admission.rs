//! Which pairs are stored when the operator is learned by gradient.

use serde::{Deserialize, Serialize};

use crate::basis::Projection;
use crate::error::{Result, in_range, not_negative};
use crate::linalg::resolution;

fn default_floor() -> f64 {
    1e-10
}

/// Stores a pair when the step on it would lose more than a budget in Hilbert-Schmidt norm.
///
/// A step of size `eta` on the pair `(x, x+)` adds a rank-one operator, most of which is in the
/// span of the stored points. The norm of the rest is
///
/// ```text
/// err^2 = eta^2 (dx |q|^2 + dn (|z|^2 + dx))
/// ```
///
/// with the squared distances `dx`, `dn` of the two states to their dictionaries, the coordinates
/// `z` of `x` and the error `q` of the prediction of those of `x+`. This is the exact minimum of
/// Hou et al. (4.11); its (F.2) has the second term only. The budget is compared with the norm, as
/// in (4.10), not with its square, as in their printed Algorithm 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HilbertSchmidt {
    /// Largest loss of one step, zero or positive, multiplied by `step^power`.
    pub budget: f64,
    /// Zero or positive: 0 for a constant budget, 2 or more for their Assumption 3.
    #[serde(default)]
    pub power: f64,
    /// Most points in each dictionary; no limit if `None`.
    #[serde(default)]
    pub max_size: Option<usize>,
    /// Smallest residual share of a point that may become a coordinate.
    #[serde(default = "default_floor")]
    pub pivot_floor: f64,
}

/// A pair before its step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Size of the next step.
    pub step: f64,
    /// `|z|^2`
    pub within: f64,
    /// `|q|^2`
    pub error: f64,
    /// Position of `x` relative to the stored states, and their number.
    pub here: Projection,
    pub n_stored: usize,
    /// Position of `x+` relative to the stored next states, and their number.
    pub there: Projection,
    pub n_stored_next: usize,
}

impl HilbertSchmidt {
    /// The test with its parameters checked.
    pub fn checked(self) -> Result<Self> {
        not_negative("budget", self.budget)?;
        not_negative("power", self.power)?;
        if let Some(most) = self.max_size {
            in_range("max_size", most, most > 0, "at least 1")?;
        }
        let floor = self.pivot_floor;
        in_range("pivot_floor", floor, (0.0..1.0).contains(&floor), "from 0 to below 1")?;
        Ok(self)
    }

    /// Largest loss of a step of this size.
    #[must_use]
    pub fn allowance(&self, step: f64) -> f64 {
        self.budget * step.powf(self.power)
    }

    /// Loss of a step if neither point is stored: `within` is `|z|^2`, `error` is `|q|^2`, `dx` and
    /// `dn` are the squared distances of the two states to their dictionaries.
    #[must_use]
    pub fn loss(step: f64, within: f64, error: f64, dx: f64, dn: f64) -> f64 {
        step * (dx * error + dn * (within + dx)).sqrt()
    }

    /// Whether to store `x`, and whether to store `x+`: as few points as the budget allows.
    pub(super) fn decide(&self, pair: &Candidate, paired: bool) -> (bool, bool) {
        let (dx, dn) = (pair.here.residual, pair.there.residual);
        let allowed = self.allowance(pair.step);
        let lost = |error, here, there| Self::loss(pair.step, pair.within + dx - here, error, here, there);
        let wanted = if lost(pair.error, dx, dn) <= allowed {
            (false, false)
        } else if paired {
            (true, true)
        } else if lost(pair.error, 0.0, dn) <= allowed {
            (true, false)
        } else if lost(pair.error + dn, dx, 0.0) <= allowed {
            (false, true)
        } else {
            (true, true)
        };
        (
            wanted.0 && self.has_room(&pair.here, pair.n_stored),
            wanted.1 && self.has_room(&pair.there, pair.n_stored_next),
        )
    }

    fn has_room(&self, point: &Projection, stored: usize) -> bool {
        point.relative_residual() > self.pivot_floor.max(resolution(stored))
            && self.max_size.is_none_or(|most| stored < most)
    }
}
