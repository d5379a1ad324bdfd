//! Newton steps on the loss's own second derivative.

use serde::{Deserialize, Serialize};

use super::SecondOrder;
use super::rule::{Observation, RuleFile, SecondOrderRule, Step};
use crate::error::{Error, Result, in_range, positive};
use crate::learner::Loss;
use crate::persist::{Reader, Writer};

/// Parameters of [`GaussNewton`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GaussNewtonSpec {
    /// What is minimized: a loss with a second derivative.
    pub loss: Loss,
    /// Curvature of every coordinate before the first row, positive.
    pub regularization: f64,
    /// `gamma`, from 0.01 to 1: the weight of a row falls by this factor each round.
    pub forgetting: f64,
    /// Learn differences to the best constant prediction so far, which is what is predicted where nothing
    /// is known.
    pub center: bool,
}

impl Default for GaussNewtonSpec {
    fn default() -> Self {
        Self { loss: Loss::SquaredHinge, regularization: 1e-2, forgetting: 1.0, center: false }
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
///
/// With `center` the prediction is `c + z'(w - c u)`, where `u` fits the target 1 by the same rounds, and
/// `c` is the mean of the targets (of the logistic loss, its log-odds): for the squared loss what
/// centring is to ridge regression, exactly, and no more work than one output more.
pub type GaussNewton = SecondOrder<Curvature>;

/// The rule of [`GaussNewton`].
#[derive(Clone, Debug)]
pub struct Curvature {
    spec: GaussNewtonSpec,
    /// Mean target of each output.
    mean: Vec<f64>,
    /// Sum of the weights of the rows.
    seen: f64,
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
        Ok(Self::following(Curvature { spec, mean: Vec::new(), seen: 0.0 }))
    }
}

impl Curvature {
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
        self.spec.regularization
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
        // The odds that it is centred by are those of labels.
        if self.spec.center && self.spec.loss == Loss::Logistic { 1.0 } else { f64::INFINITY }
    }

    fn centre(&self, c: usize) -> f64 {
        match self.spec.loss {
            _ if !self.spec.center => 0.0,
            // As if one more row of either label had come: no certainty from few.
            Loss::Logistic => 2.0 * (self.mean[c] * self.seen / (self.seen + 2.0)).atanh(),
            _ => self.mean[c],
        }
    }

    fn constant_curvature(&self) -> Option<f64> {
        let quadratic = matches!(self.spec.loss, Loss::Squared | Loss::HalfSquared);
        quadratic.then(|| self.spec.loss.curvature(0.0, 0.0))
    }

    fn begin(&mut self, n_outputs: usize) {
        self.mean.resize(n_outputs, 0.0);
    }

    fn truncate(&mut self, n_outputs: usize) {
        self.mean.truncate(n_outputs);
    }

    fn update_step(&self, seen: &Observation<'_>, step: &mut Step) {
        let loss = self.spec.loss;
        step.curvature = 0.0;
        for (prediction, &y) in self.predictions(seen.raw, seen.intercept).zip(seen.y) {
            step.curvature = step.curvature.max(seen.weight * loss.curvature(prediction, y));
        }
        // `w - c u` goes down the slope, and `u` towards 1.
        step.intercept = step.curvature * (1.0 - seen.intercept);
        let predictions = self.predictions(seen.raw, seen.intercept).zip(seen.y);
        for (c, (far, (prediction, &y))) in step.lengths.iter_mut().zip(predictions).enumerate() {
            *far = self.centre(c) * step.intercept - seen.weight * loss.derivative(prediction, y);
        }
    }

    fn has_loss(&self, raw: &[f64], intercept: f64, y: &[f64]) -> bool {
        self.predictions(raw, intercept).zip(y).any(|(raw, y)| self.spec.loss.derivative(raw, *y) != 0.0)
    }

    /// Labels that are well within their class, for the hinge.
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
        self.seen = self.spec.forgetting * self.seen + weight;
        if weight > 0.0 {
            for (mean, target) in self.mean.iter_mut().zip(y) {
                *mean += weight * (target - *mean) / self.seen;
            }
        }
    }
}

impl RuleFile for Curvature {
    fn write(&self, out: &mut Writer) {
        out.vector("learner.mean", &self.mean);
        out.vector("learner.scalars", &[self.seen]);
    }

    fn read(&mut self, from: &Reader<'_>, n_outputs: usize) -> Result<()> {
        self.mean = from.vector("learner.mean", n_outputs)?;
        self.seen = from.vector("learner.scalars", 1)?[0];
        let most = self.largest_target();
        if self.seen < 0.0 || self.mean.iter().any(|mean| mean.abs() > most) {
            return Err(Error::file("learner.mean and learner.scalars are not of any targets"));
        }
        Ok(())
    }
}
