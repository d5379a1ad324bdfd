//! Leading modes of states: directions of largest variance.

use faer::{Mat, Side};
use ndarray::{Array2, ArrayView2, Axis, s};

use crate::dynamics::DynamicsParams;
use crate::error::{Error, Result};
use crate::linalg::{evenly_spaced, from_array, to_array};
use crate::persist::{Reader, Writer};

/// Mean of the states and orthonormal directions, by variance: proper orthogonal decomposition.
///
/// Linear models of wide states are learned in modes: in all components they would need as many
/// states as components, and would fit the noise of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Modes {
    /// (1, D)
    mean: Array2<f64>,
    /// (modes, D)
    directions: Array2<f64>,
}

impl Modes {
    /// Modes of states (n, D), of evenly spaced ones if there are many; `None` for few states or
    /// components, or if the states are all equal. O(m² D) for m <= 400 states.
    pub fn of(states: ArrayView2<'_, f64>, params: &DynamicsParams) -> Option<Self> {
        let most = (states.nrows() / params.rows_per_unknown).min(params.modes.max_modes);
        if states.ncols() <= params.modes.min_components || most == 0 {
            return None;
        }
        let rows = evenly_spaced(states.nrows(), params.max_rows);
        let count = rows.len();
        let states = states.select(Axis(0), &rows);
        let mean = states.mean_axis(Axis(0))?.insert_axis(Axis(0));
        let gaps = states - &mean;
        let gram = from_array(gaps.dot(&gaps.t()).view());
        // In ascending order.
        let eigen = gram.self_adjoint_eigen(Side::Lower).ok()?;
        let variances: Vec<f64> =
            eigen.S().column_vector().iter().rev().map(|value| value.max(0.0)).collect();
        let total: f64 = variances.iter().sum();
        let mut rest = total;
        let needed = variances.iter().take_while(|variance| {
            let more = rest > (1.0 - params.modes.variance_share) * total;
            rest -= **variance;
            more
        });
        let modes = needed.count().min(most);
        if modes == 0 || variances[modes - 1] <= f64::EPSILON * total {
            return None;
        }
        let to_unit = Mat::from_fn(modes, count, |j, i| eigen.U()[(i, count - 1 - j)] / variances[j].sqrt());
        let directions = to_array(to_unit.as_ref()).dot(&gaps);
        directions.iter().all(|value| value.is_finite()).then_some(Self { mean, directions })
    }

    pub fn mean(&self) -> ArrayView2<'_, f64> {
        self.mean.view()
    }

    /// Number of modes.
    pub fn count(&self) -> usize {
        self.directions.nrows()
    }

    /// Coordinates of states (n, D), (n, modes).
    pub fn coordinates(&self, states: ArrayView2<'_, f64>) -> Array2<f64> {
        (&states - &self.mean).dot(&self.directions.t())
    }

    pub fn write(&self, out: &mut Writer) {
        let numbers: Vec<f64> = self.mean.iter().chain(&self.directions).copied().collect();
        out.matrix("modes", 1 + self.count(), self.mean.len(), &numbers);
    }

    /// Reads what [`write`](Self::write) wrote, for this number of components; `None` if it is
    /// absent.
    pub fn read(width: usize, from: &Reader<'_>) -> Result<Option<Self>> {
        if !from.has("modes") {
            return Ok(None);
        }
        let (rows, cols, numbers) = from.matrix("modes")?;
        let all = Array2::from_shape_vec((rows, cols), numbers).ok();
        // As many as components at most, and the mean.
        let all = all.filter(|all| (2..=width + 1).contains(&all.nrows()) && all.ncols() == width);
        let all = all.ok_or_else(|| Error::file("modes are not those of its states"))?;
        let (mean, directions) = (all.slice(s![..1, ..]).to_owned(), all.slice(s![1.., ..]).to_owned());
        Ok(Some(Self { mean, directions }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    #[test]
    fn they_hold_the_variance_and_forget_the_noise() {
        let waves = |t: usize, c: usize| (0.1 * t as f64 + 0.3 * c as f64).sin();
        let noise = |t: usize, c: usize| 0.05 * normal(1, (50 * t + c) as u64);
        let states = Array2::from_shape_fn((600, 50), |(t, c)| 280.0 + waves(t, c) + noise(t, c));
        let modes = Modes::of(states.view(), &DynamicsParams::default()).unwrap();
        assert_eq!(modes.count(), 2);
        let back = modes.coordinates(states.view()).dot(&modes.directions) + &modes.mean;
        let off = |t: usize, c: usize| (back[[t, c]] - 280.0 - waves(t, c)).powi(2);
        let errors: f64 = (0..600).flat_map(|t| (0..50).map(move |c| (t, c))).map(|(t, c)| off(t, c)).sum();
        assert!((errors / 30_000.0).sqrt() < 0.02, "{errors}");
        let unit = modes.directions.dot(&modes.directions.t());
        assert!((unit - Array2::<f64>::eye(2)).iter().all(|gap| gap.abs() < 1e-10));
        assert!(Modes::of(Array2::ones((100, 20)).view(), &DynamicsParams::default()).is_none());
    }
}
