//! Step rules of budgeted learners.

use crate::error::{Error, Result};
use crate::learner::{Loss, Schedule};

/// A margin this close to 1 counts as 1: the rounding error after a passive-aggressive step must
/// not store the same point again.
const MARGIN_ROUNDING: f64 = 1e-12;

/// The coefficient of a new point as a function of its prediction and its target.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepRule {
    Perceptron { margin: bool },
    PassiveAggressive { most: f64 },
    Gradient { loss: Loss, step: f64, schedule: Schedule, regularization: f64, limit: Option<f64> },
}

impl StepRule {
    /// Writes the coefficients of the point of round `t` (from 1), whose loss is weighted by
    /// `weight`, for each output, into `steps`; zeros without a loss. Returns the factor on all
    /// existing coefficients. `similarity` is `k(x, x)`.
    pub fn steps(
        &self,
        t: u64,
        weight: f64,
        similarity: f64,
        y: &[f64],
        prediction: &[f64],
        steps: &mut [f64],
    ) -> Result<f64> {
        let rounds = steps.iter_mut().zip(y).zip(prediction);
        match *self {
            Self::Perceptron { .. } => {
                for ((step, &y), &f) in rounds {
                    *step = if y * f > 0.0 { 0.0 } else { weight * y };
                }
                Ok(1.0)
            }
            Self::PassiveAggressive { most } => {
                for ((step, &y), &f) in rounds {
                    let loss = 1.0 - y * f;
                    let loss = if loss > MARGIN_ROUNDING { loss } else { 0.0 };
                    *step = y * (loss / (y * y * similarity)).min(weight * most);
                }
                Ok(1.0)
            }
            Self::Gradient { loss, step: first, schedule, regularization, .. } => {
                let size = schedule.at(t, first, 0.0, 0.0);
                for ((step, &y), &f) in rounds {
                    *step = -size * weight * loss.derivative(f, y);
                    // Far beyond any useful coefficient, far from overflow.
                    if step.is_nan() || step.abs() > 1e90 {
                        return Err(Error::Diverged { row: 0 });
                    }
                }
                Ok((1.0 - size * regularization).max(0.0))
            }
        }
    }

    /// Largest absolute coefficient.
    pub fn limit(&self) -> Option<f64> {
        match self {
            Self::Gradient { limit, .. } => *limit,
            _ => None,
        }
    }

    /// Whether right predictions with a small margin are learned too.
    pub fn learns_margins(&self) -> bool {
        matches!(self, Self::Perceptron { margin: true })
    }
}
