//! The operator's forecasts as functions of the coordinates of a state.

use faer::Mat;
use ndarray::Array2;

use crate::error::{Error, Result};
use crate::koopman::Koopman;
use crate::linalg::{Coordinates, Panel, loops};
use crate::persist::{Reader, Writer};

/// Pairs, or the operator's memory if that is shorter, for each pair by which readouts may be
/// behind. Their errors are then a hundredth of those of the operator itself.
const PAIRS_PER_STALE: f64 = 64.0;

/// Weights of the operator's forecast over each horizon, `K^(n - 1) C` with the weights `C` of the
/// next state, computed when pairs have grown by a share of all.
///
/// A forecast is one inner product for each number instead of a product with `K` for each step.
/// While every pair changes the operator by more, or for wide states, this would cost more than the
/// powers themselves, and there are none.
#[derive(Clone, Debug, Default)]
pub struct Readouts {
    /// (coordinates, horizons d): for each horizon, those of the state's components.
    weights: Panel,
    /// Pairs that the operator had learned.
    pairs: u64,
}

impl Readouts {
    /// Computes them for states of this width, if they are due; returns whether there are any.
    pub fn follow(
        &mut self,
        operator: &Koopman,
        z: &Coordinates,
        steps: &[usize],
        width: usize,
        keep: f64,
    ) -> Result<bool> {
        let pairs = operator.n_seen();
        let memory = if keep < 1.0 { (1.0 - keep).recip().min(pairs as f64) } else { pairs as f64 };
        let may_be_behind = memory / PAIRS_PER_STALE;
        if may_be_behind <= width as f64 {
            *self = Self::default();
            return Ok(false);
        }
        let (rows, fits) = (self.weights.rows(), self.weights.cols() == steps.len() * width);
        let behind = pairs.checked_sub(self.pairs).map_or(f64::INFINITY, |pairs| pairs as f64);
        if rows == 0 || rows > z.len() || !fits || behind >= may_be_behind {
            let all = operator.readouts(width, steps)?;
            let rows = all.first().map_or(0, Mat::nrows);
            let finite = |weights: &Mat<f64>| weights.col_iter().all(|col| col.iter().all(|w| w.is_finite()));
            if !all.iter().all(finite) {
                // Powers that overflow do so for some states only.
                *self = Self::default();
                return Ok(false);
            }
            self.weights = Panel::zeros(rows, steps.len() * width);
            for (k, weights) in all.iter().enumerate() {
                self.weights.as_faer_mut().subcols_mut(k * width, width).copy_from(weights);
            }
            self.pairs = pairs;
        }
        Ok(true)
    }

    /// Forecasts over the horizons that are due from a state with coordinates `z`: (horizons, d).
    /// Coordinates added since are not used yet.
    pub fn forecasts(&self, z: &Coordinates, due: &[bool], width: usize) -> Array2<f64> {
        let known = &z.as_slice()[..self.weights.rows()];
        let horizons: Vec<usize> = (0..due.len()).filter(|k| due[*k]).collect();
        Array2::from_shape_fn((horizons.len(), width), |(i, c)| {
            loops::dot(&self.weights.col(horizons[i] * width + c)[..known.len()], known)
        })
    }

    pub fn write(&self, out: &mut Writer) {
        if self.weights.rows() > 0 {
            let (rows, cols) = (self.weights.rows(), self.weights.cols());
            out.matrix("forecaster.readouts", rows, cols, &self.weights.to_row_major());
            out.counts("forecaster.readouts.pairs", &[self.pairs]);
        }
    }

    /// Reads what [`write`](Self::write) wrote; none if it is absent, as in older files.
    pub fn read(operator: &Koopman, columns: usize, from: &Reader<'_>) -> Result<Self> {
        if !from.has("forecaster.readouts") {
            return Ok(Self::default());
        }
        let (rows, cols, numbers) = from.matrix("forecaster.readouts")?;
        let [pairs] = from.counts("forecaster.readouts.pairs")?;
        if rows > operator.n_stored().0 || cols != columns || pairs > operator.n_seen() {
            return Err(Error::file("forecaster.readouts are not those of its operator"));
        }
        Ok(Self { weights: Panel::from_row_major(&numbers, rows, cols), pairs })
    }
}
