//! Online Newton step.

use serde::{Deserialize, Serialize};

use super::{Learner, LearnerSpec, apply, beyond_bounds, read_panel, write_panel};
use crate::error::{Error, Result, positive};
use crate::linalg::{Coordinates, Panel, SymmetricInverse, loops, padded};
use crate::persist::{Reader, Writer};

/// What an online Newton step does when a coordinate is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Growth {
    /// Carries weights and curvature over, padded with zeros (NONS-ALD: Li and Liao, 2023, Lemmas 4.2 and
    /// 4.3).
    #[default]
    Carry,
    /// Starts again from zero (PROS-N-KONS of Calandriello, Lazaric and Valko, 2017).
    Restart,
}

/// Parameters of [`Newton`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewtonSpec {
    /// Curvature of every coordinate before the first row (`mu`), positive.
    pub regularization: f64,
    /// Forecasts are kept within `[-bound, bound]` (`U`), positive; `None` is the largest `|y|`
    /// seen so far.
    pub bound: Option<f64>,
    /// Largest `|y|` to expect (`Y`), positive; `None` is the largest seen so far.
    pub target_bound: Option<f64>,
    /// Weight of a squared gradient in the curvature (`eta`), positive; `None` is
    /// `1 / (4 (U^2 + Y^2))`, right for the squared loss.
    pub curvature: Option<f64>,
    /// What happens when the basis grows.
    pub growth: Growth,
}

impl Default for NewtonSpec {
    fn default() -> Self {
        Self { regularization: 1.0, bound: None, target_bound: None, curvature: None, growth: Growth::Carry }
    }
}

/// Online Newton step for the squared loss, with clipped forecasts.
///
/// With the gradient `g = 2 (w'z - y)`: `A <- A + eta g^2 z z'`, `w <- w - g A^{-1} z`, with `A`
/// including this round. Before a forecast beyond the bound, `w` moves to the nearest weights (in
/// the norm of `A`) whose forecast is within it. On nested features with ALD this is NONS-ALD (Li and Liao,
/// 2023, Algorithm 3), with two mends: it forecasts and learns in every round, also those that grow the
/// basis, and growth pads with zeros where the paper recomputes an SVD.
///
/// Several outputs share one `A`, whose round is weighted by the sum of their squared gradients.
/// O(m^2) a row, O(m) more for each output.
#[derive(Clone, Debug)]
pub struct Newton {
    spec: NewtonSpec,
    weights: Panel,
    inverse: SymmetricInverse,
    /// Largest `|y|` seen.
    largest: f64,
    /// `P z` of the row at hand.
    pz: Vec<f64>,
}

impl Newton {
    /// A learner with checked parameters.
    pub fn new(spec: NewtonSpec) -> Result<Self> {
        positive("regularization", spec.regularization)?;
        for (name, value) in
            [("bound", spec.bound), ("target_bound", spec.target_bound), ("curvature", spec.curvature)]
        {
            if let Some(value) = value {
                positive(name, value)?;
            }
        }
        Ok(Self {
            spec,
            weights: Panel::default(),
            inverse: SymmetricInverse::default(),
            largest: 0.0,
            pz: Vec::new(),
        })
    }

    fn bound(&self) -> f64 {
        self.spec.bound.unwrap_or(self.largest)
    }

    fn curvature(&self) -> f64 {
        self.spec.curvature.unwrap_or_else(|| {
            let target = self.spec.target_bound.unwrap_or(self.largest);
            0.25 / (self.bound().powi(2) + target.powi(2))
        })
    }
}

impl Learner for Newton {
    fn weights(&self) -> &Panel {
        &self.weights
    }

    fn begin(&mut self, n_outputs: usize) {
        self.weights.grow_cols(n_outputs);
    }

    fn grow(&mut self, dim: usize) {
        if dim <= self.dim() {
            return;
        }
        self.weights.grow_rows(dim);
        self.pz.resize(padded(dim), 0.0);
    }

    fn forecast(&self, z: &Coordinates, novelty: f64, out: &mut [f64]) {
        if novelty > 0.0 && self.spec.growth == Growth::Restart {
            // This point would grow the basis and with that start the learner again.
            out.fill(0.0);
            return;
        }
        apply(&self.weights, z, out);
        let bound = self.bound();
        for v in out {
            *v = v.clamp(-bound, bound);
        }
    }

    fn learn(&mut self, z: &Coordinates, y: &[f64], forecast: &mut [f64]) -> Result<()> {
        let regularization = self.spec.regularization;
        let restarts = self.spec.growth == Growth::Restart && z.len() > self.inverse.dim();
        let quadratic = if restarts {
            forecast.fill(0.0);
            z.squared_norm() / regularization
        } else {
            apply(&self.weights, z, forecast);
            self.inverse.look(regularization, z.in_lanes(), &mut self.pz)
        };
        let (bound, largest) = (self.bound(), self.largest);
        self.largest = y.iter().fold(largest, |most, target| most.max(target.abs()));
        let clipped = |raw: f64| raw.clamp(-bound, bound);
        let steepness: f64 =
            forecast.iter().zip(y).map(|(raw, target)| 4.0 * (clipped(*raw) - target).powi(2)).sum();
        let weight = if steepness > 0.0 { self.curvature() * steepness } else { 0.0 };
        let sound = !beyond_bounds(forecast) && weight * quadratic < SymmetricInverse::LARGEST;
        if sound && restarts {
            self.weights.clear();
            self.inverse.reset(regularization);
            self.inverse.look(regularization, z.in_lanes(), &mut self.pz);
        }
        if !sound || !self.inverse.learn(1.0, weight, regularization, z.in_lanes(), z.len(), &mut self.pz) {
            self.largest = largest;
            return Err(Error::Unstable { row: 0 });
        }
        // The gain in `pz` is P z / (1 + weight z'Pz), with P before this round.
        let before = 1.0 + weight * quadratic;
        for (c, &target) in y.iter().enumerate() {
            let raw = forecast[c];
            forecast[c] = clipped(raw);
            let back = if quadratic > 0.0 { before * (forecast[c] - raw) / quadratic } else { 0.0 };
            let slope = 2.0 * (forecast[c] - target);
            loops::add_scaled(back - slope, &self.pz, self.weights.col_mut(c));
        }
        Ok(())
    }

    fn can_diverge(&self) -> bool {
        // Where the bound is far above the targets the first steps can be far too long.
        true
    }

    fn shrink(&mut self, dim: usize) {
        let outputs = self.weights.cols();
        self.weights.truncate(dim, outputs);
        self.pz.resize(padded(dim), 0.0);
    }

    fn boxed(&self) -> Box<dyn Learner> {
        Box::new(self.clone())
    }

    fn spec(&self) -> LearnerSpec {
        LearnerSpec::Newton(self.spec.clone())
    }

    fn write(&self, out: &mut Writer) {
        write_panel(out, "learner.weights", &self.weights);
        write_panel(out, "learner.inverse", self.inverse.matrix());
        out.vector("learner.scalars", &[self.largest]);
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        self.weights = read_panel(from, "learner.weights")?;
        let dim = self.weights.rows();
        let entries = from.matrix_of("learner.inverse", dim, dim)?;
        self.inverse = SymmetricInverse::from_row_major(&entries, dim)
            .ok_or_else(|| Error::file("learner.inverse is not a symmetric inverse"))?;
        self.largest = from.vector("learner.scalars", 1)?[0];
        self.pz = vec![0.0; padded(dim)];
        Ok(())
    }
}
