//! Policies.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use ndarray::{Array1, Array2, ArrayView2, Axis, s};

use crate::error::{Error, Result, in_range};
use crate::kernel::{Kernel, LARGEST, PointSet};
use crate::linalg::{Panel, Scratch, loops, padded, write_array};
use crate::validate::{check_rows, check_width};

/// States per block.
const BLOCK: usize = 256;

/// The policy of one improvement, independent of later learning of the controller.
///
/// A state costs `O(m (d + actions))`: the similarities to the `m` stored states, and their inner product
/// with one column of coefficients for each action. The caller provides the immediate
/// costs of the actions in a state.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(super) kernel: Kernel,
    pub(super) states: PointSet,
    /// (states, actions): `E[v(x+) | x, u_a] = k(x)' coefficients_a`
    pub(super) coefficients: Panel,
    pub(super) actions: Array2<f64>,
    pub(super) discount: f64,
    pub(super) bounds: (f64, f64),
}

impl Policy {
    /// The actions of the grid, one per row.
    #[must_use]
    pub fn actions(&self) -> ArrayView2<'_, f64> {
        self.actions.view()
    }

    /// Features of a state.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.states.width()
    }

    /// The expected value of the next state for each action, from each row of `x` (n, d): (n, actions).
    pub fn expected(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        check_width("X", Some(self.n_features()), x.ncols())?;
        check_rows(&self.kernel, "X", x)?;
        let mut out = Array2::zeros((x.nrows(), self.actions.nrows()));
        if x.nrows() == 1 {
            let mut similar = vec![0.0; padded(self.states.len())];
            self.kernel.row(&self.states, &x.row(0).to_vec(), &mut similar, &mut Scratch::default());
            for (a, value) in out.iter_mut().enumerate() {
                *value = loops::dot(self.coefficients.col(a), &similar);
            }
            return Ok(out);
        }
        for (i, rows) in x.axis_chunks_iter(Axis(0), BLOCK).enumerate() {
            let similar = self.kernel.similarities_of_rows(&self.states, rows);
            let mut values = Mat::zeros(rows.nrows(), self.actions.nrows());
            let coefficients = self.coefficients.as_faer();
            matmul(values.as_mut(), Accum::Replace, similar.as_faer(), coefficients, 1.0, Par::Seq);
            write_array(values.as_ref(), out.slice_mut(s![i * BLOCK..i * BLOCK + rows.nrows(), ..]));
        }
        Ok(out)
    }

    /// Cost of each action, `c(x, u) + discount E[v(x+) | x, u]`, given the costs (n, actions):
    /// (n, actions).
    pub fn action_values(&self, x: ArrayView2<'_, f64>, costs: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        check_costs(costs, x.nrows(), self.actions.nrows())?;
        Ok(self.expected(x)? * self.discount + costs)
    }

    /// The value of each row of `x` (n, d): that of its best action, clipped to the bounds (n).
    pub fn values(&self, x: ArrayView2<'_, f64>, costs: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        let (low, high) = self.bounds;
        let least = |row: ndarray::ArrayView1<'_, f64>| row.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(self.action_values(x, costs)?.map_axis(Axis(1), |row| least(row).clamp(low, high)))
    }

    /// The best action for each row of `x` (n, d), as its row among the [`actions`](Self::actions); the
    /// first of equals.
    pub fn greedy(&self, x: ArrayView2<'_, f64>, costs: ArrayView2<'_, f64>) -> Result<Vec<usize>> {
        let values = self.action_values(x, costs)?;
        Ok(values
            .rows()
            .into_iter()
            .map(|row| {
                let mut best = 0;
                for (a, value) in row.iter().enumerate() {
                    if *value < row[best] {
                        best = a;
                    }
                }
                best
            })
            .collect())
    }

    /// The best action, or with probability `epsilon` a uniformly random one. `uniform` gives
    /// numbers from 0 to below 1, two for each row: with a seeded generator the actions are
    /// reproducible.
    pub fn epsilon_greedy(
        &self,
        x: ArrayView2<'_, f64>,
        costs: ArrayView2<'_, f64>,
        epsilon: f64,
        mut uniform: impl FnMut() -> f64,
    ) -> Result<Vec<usize>> {
        in_range("epsilon", epsilon, (0.0..=1.0).contains(&epsilon), "from 0 to 1")?;
        let n = self.actions.nrows();
        let mut chosen = self.greedy(x, costs)?;
        for action in &mut chosen {
            let (explores, which) = (uniform() < epsilon, uniform());
            if explores {
                let below = |bound: &usize| which * n as f64 >= (*bound + 1) as f64;
                *action = (0..n - 1).take_while(below).count();
            }
        }
        Ok(chosen)
    }
}

/// Refuses costs (n, actions) of another shape, or that are no numbers.
pub(super) fn check_costs(costs: ArrayView2<'_, f64>, n: usize, n_actions: usize) -> Result<()> {
    if costs.nrows() != n {
        let (left, right) = ("cost", "the states");
        return Err(Error::LengthMismatch { left, left_rows: costs.nrows(), right, right_rows: n });
    }
    if costs.ncols() != n_actions {
        return Err(Error::WrongWidth { what: "cost", expected: n_actions, found: costs.ncols() });
    }
    for ((row, column), &value) in costs.indexed_iter() {
        if !value.is_finite() {
            return Err(Error::NotFinite { what: "cost", row, column, value });
        }
        if value.abs() > LARGEST {
            return Err(Error::TooLarge { what: "cost", row, column: Some(column), magnitude: value.abs() });
        }
    }
    Ok(())
}
