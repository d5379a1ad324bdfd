//! Ridge regression, exactly, one row at a time.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatRef, Par};
use serde::{Deserialize, Serialize};

use super::{Learner, LearnerSpec, apply, beyond_bounds, read_panel, write_panel};
use crate::error::{Error, Result, in_range, not_negative};
use crate::linalg::{Coordinates, Panel, SymmetricInverse, loops, padded};
use crate::persist::{Reader, Writer};

/// Which forecast a ridge learner makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Forecast {
    /// Least squares on the rows before.
    #[default]
    Ridge,
    /// That of Vovk, Azoury and Warmuth: least squares as if this row had target 0 (or the mean,
    /// when centred), which is the ridge forecast divided by `1 + z'Pz`.
    Awv,
}

/// Parameters of [`Ridge`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RidgeSpec {
    /// `lambda`, zero or positive. At 0 least squares without shrinking: Engel's KRLS.
    pub regularization: f64,
    /// `gamma`, from 0.01 to 1: the weight of a row falls by this factor each round.
    pub forgetting: f64,
    /// Learn differences to the running mean of the targets.
    pub center: bool,
    /// Keep forecasts within the range of targets seen.
    pub clip: bool,
    /// Which forecast is made.
    pub forecast: Forecast,
}

impl Default for RidgeSpec {
    fn default() -> Self {
        Self { regularization: 1e-2, forgetting: 1.0, center: true, clip: true, forecast: Forecast::Ridge }
    }
}

/// Recursive least squares with ridge regularization: `w = (lambda I + sum z z')^{-1} sum z y`.
///
/// The flagship: exact curvature, no step size, hardly anything to tune. With `forgetting` below 1
/// the sums are weighted by `gamma^age`. The textbook recursion then forgets the regularization
/// too, and `P` explodes in directions that the data stop visiting; here each round gives back what
/// `m` coordinates lost, `(1 - gamma) lambda m`, to the next of them in turn, which keeps `lambda I`
/// on average and costs one more rank-one update (more where `gamma` is below `1 - 1 / m`). Any
/// `regularization` down to 0 is exact: at 0 this is Engel's KRLS. O(m^2) a row, O(m) more for each
/// output.
#[derive(Clone, Debug)]
pub struct Ridge {
    spec: RidgeSpec,
    weights: Panel,
    inverse: SymmetricInverse,
    /// Weights of the target that is always 1 (one column): with them, any centre is exact.
    ones: Panel,
    /// Mean, smallest and largest target of each output (three rows).
    mean: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// Sum of the weights of the rows.
    seen: f64,
    rounds: u64,
    /// `P z` of the row at hand.
    pz: Vec<f64>,
}

impl Ridge {
    /// A learner with checked parameters.
    pub fn new(spec: RidgeSpec) -> Result<Self> {
        not_negative("regularization", spec.regularization)?;
        in_range("forgetting", spec.forgetting, (0.01..=1.0).contains(&spec.forgetting), "from 0.01 to 1")?;
        if spec.regularization == 0.0 {
            in_range("forgetting", spec.forgetting, spec.forgetting >= 1.0, "1 when regularization is 0")?;
            in_range(
                "forecast",
                spec.forecast,
                spec.forecast == Forecast::Ridge,
                "the ridge forecast when regularization is 0",
            )?;
        }
        let mut ones = Panel::default();
        ones.grow_cols(usize::from(spec.center));
        Ok(Self {
            spec,
            weights: Panel::default(),
            inverse: SymmetricInverse::default(),
            ones,
            mean: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
            seen: 0.0,
            rounds: 0,
            pz: Vec::new(),
        })
    }

    /// `P = (lambda I + sum z z')^{-1}`
    #[must_use]
    pub fn inverse(&self) -> &SymmetricInverse {
        &self.inverse
    }

    /// Appends outputs whose targets were all zero so far, until there are `n_outputs`. Only
    /// meaningful without centring and clipping.
    pub fn grow_outputs(&mut self, n_outputs: usize) {
        self.begin(n_outputs);
    }

    /// Takes back coordinates beyond the first `dim`, of which no row was learned yet, and outputs
    /// beyond the first `n_outputs`.
    pub fn truncate(&mut self, dim: usize, n_outputs: usize) {
        self.weights.truncate(dim, n_outputs);
        self.ones.truncate(dim, self.ones.cols());
        self.pz.resize(padded(dim), 0.0);
        for of_outputs in [&mut self.mean, &mut self.low, &mut self.high] {
            of_outputs.truncate(n_outputs);
        }
    }

    /// Whether [`learn_block`](Self::learn_block) can do the work of [`learn`](Learner::learn).
    #[must_use]
    pub fn learns_blocks(&self) -> bool {
        !self.spec.center && self.spec.forgetting >= 1.0 && self.spec.regularization > 0.0
    }

    /// Rounds for a block of rows at once, by matrix products: the columns of `z` (dim, b) with
    /// targets the columns of `y` (outputs, b). Equals as many calls of [`learn`](Learner::learn) to
    /// rounding. False, with nothing changed, where [`learns_blocks`](Self::learns_blocks) is or the
    /// rows are too large for it.
    pub fn learn_block(&mut self, z: MatRef<'_, f64>, y: MatRef<'_, f64>) -> bool {
        if !self.learns_blocks() {
            return false;
        }
        self.inverse.grow(self.dim(), self.spec.regularization);
        // Errors of the weights before the block (b, outputs).
        let mut errors = y.transpose().to_owned();
        matmul(errors.as_mut(), Accum::Add, z.transpose(), self.weights.as_faer(), -1.0, Par::Seq);
        let Some(gain) = self.inverse.add_block_and_correct(z, errors.as_mut()) else { return false };
        matmul(self.weights.as_faer_mut(), Accum::Add, gain.as_ref(), errors.as_ref(), 1.0, Par::Seq);
        let mut row = vec![0.0; y.nrows()];
        for column in y.col_iter() {
            row.iter_mut().zip(column.iter()).for_each(|(to, from)| *to = *from);
            self.note_targets(&row);
        }
        self.rounds += z.ncols() as u64;
        true
    }

    /// From `w'z` to the forecast: centre, shrink, clip. `one` is the forecast of the target 1.
    fn finish(&self, out: &mut [f64], one: f64, shrink: f64) {
        for (c, value) in out.iter_mut().enumerate() {
            if self.spec.center {
                let mean = self.mean[c];
                *value = mean + (*value - mean * one) * shrink;
            } else {
                *value *= shrink;
            }
            if self.spec.clip && self.low[c] <= self.high[c] {
                *value = value.clamp(self.low[c], self.high[c]);
            }
        }
    }

    fn forecast_of_one(&self, z: &Coordinates) -> f64 {
        if self.spec.center { loops::dot(self.ones.col(0), z.in_lanes()) } else { 0.0 }
    }

    fn shrinkage(&self, quadratic: f64) -> f64 {
        match self.spec.forecast {
            Forecast::Ridge => 1.0,
            Forecast::Awv => (1.0 + quadratic).recip(),
        }
    }

    /// Moves the weights by the gain, in `self.pz`, times each output's error.
    fn correct(&mut self, y: &[f64], raw: &[f64], one: f64) {
        for (c, (target, raw)) in y.iter().zip(raw).enumerate() {
            loops::add_scaled(target - raw, &self.pz, self.weights.col_mut(c));
        }
        if self.spec.center {
            loops::add_scaled(1.0 - one, &self.pz, self.ones.col_mut(0));
        }
    }

    /// Gives back the regularization that forgetting took from all coordinates, `(1 - gamma) lambda`
    /// each, to some of them in turn: so many that every one gets its share while little is forgotten.
    fn restore_regularization(&mut self) {
        let m = self.dim() as u64;
        let lost = (1.0 - self.spec.forgetting) * m as f64;
        let turns = (1..=m).find(|turns| *turns as f64 >= lost).unwrap_or(m);
        let share = self.spec.regularization * lost / turns as f64;
        for turn in 0..turns {
            let Ok(i) = usize::try_from((self.rounds * turns + turn) % m) else { continue };
            // The row to learn is sqrt(share) e_i with target 0.
            self.pz.copy_from_slice(self.inverse.matrix().col(i));
            let gain = share * self.inverse.add(1.0, share, &self.pz, self.pz[i]);
            for panel in [&mut self.weights, &mut self.ones] {
                for c in 0..panel.cols() {
                    let back = panel.get(i, c);
                    loops::add_scaled(-gain * back, &self.pz, panel.col_mut(c));
                }
            }
        }
    }

    fn note_targets(&mut self, y: &[f64]) {
        self.seen = self.spec.forgetting * self.seen + 1.0;
        for (c, &target) in y.iter().enumerate() {
            self.mean[c] += (target - self.mean[c]) / self.seen;
            self.low[c] = self.low[c].min(target);
            self.high[c] = self.high[c].max(target);
        }
    }
}

impl Learner for Ridge {
    fn weights(&self) -> &Panel {
        &self.weights
    }

    fn begin(&mut self, n_outputs: usize) {
        self.weights.grow_cols(n_outputs);
        self.mean.resize(n_outputs, 0.0);
        self.low.resize(n_outputs, f64::INFINITY);
        self.high.resize(n_outputs, f64::NEG_INFINITY);
    }

    fn grow(&mut self, dim: usize) {
        if dim <= self.dim() {
            return;
        }
        self.weights.grow_rows(dim);
        self.ones.grow_rows(dim);
        self.pz.resize(padded(dim), 0.0);
    }

    fn forecast(&self, z: &Coordinates, novelty: f64, out: &mut [f64]) {
        apply(&self.weights, z, out);
        let quadratic = match self.spec.forecast {
            Forecast::Ridge => 0.0,
            Forecast::Awv => {
                let mut pz = vec![0.0; z.in_lanes().len()];
                let within = self.inverse.multiply(z.in_lanes(), &mut pz);
                within + novelty * novelty / self.spec.regularization
            }
        };
        self.finish(out, self.forecast_of_one(z), self.shrinkage(quadratic));
    }

    fn learn(&mut self, z: &Coordinates, y: &[f64], forecast: &mut [f64]) -> Result<()> {
        apply(&self.weights, z, forecast);
        let one = self.forecast_of_one(z);
        let RidgeSpec { regularization, forgetting, .. } = self.spec;
        let quadratic = self.inverse.look(regularization, z.in_lanes(), &mut self.pz);
        if beyond_bounds(forecast)
            || !self.inverse.learn(forgetting, 1.0, regularization, z.in_lanes(), z.len(), &mut self.pz)
        {
            return Err(Error::Unstable { row: 0 });
        }
        self.correct(y, forecast, one);
        self.finish(forecast, one, self.shrinkage(quadratic));
        if self.spec.forgetting < 1.0 {
            self.restore_regularization();
        }
        self.note_targets(y);
        self.rounds += 1;
        Ok(())
    }

    fn can_diverge(&self) -> bool {
        // Rounding is forgotten with the rest, but in directions that no row visits it is magnified.
        self.spec.forgetting < 1.0
    }

    fn shrink(&mut self, dim: usize) {
        self.truncate(dim, self.weights.cols());
    }

    fn boxed(&self) -> Box<dyn Learner> {
        Box::new(self.clone())
    }

    fn spec(&self) -> LearnerSpec {
        LearnerSpec::Ridge(self.spec.clone())
    }

    fn write(&self, out: &mut Writer) {
        write_panel(out, "learner.weights", &self.weights);
        write_panel(out, "learner.inverse", self.inverse.matrix());
        write_panel(out, "learner.ones", &self.ones);
        out.vector("learner.mean", &self.mean);
        out.vector("learner.scalars", &[self.seen]);
        out.counts("learner.counts", &[self.rounds]);
        if self.rounds > 0 {
            out.vector("learner.low", &self.low);
            out.vector("learner.high", &self.high);
        }
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        self.weights = read_panel(from, "learner.weights")?;
        let (dim, outputs) = (self.weights.rows(), self.weights.cols());
        let entries = from.matrix_of("learner.inverse", dim, dim)?;
        self.inverse = SymmetricInverse::from_row_major(&entries, dim)
            .ok_or_else(|| Error::file("learner.inverse is not a symmetric inverse"))?;
        let centred = usize::from(self.spec.center);
        let ones = from.matrix_of("learner.ones", dim, centred)?;
        self.ones = Panel::from_row_major(&ones, dim, centred);
        self.mean = from.vector("learner.mean", outputs)?;
        self.seen = from.vector("learner.scalars", 1)?[0];
        [self.rounds] = from.counts("learner.counts")?;
        self.low = vec![f64::INFINITY; outputs];
        self.high = vec![f64::NEG_INFINITY; outputs];
        if self.rounds > 0 {
            self.low = from.vector("learner.low", outputs)?;
            self.high = from.vector("learner.high", outputs)?;
        }
        self.pz = vec![0.0; padded(dim)];
        Ok(())
    }
}
