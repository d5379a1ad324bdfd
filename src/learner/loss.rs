//! Losses of a prediction.

use serde::{Deserialize, Serialize};

use crate::error::{Result, positive};
use crate::online::mixture::PointLoss;

/// How a prediction is judged, one output at a time.
///
/// The margin losses (`Hinge`, `SquaredHinge`, `Logistic`) look at the margin `m = y * prediction` and are
/// meant for labels `y` of 1 and -1; any other number scales the margin, and 0 teaches nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Loss {
    /// `(prediction - y)^2`
    #[default]
    Squared,
    /// `(prediction - y)^2 / 2`: the same with half the slope, for steps counted as papers on least mean
    /// squares count them.
    HalfSquared,
    /// `|prediction - y|`
    Absolute,
    /// Squared within this distance of the target and linear beyond it, with one slope at the seam.
    Huber(f64),
    /// `max(0, 1 - m)`
    Hinge,
    /// `max(0, 1 - m)^2`
    SquaredHinge,
    /// `ln(1 + exp(-m))`: the prediction is the logarithm of the odds.
    Logistic,
}

impl Loss {
    /// The loss with its parameter checked.
    pub fn checked(self) -> Result<Self> {
        if let Self::Huber(width) = self {
            positive("huber width", width)?;
        }
        Ok(self)
    }

    /// Whether the loss is of the sign of the prediction, and targets are labels.
    #[must_use]
    pub fn is_margin(self) -> bool {
        matches!(self, Self::Hinge | Self::SquaredHinge | Self::Logistic)
    }

    /// Whether the loss has a second derivative that says something: it is zero wherever it exists for
    /// the others, so that Gauss-Newton steps are not defined.
    #[must_use]
    pub fn is_smooth(self) -> bool {
        !matches!(self, Self::Absolute | Self::Hinge)
    }

    /// How far off a prediction is. A label that is right beyond the margin has no error, however far beyond: that
    /// changes with the weights of a mixture, also where the stream does not.
    pub(crate) fn error(self, prediction: f64, y: f64) -> f64 {
        if self.is_margin() { (1.0 - y * prediction).max(0.0) } else { (prediction - y).abs() }
    }

    /// The loss of a prediction.
    #[must_use]
    pub fn value(self, prediction: f64, y: f64) -> f64 {
        let error = prediction - y;
        let short = (1.0 - y * prediction).max(0.0);
        match self {
            Self::Squared => error * error,
            Self::HalfSquared => 0.5 * error * error,
            Self::Absolute => error.abs(),
            Self::Huber(width) if error.abs() <= width => error * error,
            Self::Huber(width) => width * (2.0 * error.abs() - width),
            Self::Hinge => short,
            Self::SquaredHinge => short * short,
            Self::Logistic => {
                let margin = y * prediction;
                (-margin.abs()).exp().ln_1p() - margin.min(0.0)
            }
        }
    }

    /// Its derivative with respect to the prediction (0 at a kink).
    #[must_use]
    pub fn derivative(self, prediction: f64, y: f64) -> f64 {
        let error = prediction - y;
        let short = 1.0 - y * prediction;
        match self {
            Self::Squared => 2.0 * error,
            Self::HalfSquared => error,
            Self::Absolute if error == 0.0 => 0.0,
            Self::Absolute => error.signum(),
            Self::Huber(width) => 2.0 * error.clamp(-width, width),
            Self::Hinge if short > 0.0 => -y,
            Self::Hinge => 0.0,
            Self::SquaredHinge => -2.0 * y * short.max(0.0),
            Self::Logistic => -y * logistic(-y * prediction),
        }
    }

    /// The derivatives for many outputs, into `out`.
    pub(super) fn derivatives(self, prediction: &[f64], y: &[f64], out: &mut [f64]) {
        let each = out.iter_mut().zip(prediction.iter().zip(y));
        match self {
            // One loop each, for vectors of targets.
            Self::Squared => each.for_each(|(to, (prediction, y))| *to = 2.0 * (prediction - y)),
            Self::HalfSquared => each.for_each(|(to, (prediction, y))| *to = prediction - y),
            _ => each.for_each(|(to, (prediction, y))| *to = self.derivative(*prediction, *y)),
        }
    }

    /// Its second derivative with respect to the prediction (0 at a kink, or beyond a seam).
    #[must_use]
    pub fn curvature(self, prediction: f64, y: f64) -> f64 {
        match self {
            Self::Squared => 2.0,
            Self::HalfSquared => 1.0,
            Self::Huber(width) if (prediction - y).abs() < width => 2.0,
            Self::SquaredHinge if y * prediction < 1.0 => 2.0 * y * y,
            Self::Absolute | Self::Huber(_) | Self::Hinge | Self::SquaredHinge => 0.0,
            Self::Logistic => y * y * logistic(prediction * y) * logistic(-prediction * y),
        }
    }
}

/// `1 / (1 + exp(-x))`: the probability of odds whose logarithm is `x`. Both tails keep their digits.
fn logistic(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x < 0.0 { e / (1.0 + e) } else { (1.0 + e).recip() }
}

impl PointLoss for Loss {
    fn value(self, prediction: f64, target: f64) -> f64 {
        Self::value(self, prediction, target)
    }

    fn derivative(self, prediction: f64, target: f64) -> f64 {
        Self::derivative(self, prediction, target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Loss; 7] = [
        Loss::Squared,
        Loss::HalfSquared,
        Loss::Absolute,
        Loss::Huber(0.7),
        Loss::Hinge,
        Loss::SquaredHinge,
        Loss::Logistic,
    ];

    #[test]
    fn derivatives_are_slopes() {
        let h = 1e-6;
        for loss in ALL {
            for y in [0.2, 1.0, -1.0] {
                for prediction in [-2.0, -0.25, 0.31, 0.96, 3.0] {
                    let slope = (loss.value(prediction + h, y) - loss.value(prediction - h, y)) / (2.0 * h);
                    assert!((slope - loss.derivative(prediction, y)).abs() < 1e-8, "{loss:?}");
                    let bend =
                        (loss.derivative(prediction + h, y) - loss.derivative(prediction - h, y)) / (2.0 * h);
                    assert!((bend - loss.curvature(prediction, y)).abs() < 1e-8, "{loss:?}");
                }
            }
        }
        assert!(Loss::Huber(0.0).checked().is_err());
    }

    #[test]
    fn losses_rest_at_their_minimum() {
        for loss in ALL {
            let prediction = match loss {
                Loss::Logistic => 40.0,
                _ => 1.0,
            };
            assert!(loss.derivative(prediction, 1.0).abs() < 1e-15, "{loss:?}");
            assert!(loss.value(prediction, 1.0) < 1e-15, "{loss:?}");
            assert!(loss.is_smooth() == (loss.curvature(0.9, 1.0) > 0.0), "{loss:?}");
        }
    }

    #[test]
    fn logistic_loss_holds_at_both_ends() {
        let loss = Loss::Logistic;
        for prediction in [-1e300, -800.0, 800.0, 1e300] {
            for y in [1.0, -1.0] {
                let margin = y * prediction;
                assert!(
                    (loss.value(prediction, y) - (-margin).max(0.0)).abs() <= f64::EPSILON * margin.abs()
                );
                assert!(
                    (loss.derivative(prediction, y) - if margin > 0.0 { 0.0 } else { -y }).abs() < 1e-300
                );
                assert!(loss.curvature(prediction, y).abs() < 1e-300);
            }
        }
        // The small tail keeps its digits: ln(1 + e^-50) and its slope.
        assert!((loss.value(50.0, 1.0) / (-50.0_f64).exp() - 1.0).abs() < 1e-14);
        assert!((loss.derivative(-50.0, -1.0) / (-50.0_f64).exp() - 1.0).abs() < 1e-14);
    }
}
