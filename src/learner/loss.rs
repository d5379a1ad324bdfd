//! Losses of a prediction.

use serde::{Deserialize, Serialize};

use crate::error::{Result, positive};
use crate::online::mixture::PointLoss;

/// Loss of a prediction, one output at a time.
///
/// The margin losses (`Hinge`, `SquaredHinge`, `Logistic`) are functions of the margin `m = y *
/// prediction` for labels `y` of 1 and -1; any other number scales the margin, and 0 has no loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Loss {
    /// `(prediction - y)^2`
    #[default]
    Squared,
    /// `(prediction - y)^2 / 2`: half the slope, as in papers on least mean squares.
    HalfSquared,
    /// `|prediction - y|`
    Absolute,
    /// Squared within this distance of the target and linear beyond it, continuously
    /// differentiable.
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

    /// Whether the loss has a useful second derivative: for the others it is zero wherever it
    /// exists, and Gauss-Newton steps are not defined.
    #[must_use]
    pub fn is_smooth(self) -> bool {
        !matches!(self, Self::Absolute | Self::Hinge)
    }

    /// Error of a prediction. Labels beyond the margin have no error, since by how much they exceed
    /// it changes with the weights of a mixture.
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
        let short = if short > KINK { short } else { 0.0 };
        match self {
            Self::Squared => 2.0 * error,
            Self::HalfSquared => error,
            Self::Absolute if error == 0.0 => 0.0,
            Self::Absolute => error.signum(),
            Self::Huber(width) => 2.0 * error.clamp(-width, width),
            Self::Hinge if short > 0.0 => -y,
            Self::Hinge => 0.0,
            Self::SquaredHinge => -2.0 * y * short,
            Self::Logistic => -y * logistic(-y * prediction),
        }
    }

    /// Derivative at the proximal point, the `p` that minimizes `(p - prediction)^2 / (2 scale)`
    /// plus the loss: the end of an implicit step, which never passes the minimum. It ends at
    /// `prediction - scale * slope`.
    #[must_use]
    pub fn proximal_slope(self, prediction: f64, y: f64, scale: f64) -> f64 {
        let slope = self.derivative(prediction, y);
        let error = prediction - y;
        match self {
            Self::Squared => slope / (1.0 + 2.0 * scale),
            Self::HalfSquared => slope / (1.0 + scale),
            Self::SquaredHinge => slope / (1.0 + 2.0 * y * y * scale),
            Self::Huber(width) => (2.0 * error / (1.0 + 2.0 * scale)).clamp(-2.0 * width, 2.0 * width),
            Self::Absolute => (error / scale.max(f64::MIN_POSITIVE)).clamp(-1.0, 1.0),
            Self::Hinge => {
                let share = (1.0 - y * prediction) / (y * y * scale).max(f64::MIN_POSITIVE);
                -y * share.clamp(0.0, 1.0)
            }
            Self::Logistic => -y * proximal_shares(y * prediction, y * y * scale)[1],
        }
    }

    /// Mean curvature between the prediction and the point at most `reach` nearer to the largest
    /// curvature. With a `reach` of 0 it is the second derivative; with a large one the parabola of
    /// this curvature that touches the loss at the prediction is above it everywhere (the bound of
    /// Jaakkola and Jordan, 2000, for the logistic loss; Huber's weights for his).
    #[must_use]
    pub fn secant_curvature(self, prediction: f64, y: f64, reach: f64) -> f64 {
        let (from, reach) = match self {
            Self::Logistic => ((y * prediction).abs(), reach * y.abs()),
            Self::Huber(_) => ((prediction - y).abs(), reach),
            _ => return self.curvature(prediction, y),
        };
        let reach = reach.min(from);
        let to = from - reach;
        // For shorter distances, a difference of slopes has fewer digits than the curvature.
        let near = reach <= NEARBY;
        match self {
            Self::Logistic if near => {
                let middle = 0.5 * (from + to);
                y * y * logistic(middle) * logistic(-middle)
            }
            Self::Logistic => y * y * (logistic(-to) - logistic(-from)) / reach,
            Self::Huber(width) if near => Self::Huber(width).curvature(0.5 * (from + to), 0.0),
            Self::Huber(width) => 2.0 * (from.min(width) - to.min(width)) / reach,
            _ => 0.0,
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
            Self::SquaredHinge if 1.0 - y * prediction > KINK => 2.0 * y * y,
            Self::Absolute | Self::Huber(_) | Self::Hinge | Self::SquaredHinge => 0.0,
            Self::Logistic => y * y * logistic(prediction * y) * logistic(-prediction * y),
        }
    }
}

/// A margin this close to that from which a hinge is 0 counts as beyond it: a constant that predicts the only label so
/// far has exactly this margin, and rounding would decide whether its rows have a curvature.
const KINK: f64 = 1e-10;

/// Below this distance a secant is a tangent to 10 digits.
const NEARBY: f64 = 1e-5;

/// Length of a step to the proximal point of the logistic loss below which its cubic terms are rounding.
const LAST: f64 = 1e-5;

/// Largest number of steps to the proximal point: the bracket of the largest scale is halved to rounding in fewer.
const STEPS: usize = 200;

/// `1 / (1 + exp(-x))` and `1 / (1 + exp(x))`, where `x` is the margin after a proximal step on the logistic loss: the
/// root of `x - margin = scale / (1 + exp(x))`.
///
/// Chebyshev's third-order steps (J. F. Traub, "Iterative methods for the solution of equations", 1964), with one
/// exponential each. A scale below 0.01, after about a hundred rows, needs two.
pub(super) fn proximal_shares(margin: f64, scale: f64) -> [f64; 2] {
    // At `max(margin, ln scale) + 1` the right side is less than `exp(-1)`, and the left at least 1; below a scale of 1 the
    // root is nearer, without a logarithm.
    let [mut low, mut high] = if scale <= 1.0 {
        [margin, margin + scale]
    } else {
        [margin, (margin + scale).min(margin.max(scale.ln()) + 1.0)]
    };
    let (mut x, mut former) = (margin, f64::INFINITY);
    for _ in 0..STEPS {
        let [right, wrong] = logistic_both(x);
        let slope = scale * wrong;
        let excess = x - margin - slope;
        let gain = (1.0 + slope * right).recip();
        let newton = -excess * gain;
        let step = newton - newton * newton * (0.5 * slope * right * (wrong - right) * gain);
        if newton.abs() <= LAST {
            // Both at `x + step`, to second order: no other exponential.
            let bend = 1.0 - 0.5 * (right - wrong) * step;
            return [right * (1.0 + wrong * step * bend), wrong * (1.0 - right * step * bend)];
        }
        *(if excess > 0.0 { &mut high } else { &mut low }) = x;
        // The second-order term is a correction of short steps only.
        let next = x + if newton.abs() < 0.5 { step } else { newton };
        // Bisection where a step leaves the bracket or follows the exponential a unit at a time.
        let is_near = next > low && next < high && newton.abs() <= 0.5 * former;
        let next = if is_near { next } else { low + 0.5 * (high - low) };
        if next.to_bits() == x.to_bits() {
            // The step is below the rounding of a large margin.
            break;
        }
        (x, former) = (next, (next - x).abs());
    }
    logistic_both(x)
}

/// [`logistic`] of `x` and of `-x`, with one exponential.
fn logistic_both(x: f64) -> [f64; 2] {
    let e = (-x.abs()).exp();
    let near = (1.0 + e).recip();
    if x < 0.0 { [e * near, near] } else { [near, e * near] }
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
    fn proximal_steps_end_where_their_slope_is() {
        for loss in ALL {
            for y in [1.0, -1.0, 0.2] {
                for prediction in [-700.0, -3.0, -0.25, 0.31, 3.0, 700.0] {
                    let explicit = loss.derivative(prediction, y);
                    assert!((loss.proximal_slope(prediction, y, 0.0) - explicit).abs() < 1e-12, "{loss:?}");
                    for scale in [1e-3, 0.3, 10.0, 1e6] {
                        let slope = loss.proximal_slope(prediction, y, scale);
                        let end = prediction - scale * slope;
                        // The step is no longer than the explicit one, and no nearby point is better.
                        let objective = |p: f64| (p - prediction).powi(2) / (2.0 * scale) + loss.value(p, y);
                        let best = objective(end);
                        assert!(
                            best <= loss.value(prediction, y) + 1e-9,
                            "{loss:?} {y} {prediction} {scale}"
                        );
                        for h in [1e-2, -1e-2] {
                            let other = objective(end + h * (1.0 + end.abs()));
                            assert!(best <= other + 1e-9, "{loss:?} {y} {prediction} {scale}");
                        }
                        assert!(slope.abs() <= loss.derivative(prediction, y).abs() * (1.0 + 1e-12));
                    }
                }
            }
        }
    }

    #[test]
    fn the_logistic_slope_keeps_its_digits_at_any_scale() {
        for scale in [0.0, 1e-300, 1e-8, 3e-3, 0.1, 0.9, 1.0, 1.1, 7.0, 300.0, 1e8, 1e150, 1e290] {
            for margin in [-600.0, -30.0, -2.0, -1.0, -0.1, 0.0, 0.3, 2.5, 20.0, 600.0] {
                let [right, wrong] = proximal_shares(margin, scale);
                let step = scale * wrong;
                let x = margin + step;
                // By how much the equation multiplies a relative error of the slope.
                let times = (1.0 + x.abs()) * (1.0 + step * right);
                for (share, expected) in [(right, logistic(x)), (wrong, logistic(-x))] {
                    let off = (share / expected - 1.0).abs();
                    assert!(off <= 4e-15 * times, "{margin} {scale}: {share} {expected}");
                }
            }
        }
    }

    #[test]
    fn large_margins_are_right_or_wrong() {
        for margin in [1e9, 1e12, 1e17, 1e100] {
            for scale in [0.0, 1e-3, 1.0, 2.0, 1e3] {
                let of = |margin: f64| proximal_shares(margin, scale).map(f64::to_bits);
                let [right, wrong] = [1.0_f64, 0.0].map(f64::to_bits);
                assert_eq!(of(margin), [right, wrong], "{margin} {scale}");
                assert_eq!(of(-margin), [wrong, right], "-{margin} {scale}");
            }
        }
    }

    #[test]
    fn secants_lie_between_tangent_and_majorant() {
        for loss in [Loss::Logistic, Loss::Huber(0.7)] {
            for y in [1.0, -1.0] {
                for prediction in [-5.0, -0.8, 0.1, 2.0, 30.0] {
                    let tangent = loss.secant_curvature(prediction, y, 0.0);
                    let majorant = loss.secant_curvature(prediction, y, f64::INFINITY);
                    let mut least = tangent;
                    for reach in [1e-9, 1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3] {
                        let secant = loss.secant_curvature(prediction, y, reach);
                        assert!(
                            secant >= least * (1.0 - 1e-9) && secant <= majorant * (1.0 + 1e-9),
                            "{loss:?}"
                        );
                        least = secant;
                    }
                    // The majorant touches the loss at the prediction and is above it elsewhere.
                    let (value, slope) = (loss.value(prediction, y), loss.derivative(prediction, y));
                    for other in [-40.0, -2.0, 0.0, 0.5, 3.0, 50.0] {
                        let far: f64 = other - prediction;
                        let above = value + slope * far + 0.5 * majorant * far * far;
                        assert!(above >= loss.value(other, y) - 1e-12 * above.abs(), "{loss:?} {y} {other}");
                    }
                }
            }
        }
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
