//! Newton steps on the loss's own second derivative.

use serde::{Deserialize, Serialize};

use super::{LearnerSpec, Loss, Rule, SecondOrder, Seen, Step};
use crate::error::{Result, in_range, positive};

/// Parameters of [`GaussNewton`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GaussNewtonSpec {
    /// What is minimised: a loss with a second derivative.
    pub loss: Loss,
    /// Curvature of every coordinate before the first row, positive.
    pub regularization: f64,
    /// `gamma`, from 0.01 to 1: the weight of a row falls by this factor each round.
    pub forgetting: f64,
}

impl Default for GaussNewtonSpec {
    fn default() -> Self {
        Self { loss: Loss::SquaredHinge, regularization: 1e-2, forgetting: 1.0 }
    }
}

/// Online Gauss-Newton: with `h = l''(w'z, y)` and `g = l'(w'z, y)`, `A <- A + h z z'` and
/// `w <- w - g A^{-1} z`.
///
/// The curvature is that of the loss where the online Newton step takes the outer product of
/// gradients, which is far too large where the loss is steep: on labels this is what makes few rows
/// enough. With the squared loss it is ridge regression with half the regularization, exactly.
///
/// Several outputs share one `A`, whose round has the largest of their curvatures: each output's step is
/// at most as long as with an `A` of its own.
pub type GaussNewton = SecondOrder<Curvature>;

/// The rule of [`GaussNewton`].
#[derive(Clone, Debug)]
pub struct Curvature {
    spec: GaussNewtonSpec,
}

impl GaussNewton {
    /// A learner with checked parameters.
    pub fn new(spec: GaussNewtonSpec) -> Result<Self> {
        spec.loss.checked()?;
        in_range(
            "loss",
            spec.loss,
            spec.loss.is_smooth(),
            "a loss with curvature (squared, half_squared, squared_hinge, logistic, huber)",
        )?;
        positive("regularization", spec.regularization)?;
        in_range("forgetting", spec.forgetting, (0.01..=1.0).contains(&spec.forgetting), "from 0.01 to 1")?;
        Ok(Self::following(Curvature { spec }))
    }
}

impl Rule for Curvature {
    fn regularization(&self) -> f64 {
        self.spec.regularization
    }

    fn forgetting(&self) -> f64 {
        self.spec.forgetting
    }

    fn can_diverge(&self) -> bool {
        // Far from the minimum of a loss that is not quadratic a step may be far too long.
        true
    }

    fn plan(&self, seen: &Seen<'_>, step: &mut Step) {
        let loss = self.spec.loss;
        let rows = || seen.raw.iter().zip(seen.y);
        step.curvature =
            seen.weight * rows().fold(0.0, |most: f64, (raw, y)| most.max(loss.curvature(*raw, *y)));
        for (far, (raw, y)) in step.moves.iter_mut().zip(rows()) {
            *far = -seen.weight * loss.derivative(*raw, *y);
        }
    }

    fn moves(&self, raw: &[f64], y: &[f64]) -> bool {
        raw.iter().zip(y).any(|(raw, y)| self.spec.loss.derivative(*raw, *y) != 0.0)
    }

    fn present(&self, _out: &mut [f64], _one: f64, _quadratic: f64) {}

    fn spec(&self) -> LearnerSpec {
        LearnerSpec::GaussNewton(self.spec.clone())
    }
}
