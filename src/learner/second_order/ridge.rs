//! Ridge regression, exactly, one row at a time.

use std::fmt::Formatter;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};

use super::SecondOrder;
use super::memory::{History, Memory};
use super::rule::{Observation, RuleFile, SecondOrderRule, Step};
use crate::error::{Error, Result, in_range, not_negative};
use crate::learner::centre::Centre;
use crate::persist::{Reader, Writer};

/// Prediction of a ridge learner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Prediction {
    /// Least squares on the rows before.
    #[default]
    Ridge,
    /// Forecaster of Vovk, Azoury and Warmuth: least squares as if this row had target 0 (or the
    /// mean, if centred), which is the ridge prediction divided by `1 + z'Pz`.
    Awv,
}

/// A number, or why a word stands in its place.
fn number<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<f64, D::Error> {
    struct Number;
    impl Visitor<'_> for Number {
        type Value = f64;

        fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
            write!(
                f,
                "a number: the evidence chooses the regularization only in the warm-up of a regressor or classifier"
            )
        }

        fn visit_f64<E>(self, value: f64) -> std::result::Result<f64, E> {
            Ok(value)
        }

        fn visit_u64<E>(self, value: u64) -> std::result::Result<f64, E> {
            Ok(value as f64)
        }

        fn visit_i64<E>(self, value: i64) -> std::result::Result<f64, E> {
            Ok(value as f64)
        }
    }
    from.deserialize_f64(Number)
}

/// Parameters of [`Ridge`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RidgeSpec {
    /// `lambda`, zero or positive. At 0 least squares without shrinking: Engel's KRLS.
    #[serde(deserialize_with = "number")]
    pub regularization: f64,
    /// `gamma`, from 0.01 to 1: factor on the weight of a row in each round.
    pub forgetting: f64,
    /// Whether to learn differences to a constant: the intercept without a penalty.
    pub center: bool,
    /// Whether to clip predictions to the range of targets seen.
    pub clip: bool,
    /// Kind of prediction.
    pub prediction: Prediction,
    /// Information on past rows when a coordinate is added. The prequential prediction of the row
    /// that adds it already uses them.
    pub history: History,
    /// Most rows of a reservoir, at least 1.
    pub reservoir: usize,
    /// Seed of the reservoir.
    pub random_state: u64,
}

impl Default for RidgeSpec {
    fn default() -> Self {
        Self {
            regularization: 1e-2,
            forgetting: 1.0,
            center: true,
            clip: true,
            prediction: Prediction::Ridge,
            history: History::None,
            reservoir: 500,
            random_state: 0,
        }
    }
}

/// Recursive least squares with ridge regularization: `w = (lambda I + sum z z')^{-1} sum z y`.
///
/// Exact curvature, no step size. Any `regularization` down to 0 is exact: at 0 this is Engel's
/// KRLS. A row of weight `c` counts as `c` rows.
pub type Ridge = SecondOrder<LeastSquares>;

/// The rule of [`Ridge`].
#[derive(Clone, Debug)]
pub struct LeastSquares {
    pub(super) spec: RidgeSpec,
    pub(super) centre: Centre,
    /// Smallest and largest target of each output.
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

impl Ridge {
    /// Its parameters.
    #[must_use]
    pub fn spec(&self) -> &RidgeSpec {
        &self.rule.spec
    }

    /// A learner with checked parameters.
    pub fn new(spec: RidgeSpec) -> Result<Self> {
        not_negative("regularization", spec.regularization)?;
        in_range("forgetting", spec.forgetting, (0.01..=1.0).contains(&spec.forgetting), "from 0.01 to 1")?;
        if spec.regularization == 0.0 {
            in_range("forgetting", spec.forgetting, spec.forgetting >= 1.0, "1 when regularization is 0")?;
            in_range(
                "prediction",
                spec.prediction,
                spec.prediction == Prediction::Ridge,
                "ridge when regularization is 0",
            )?;
        }
        in_range("reservoir", spec.reservoir, spec.reservoir > 0, "at least 1")?;
        if spec.history != History::None {
            let steady = spec.regularization > 0.0 && spec.forgetting >= 1.0;
            in_range("history", spec.history, steady, "none with forgetting, or without regularization")?;
        }
        Ok(Self::following(LeastSquares::new(spec)))
    }
}

impl LeastSquares {
    /// The rule with these validated parameters.
    pub(super) fn new(spec: RidgeSpec) -> Self {
        Self { spec, centre: Centre::default(), low: Vec::new(), high: Vec::new() }
    }
}

impl SecondOrderRule for LeastSquares {
    fn regularization(&self) -> f64 {
        self.spec.regularization
    }

    fn forgetting(&self) -> f64 {
        self.spec.forgetting
    }

    fn can_diverge(&self) -> bool {
        // The relative rounding error of the inverse would be large.
        self.spec.forgetting < 1.0 || self.spec.regularization < 1e-5
    }

    fn centers(&self) -> bool {
        self.spec.center
    }

    fn centre(&self, c: usize) -> f64 {
        if self.spec.center { self.centre.value(c) } else { 0.0 }
    }

    fn memory(&self) -> Option<Memory> {
        match self.spec.history {
            History::None => None,
            History::Reservoir => Some(Memory::new(Some(self.spec.reservoir), self.spec.random_state)),
            History::Exact => Some(Memory::new(None, 0)),
        }
    }

    fn needs_quadratic(&self) -> bool {
        self.spec.prediction == Prediction::Awv
    }

    fn constant_curvature(&self) -> Option<f64> {
        Some(1.0)
    }

    fn begin(&mut self, n_outputs: usize) {
        self.centre.begin(n_outputs);
        self.low.resize(n_outputs, f64::INFINITY);
        self.high.resize(n_outputs, f64::NEG_INFINITY);
    }

    fn truncate(&mut self, n_outputs: usize) {
        self.centre.truncate(n_outputs);
        self.low.truncate(n_outputs);
        self.high.truncate(n_outputs);
    }

    fn update_step(&self, seen: &Observation<'_>, step: &mut Step) {
        step.curvature = seen.weight;
        for ((far, target), raw) in step.lengths.iter_mut().zip(seen.y).zip(seen.raw) {
            *far = seen.weight * (target - raw);
        }
        step.intercept = seen.weight * (1.0 - seen.intercept);
    }

    fn finalize_prediction(&self, out: &mut [f64], intercept: f64, quadratic: f64) {
        let shrink = match self.spec.prediction {
            Prediction::Ridge => 1.0,
            Prediction::Awv => (1.0 + quadratic).recip(),
        };
        for (c, value) in out.iter_mut().enumerate() {
            if self.spec.center {
                let centre = self.centre.value(c);
                *value = centre + (*value - centre * intercept) * shrink;
            } else {
                *value *= shrink;
            }
            if self.spec.clip && self.low[c] <= self.high[c] {
                *value = value.clamp(self.low[c], self.high[c]);
            }
        }
    }

    fn update_statistics(&mut self, y: &[f64], weight: f64) {
        self.centre.count(y, weight, self.spec.forgetting);
        if weight > 0.0 {
            for (c, &target) in y.iter().enumerate() {
                self.low[c] = self.low[c].min(target);
                self.high[c] = self.high[c].max(target);
            }
        }
    }

    fn update_centre(&mut self, keep: f64, step: &Step, quadratic: f64) {
        if self.spec.center {
            self.centre.learn_step(keep, step, quadratic);
        }
    }

    fn explain_centre(&mut self, products: &[f64], square: f64) {
        if self.spec.center {
            self.centre.explain(products, square);
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

impl RuleFile for LeastSquares {
    fn write(&self, out: &mut Writer) {
        self.centre.write(out);
        // None before the first row that counts.
        if self.low.iter().zip(&self.high).all(|(low, high)| low <= high) {
            out.vector("learner.low", &self.low);
            out.vector("learner.high", &self.high);
        }
    }

    fn read(&mut self, from: &Reader<'_>, n_outputs: usize) -> Result<()> {
        self.centre = Centre::read(from, n_outputs)?;
        self.low = vec![f64::INFINITY; n_outputs];
        self.high = vec![f64::NEG_INFINITY; n_outputs];
        if self.centre.seen() > 0.0 || from.has("learner.low") {
            self.low = from.vector("learner.low", n_outputs)?;
            self.high = from.vector("learner.high", n_outputs)?;
        }
        if self.low.iter().zip(&self.high).any(|(low, high)| low.is_finite() && low > high) {
            return Err(Error::file("learner.low and learner.high are not of any targets"));
        }
        Ok(())
    }
}
