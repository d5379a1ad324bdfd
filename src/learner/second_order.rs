//! What second-order learners share: weights, and the inverse of the curvature that rows have shown.

use super::block::{Rows, Walk};
use super::history::Added;
use super::{Learner, LearnerSpec, Past, apply, beyond_bounds, read_panel, write_panel};
use crate::basis::Rebase;
use crate::error::{Error, Result};
use crate::linalg::{Coordinates, Panel, SymmetricInverse, loops, padded};
use crate::persist::{Reader, Writer};

/// What makes one second-order learner different from another: how much curvature a row has, and how
/// far the weights go along `A^{-1} z`.
pub trait Rule: Clone + Send + Sync + 'static {
    /// Curvature of a coordinate before its first row.
    fn regularization(&self) -> f64;

    /// What is left of all curvature after a round, from above 0 to 1.
    fn forgetting(&self) -> f64 {
        1.0
    }

    /// Whether everything starts from zero when the basis grows.
    fn restarts(&self) -> bool {
        false
    }

    /// Whether the weights of a target that is always 1 are kept too.
    fn centers(&self) -> bool {
        false
    }

    /// What is to be remembered of past rows.
    fn past(&self) -> Option<Past> {
        None
    }

    /// Whether forecasts depend on `z'Pz`.
    fn needs_quadratic(&self) -> bool {
        false
    }

    /// Whether a round may fail on finite data although its numbers look sound.
    fn can_diverge(&self) -> bool {
        self.forgetting() < 1.0
    }

    /// Fixes the number of outputs, or appends some.
    fn begin(&mut self, _n_outputs: usize) {}

    /// Forgets all outputs beyond the first `n_outputs`.
    fn truncate(&mut self, _n_outputs: usize) {}

    /// What to do with a row: see [`Step`].
    fn plan(&self, seen: &Seen<'_>, step: &mut Step);

    /// Whether the row would change the weights at all.
    fn moves(&self, _raw: &[f64], _one: f64, _y: &[f64]) -> bool {
        true
    }

    /// From `w'z` in `out` to forecasts. `one` is the forecast of the target 1, 0 if there is none.
    fn present(&self, out: &mut [f64], one: f64, quadratic: f64);

    /// Takes down what is to be known of a target after its row was learned.
    fn note(&mut self, _y: &[f64], _weight: f64) {}

    /// How the learner is written down.
    fn spec(&self) -> LearnerSpec;

    /// Writes what the rule has taken down.
    fn write(&self, _out: &mut Writer) {}

    /// Reads what [`write`](Self::write) wrote.
    fn read(&mut self, _from: &Reader<'_>, _n_outputs: usize) -> Result<()> {
        Ok(())
    }
}

/// A row as a [`Rule`] sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Forecasts of the weights before this row, one an output.
    pub raw: &'a [f64],
    /// That of the target 1, 0 if its weights are not kept.
    pub one: f64,
    /// `z'Pz` before this row.
    pub quadratic: f64,
    /// Targets.
    pub y: &'a [f64],
    /// How much the row counts.
    pub weight: f64,
    /// Whether it has coordinates that no row before it had.
    pub grows: bool,
}

/// What a row does: `A <- A + curvature z z'`, then `w <- w + moves A^{-1} z` for each output.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Zero or positive.
    pub curvature: f64,
    /// One an output.
    pub moves: Vec<f64>,
    /// The same for the weights of the target 1.
    pub one: f64,
}

/// A second-order learner: the curvature `A` of all rows, its inverse `P` and weights that follow a
/// [`Rule`].
///
/// With `forgetting` below 1 the sums are weighted by `gamma^age`. The textbook recursion then forgets
/// the regularization too, and `P` explodes in directions that the data stop visiting; here each round
/// gives back what `m` coordinates lost, `(1 - gamma) lambda m`, to the next of them in turn, which
/// keeps `lambda I` on average and costs one more rank-one update (more where `gamma` is below
/// `1 - 1 / m`). O(m^2) a row, O(m) more for each output.
#[derive(Clone, Debug)]
pub struct SecondOrder<R> {
    pub(super) rule: R,
    pub(super) weights: Panel,
    pub(super) inverse: SymmetricInverse,
    /// Weights of the target that is always 1 (no column or one).
    pub(super) ones: Panel,
    pub(super) rounds: u64,
    /// `P z` of the row at hand.
    pub(super) pz: Vec<f64>,
    pub(super) step: Step,
    walk: Walk,
    /// The rule in a block that may fail.
    trial: R,
    past: Option<Past>,
    /// What past rows say about the coordinate just grown, until its row is learned.
    added: Option<Added>,
}

impl<R: Rule> SecondOrder<R> {
    /// A learner that follows a rule whose parameters are checked.
    pub(super) fn following(rule: R) -> Self {
        let mut ones = Panel::default();
        ones.grow_cols(usize::from(rule.centers()));
        Self {
            trial: rule.clone(),
            past: rule.past(),
            added: None,
            rule,
            weights: Panel::default(),
            inverse: SymmetricInverse::default(),
            ones,
            rounds: 0,
            pz: Vec::new(),
            step: Step::default(),
            walk: Walk::default(),
        }
    }

    /// `P = A^{-1}`, of the coordinates that some row had.
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
        self.inverse.truncate(dim);
        self.ones.truncate(dim, self.ones.cols());
        self.pz.resize(padded(dim), 0.0);
        self.rule.truncate(n_outputs);
        self.step.moves.truncate(n_outputs);
    }

    pub(super) fn forecast_of_one(&self, z: &Coordinates) -> f64 {
        if self.ones.cols() > 0 { loops::dot(self.ones.col(0), z.in_lanes()) } else { 0.0 }
    }

    /// Gives back the regularization that forgetting took from all coordinates, `(1 - gamma) lambda`
    /// each, to some of them in turn: so many that every one gets its share while little is forgotten.
    fn restore_regularization(&mut self) {
        let m = self.dim() as u64;
        let lost = (1.0 - self.rule.forgetting()) * m as f64;
        let turns = (1..=m).find(|turns| *turns as f64 >= lost).unwrap_or(m);
        let share = self.rule.regularization() * lost / turns as f64;
        for turn in 0..turns {
            let Ok(i) = usize::try_from((self.rounds * turns + turn) % m) else { continue };
            // The row to learn is sqrt(share) e_i with target 0.
            self.inverse.column(i, &mut self.pz);
            let gain = share * self.inverse.add(1.0, share, &self.pz, self.pz[i]);
            for panel in [&mut self.weights, &mut self.ones] {
                for c in 0..panel.cols() {
                    let back = panel.get(i, c);
                    loops::add_scaled(-gain * back, &self.pz, panel.col_mut(c));
                }
            }
        }
    }
}

impl<R: Rule> Learner for SecondOrder<R> {
    fn weights(&self) -> &Panel {
        &self.weights
    }

    fn begin(&mut self, n_outputs: usize) {
        self.weights.grow_cols(n_outputs);
        self.step.moves.resize(n_outputs, 0.0);
        self.rule.begin(n_outputs);
    }

    fn grow(&mut self, dim: usize) {
        if dim <= self.dim() {
            return;
        }
        self.weights.grow_rows(dim);
        self.ones.grow_rows(dim);
        self.pz.resize(padded(dim), 0.0);
    }

    fn shrink(&mut self, dim: usize) {
        self.added = None;
        if let Some(past) = &mut self.past {
            past.truncate(dim);
        }
        self.truncate(dim, self.weights.cols());
    }

    fn past(&self) -> Option<&Past> {
        self.past.as_ref()
    }

    fn recall(&mut self, newest: &[f64]) {
        if let (Some(past), Some(m)) = (&mut self.past, self.weights.rows().checked_sub(1)) {
            self.added = past.extend(newest, m, self.rule.regularization());
        }
    }

    fn remember(&mut self, x: &[f64], z: &Coordinates, y: &[f64], weight: f64) {
        if let Some(past) = &mut self.past {
            past.push(x, z, y, weight);
        }
    }

    fn rebase(&mut self, rebase: &Rebase) {
        // Coordinates of other bases cannot be had for past rows.
        if let Some(past) = &mut self.past {
            past.clear();
        }
        let dim = match rebase {
            Rebase::Restart { dim } => *dim,
            Rebase::Map(map) => {
                // Coordinates that no row had are known by their regularization alone.
                self.inverse.grow(self.dim(), self.rule.regularization());
                if let Some(back) = self.inverse.map(map.as_ref(), self.rule.regularization()) {
                    self.weights = self.weights.mapped(back.as_ref());
                    self.ones = self.ones.mapped(back.as_ref());
                    self.pz = vec![0.0; padded(self.dim())];
                    return;
                }
                // What rounding has made of the curvature is not worth carrying over.
                map.nrows()
            }
        };
        self.truncate(0, self.weights.cols());
        self.inverse = SymmetricInverse::default();
        self.grow(dim);
    }

    fn forecast(&self, z: &Coordinates, novelty: f64, out: &mut [f64]) {
        if novelty > 0.0 && self.rule.restarts() {
            // This point would grow the basis and with that start the learner again.
            out.fill(0.0);
            self.rule.present(out, 0.0, 0.0);
            return;
        }
        apply(&self.weights, z, out);
        let quadratic = if self.rule.needs_quadratic() {
            let mut pz = vec![0.0; z.in_lanes().len()];
            let regularization = self.rule.regularization();
            self.inverse.look(regularization, z.in_lanes(), &mut pz) + novelty * novelty / regularization
        } else {
            0.0
        };
        self.rule.present(out, self.forecast_of_one(z), quadratic);
    }

    fn moves(&self, z: &Coordinates, y: &[f64], raw: &mut [f64]) -> bool {
        apply(&self.weights, z, raw);
        self.rule.moves(raw, self.forecast_of_one(z), y)
    }

    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, forecast: &mut [f64]) -> Result<()> {
        if let Some(added) = self.added.take() {
            return self.learn_with_past(added, z, y, weight, forecast);
        }
        let (regularization, keep) = (self.rule.regularization(), self.rule.forgetting());
        let restarts = self.rule.restarts() && z.len() > self.inverse.dim();
        let (one, quadratic) = if restarts {
            forecast.fill(0.0);
            (0.0, z.squared_norm() / regularization)
        } else {
            apply(&self.weights, z, forecast);
            (self.forecast_of_one(z), self.inverse.look(regularization, z.in_lanes(), &mut self.pz))
        };
        let grows = z.len() > self.inverse.dim();
        self.rule.plan(&Seen { raw: forecast, one, quadratic, y, weight, grows }, &mut self.step);
        let sound =
            !beyond_bounds(forecast) && self.step.curvature * quadratic / keep < SymmetricInverse::LARGEST;
        if sound && restarts {
            self.weights.clear();
            self.inverse.reset(regularization);
            self.inverse.look(regularization, z.in_lanes(), &mut self.pz);
        }
        let curvature = self.step.curvature;
        if !sound || !self.inverse.learn(keep, curvature, regularization, z.in_lanes(), z.len(), &mut self.pz)
        {
            return Err(Error::Unstable { row: 0 });
        }
        // The gain in `pz` is P z with this round in P.
        for (c, far) in self.step.moves.iter().enumerate() {
            loops::add_scaled(*far, &self.pz, self.weights.col_mut(c));
        }
        if self.ones.cols() > 0 {
            loops::add_scaled(self.step.one, &self.pz, self.ones.col_mut(0));
        }
        self.rule.present(forecast, one, quadratic);
        if keep < 1.0 {
            self.restore_regularization();
        }
        self.rule.note(y, weight);
        self.rounds += 1;
        Ok(())
    }

    fn blocks_from(&self) -> usize {
        // What forgetting takes from the regularization is given back a row at a time.
        if self.rule.forgetting() < 1.0 { usize::MAX } else { 10 }
    }

    fn learn_block(&mut self, rows: &Rows<'_>, forecasts: Option<&mut Panel>) -> Result<usize> {
        let new = self.inverse.dim() < self.dim();
        if self.blocks_from() == usize::MAX
            || new && (self.rule.restarts() || self.rule.regularization() == 0.0)
        {
            return Ok(0);
        }
        self.inverse.grow(self.dim(), self.rule.regularization());
        self.trial.clone_from(&self.rule);
        let weights = (&mut self.weights, &mut self.ones);
        let Self { trial, step, inverse, .. } = self;
        let done = self.walk.learn(rows, trial, step, weights, inverse, forecasts)?;
        std::mem::swap(&mut self.rule, &mut self.trial);
        self.rounds += done as u64;
        Ok(done)
    }

    fn can_diverge(&self) -> bool {
        self.rule.can_diverge()
    }

    fn boxed(&self) -> Box<dyn Learner> {
        Box::new(self.clone())
    }

    fn spec(&self) -> LearnerSpec {
        self.rule.spec()
    }

    fn write(&self, out: &mut Writer) {
        write_panel(out, "learner.weights", &self.weights);
        write_panel(out, "learner.inverse", &self.inverse.matrix());
        write_panel(out, "learner.ones", &self.ones);
        out.counts("learner.counts", &[self.rounds]);
        self.rule.write(out);
        if let Some(past) = &self.past {
            past.write(out);
        }
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        self.weights = read_panel(from, "learner.weights")?;
        let (dim, outputs) = (self.weights.rows(), self.weights.cols());
        let (rows, cols, entries) = from.matrix("learner.inverse")?;
        self.inverse = (rows == cols && rows <= dim)
            .then(|| SymmetricInverse::from_row_major(&entries, rows))
            .flatten()
            .ok_or_else(|| Error::file("learner.inverse is not a symmetric inverse"))?;
        let centred = self.ones.cols();
        let ones = from.matrix_of("learner.ones", dim, centred)?;
        self.ones = Panel::from_row_major(&ones, dim, centred);
        [self.rounds] = from.counts("learner.counts")?;
        self.rule.read(from, outputs)?;
        if let Some(past) = &mut self.past {
            past.read(from, dim, outputs)?;
        }
        self.pz = vec![0.0; padded(dim)];
        self.step.moves = vec![0.0; outputs];
        Ok(())
    }
}
