//! Newton steps with the second derivative of the loss.

use serde::{Deserialize, Serialize};

use super::SecondOrder;
use super::rule::{Observation, RuleFile, SecondOrderRule, Step};
use crate::error::{Error, Result, in_range, positive};
use crate::learner::Loss;
use crate::learner::centre::Centre;
use crate::persist::{Reader, Writer};

/// Parameters of [`GaussNewton`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GaussNewtonSpec {
    /// Loss with a second derivative.
    pub loss: Loss,
    /// Curvature of every coordinate before the first row, positive. With a loss of labels less than 1e-4 means 1e-4.
    pub regularization: f64,
    /// `gamma`, from 0.01 to 1: factor on the weight of a row in each round.
    pub forgetting: f64,
    /// Whether to learn differences to the best constant prediction so far, which is predicted far
    /// from all rows.
    pub center: bool,
}

impl Default for GaussNewtonSpec {
    fn default() -> Self {
        Self { loss: Loss::SquaredHinge, regularization: 1e-2, forgetting: 1.0, center: false }
    }
}

/// Implicit online Gauss-Newton: a row moves the weights to the minimum of `(w - w0)' A (w - w0) / 2 + c l(w'z, y)`, which is a
/// step along `A^{-1} z` to the proximal point of its loss, then `A <- A + c h z z'`.
///
/// The step is that of the loss itself, not of its tangent parabola, so it never passes the
/// minimum, however large the weight `c` of a row or `z' A^{-1} z` is: with almost no
/// regularization explicit steps on the logistic loss are unbounded. For a quadratic loss `h` is
/// its curvature. For others it is that of the secant parabola between the margin and six standard
/// deviations back: the loss's own curvature if earlier rows have determined the margin, and that
/// of a parabola above the loss if they have not ([`Loss::secant_curvature`]). So rows far on the
/// right side of the boundary still count when later rows move it, as when labels come one after
/// another. The online Newton step uses the outer product of gradients, which is far too large
/// where the loss is steep. With the squared loss this is exactly ridge regression with half the
/// regularization.
///
/// Several outputs share one `A`, updated with the largest of their curvatures.
///
/// With `center` the prediction is `c + z'(w - c u)`, where `u` fits the target 1 by the same
/// rounds, at the cost of one more output. With the squared loss `c` is exactly the intercept of
/// ridge regression; with others it is the mean of the targets (for the logistic loss, its
/// log-odds), which does not minimize the loss.
pub type GaussNewton = SecondOrder<Curvature>;

/// How far back from a margin, in its standard deviations before the row, the loss is to be approximated. On 800 and 4,000 labels, 10
/// and 30 % of them flipped, with regularizations of 1e-2 and 1e-4, the log loss of other rows is at most 1.2 times that of
/// the batch optimum with 6 (1.1 with 2), and where one label comes after another 1.4 times (2.5 with 2, 10 with
/// 0). With more, probabilities of labels without noise are less certain than they might be.
const REACH: f64 = 6.0;

/// The least curvature of a loss of labels before the first row: a deviation of 100 of the log-odds of a kernel whose similarity
/// is 1. With less, one row of a coordinate takes its weight to any number: on 800 labels, 10 % of them flipped, the log
/// loss of other rows was .16 with 1e-4, .23 with 1e-6 and .39 with 1e-10 (.19, .40 and .78 with rows in order); the squared hinge
/// made 5 % mistakes with 1e-4 and 8 with 1e-10 (9 and 34 with rows in order).
pub(super) const FAINTEST_OF_LABELS: f64 = 1e-4;

/// The rule of [`GaussNewton`].
#[derive(Clone, Debug)]
pub struct Curvature {
    spec: GaussNewtonSpec,
    centre: Centre,
}

impl GaussNewton {
    /// Its parameters.
    #[must_use]
    pub fn spec(&self) -> &GaussNewtonSpec {
        &self.rule.spec
    }

    /// A learner with checked parameters.
    pub fn new(spec: GaussNewtonSpec) -> Result<Self> {
        spec.loss.checked()?;
        in_range(
            "loss",
            spec.loss,
            spec.loss.is_smooth(),
            "one with curvature (squared, half_squared, squared_hinge, logistic, huber; Gradient and \
             OnlineNewton learn any)",
        )?;
        positive("regularization", spec.regularization)?;
        in_range("forgetting", spec.forgetting, (0.01..=1.0).contains(&spec.forgetting), "from 0.01 to 1")?;
        Ok(Self::following(Curvature { spec, centre: Centre::default() }))
    }
}

impl Curvature {
    /// Whether the loss is quadratic, so that the steps together give its minimum.
    fn is_quadratic(&self) -> bool {
        matches!(self.spec.loss, Loss::Squared | Loss::HalfSquared)
    }

    /// The predictions, from those of the weights and that of the target 1.
    fn predictions(&self, raw: &[f64], intercept: f64) -> impl Iterator<Item = f64> {
        raw.iter().enumerate().map(move |(c, raw)| {
            let centre = self.centre(c);
            centre + (raw - centre * intercept)
        })
    }
}

impl SecondOrderRule for Curvature {
    fn regularization(&self) -> f64 {
        if self.spec.loss.is_margin() {
            self.spec.regularization.max(FAINTEST_OF_LABELS)
        } else {
            self.spec.regularization
        }
    }

    fn forgetting(&self) -> f64 {
        self.spec.forgetting
    }

    fn can_diverge(&self) -> bool {
        // Far from the minimum of a loss that is not quadratic a step may be far too long.
        true
    }

    fn centers(&self) -> bool {
        self.spec.center
    }

    fn largest_target(&self) -> f64 {
        // The constant is in log-odds of labels.
        if self.spec.center && self.spec.loss == Loss::Logistic { 1.0 } else { f64::INFINITY }
    }

    fn centre(&self, c: usize) -> f64 {
        match self.spec.loss {
            _ if !self.spec.center => 0.0,
            // As if one more row of either label had been learned: few rows are not certain, and
            // log-odds stay finite.
            Loss::Logistic => {
                let mean = self.centre.mean(c);
                let rows = |share: f64| (share * self.centre.seen()).max(0.0) + 2.0;
                (rows(1.0 + mean) / rows(1.0 - mean)).ln()
            }
            _ if self.is_quadratic() => self.centre.value(c),
            _ => self.centre.mean(c),
        }
    }

    fn constant_curvature(&self) -> Option<f64> {
        self.is_quadratic().then(|| self.spec.loss.curvature(0.0, 0.0))
    }

    fn begin(&mut self, n_outputs: usize) {
        self.centre.begin(n_outputs);
    }

    fn truncate(&mut self, n_outputs: usize) {
        self.centre.truncate(n_outputs);
    }

    fn update_step(&self, seen: &Observation<'_>, step: &mut Step) {
        let loss = self.spec.loss;
        // `c z' A^{-1} z` with the decayed `A` before this row.
        let scale = seen.weight * seen.quadratic / self.spec.forgetting;
        let reach = REACH * scale.sqrt();
        step.curvature = 0.0;
        let predictions = self.predictions(seen.raw, seen.intercept).zip(seen.y);
        for (far, (prediction, &y)) in step.lengths.iter_mut().zip(predictions) {
            let slope = loss.proximal_slope(prediction, y, scale);
            // The squared hinge has one curvature from the prediction to the end of its step, which may be within
            // rounding of the kink.
            let end = if loss == Loss::SquaredHinge { prediction } else { prediction - scale * slope };
            let curvature = loss.secant_curvature(end, y, reach);
            step.curvature = step.curvature.max(seen.weight * curvature);
            *far = -seen.weight * slope;
        }
        // `w - c u` moves to the proximal point, and `u` towards 1. Lengths are in units of the
        // curvature with this row.
        let gain = 1.0 + step.curvature * seen.quadratic / self.spec.forgetting;
        step.intercept = step.curvature * (1.0 - seen.intercept);
        for (c, far) in step.lengths.iter_mut().enumerate() {
            *far = *far * gain + self.centre(c) * step.intercept;
        }
    }

    fn has_loss(&self, raw: &[f64], intercept: f64, y: &[f64]) -> bool {
        self.predictions(raw, intercept).zip(y).any(|(raw, y)| self.spec.loss.derivative(raw, *y) != 0.0)
    }

    /// Labels well within their class, for the hinge.
    fn is_idle(&self, raw: &[f64], intercept: f64, y: &[f64]) -> bool {
        let curvature = |(made, y): (f64, &f64)| self.spec.loss.curvature(made, *y);
        !self.has_loss(raw, intercept, y)
            && self.predictions(raw, intercept).zip(y).all(|row| curvature(row) == 0.0)
    }

    fn finalize_prediction(&self, out: &mut [f64], intercept: f64, _quadratic: f64) {
        for (c, value) in out.iter_mut().enumerate() {
            let centre = self.centre(c);
            *value = centre + (*value - centre * intercept);
        }
    }

    fn update_statistics(&mut self, y: &[f64], weight: f64) {
        self.centre.count(y, weight, self.spec.forgetting);
        // Rounding could move a mean beyond all targets.
        self.centre.limit_means(self.largest_target());
    }

    fn update_centre(&mut self, keep: f64, step: &Step, quadratic: f64) {
        if self.spec.center && self.is_quadratic() {
            self.centre.learn_step(keep, step, quadratic);
        }
    }

    fn restart_centre(&mut self) {
        self.centre.restart();
    }

    fn centre_variance(&self, intercept: f64) -> f64 {
        self.centre.variance(intercept)
    }

    fn centre_information(&self) -> Option<f64> {
        self.centre.known()
    }
}

impl RuleFile for Curvature {
    fn write(&self, out: &mut Writer) {
        self.centre.write(out);
    }

    fn read(&mut self, from: &Reader<'_>, n_outputs: usize) -> Result<()> {
        self.centre = Centre::read(from, n_outputs)?;
        let most = self.largest_target();
        if (0..n_outputs).any(|c| self.centre.mean(c).abs() > most) {
            return Err(Error::file("learner.mean is not of any targets"));
        }
        Ok(())
    }
}
