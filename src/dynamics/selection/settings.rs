//! Settings of the operator that are compared, and the rows that they are judged by.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};

use super::judge::Judge;
use crate::dynamics::params::OperatorSelectionParams;
use crate::dynamics::{DynamicsSpec, Units};
use crate::error::Result;
use crate::interrupt::check;
use crate::kernel::{KernelSpec, PointSet};
use crate::koopman::ControlSpec;
use crate::linalg::{Panel, evenly_spaced, loops};

/// A scale, bandwidths and a regularization, and their mean squared error as a share of the variance.
#[derive(Clone)]
pub(super) struct Setting {
    pub control: Option<ControlSpec>,
    pub scale: usize,
    pub bandwidth: f64,
    pub regularization: f64,
    pub error: f64,
    /// Regularization of the best forecasts if held-out rows lie between learned ones.
    pub detail: f64,
    /// Their error.
    pub near: f64,
}

impl Setting {
    /// With the best regularization for this scale and bandwidth of states, and its error.
    pub fn new(
        control: Option<ControlSpec>,
        (scale, bandwidth): (usize, f64),
        (regularization, error): (f64, f64),
    ) -> Self {
        Self { control, scale, bandwidth, regularization, error, detail: regularization, near: error }
    }
}

/// Rows that settings are judged by.
pub(super) struct Rows<'a> {
    pub params: &'a OperatorSelectionParams,
    /// On each scale, states and inputs, and the median distance of states.
    pub scaled: Vec<(Array2<f64>, f64)>,
    next: Array2<f64>,
    pub targets: Array2<f64>,
    pub judge: Judge,
    /// How many times as many pairs there will be as rows that are learned, in doublings.
    doublings: f64,
}

impl<'a> Rows<'a> {
    /// Pairs of `x` (n, d + k) and `next`: the next states (n, d), or their first columns. `None` if all states are
    /// equal.
    pub fn new(
        spec: &'a DynamicsSpec,
        (scales, each): (&[Units], &Units),
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
    ) -> Option<Self> {
        let params = &spec.params.selection;
        let rows = evenly_spaced(x.nrows(), spec.params.max_rows);
        // The next selection comes when there are twice as many.
        let (count, pairs) = (rows.len(), 2 * x.nrows());
        let (x, next) = (x.select(Axis(0), &rows), next.select(Axis(0), &rows));
        let width = x.ncols() - spec.operator.control.as_ref().map_or(0, |control| control.width);
        let scaled = scales.iter().map(|units| {
            let rows = units.scaled(x.view()).into_owned();
            let typical = median_distance(rows.slice(s![.., ..width]))?;
            Some((rows, typical))
        });
        let scaled = scaled.collect::<Option<Vec<_>>>()?;
        let next = each.scaled(next.view()).into_owned();
        let targets = targets(next.view(), params);
        let judge = Judge::new(&targets, |i| i * params.blocks / count % 2 == 1);
        let doublings = (pairs as f64 / judge.learned.len().max(1) as f64).max(1.0).log2();
        Some(Self { params, scaled, next, targets, judge, doublings })
    }

    /// A judge of the same held-out rows that learns half of the others.
    pub fn half(&self) -> Judge {
        let learned = self.judge.learned.iter().copied().step_by(2).collect();
        Judge::of(&self.targets, learned, self.judge.held_out.clone())
    }

    /// The best regularization for this scale and bandwidth of states, and its error.
    fn error(
        &self,
        control: Option<&ControlSpec>,
        (scale, bandwidth): (usize, f64),
    ) -> Result<Option<(f64, f64)>> {
        check()?;
        let gram = gram(control, bandwidth, self.scaled[scale].0.view())?;
        Ok(self.judge.least_error(gram.as_faer(), &self.params.regularizations))
    }

    /// The error, and that expected until the next selection, if it falls as it did when the rows were doubled. A long
    /// bandwidth of an input has its least error early; a short one, which can learn any effect, needs more rows.
    pub fn projected(&self, half: &Judge, one: &Setting) -> Result<[f64; 2]> {
        check()?;
        let gram = gram(one.control.as_ref(), one.bandwidth, self.scaled[one.scale].0.view())?;
        let least = |judge: &Judge| judge.least_error(gram.as_faer(), &self.params.regularizations);
        let Some((_, error)) = least(&self.judge) else { return Ok([f64::INFINITY; 2]) };
        let fall = least(half).map_or(1.0, |(_, before)| error / before.max(f64::MIN_POSITIVE));
        Ok([error, error * fall.min(1.0).powf(self.doublings)])
    }

    /// The best scale (the first unless another is better); on it the shortest bandwidth with the least
    /// error, since slow processes are distinguished by detail; and the best regularization for it.
    pub fn best(&self, control: Option<ControlSpec>) -> Result<Option<Setting>> {
        let params = self.params;
        let found: Vec<Vec<Setting>> = (0..self.scaled.len())
            .map(|scale| self.on_scale(control.as_ref(), scale))
            .collect::<Result<_>>()?;
        let of_all = found.iter().map(|of_scale| least(of_scale)).fold(f64::INFINITY, f64::min);
        let of_scale = found
            .into_iter()
            .find(|of_scale| least(of_scale) <= (1.0 + params.equal) * of_all + params.equal_share);
        Ok(of_scale.and_then(|mut of_scale| Some(of_scale.swap_remove(self.shortest(&of_scale)?))))
    }

    /// Settings on a scale, by rising bandwidth.
    fn on_scale(&self, control: Option<&ControlSpec>, scale: usize) -> Result<Vec<Setting>> {
        let typical = self.scaled[scale].1;
        let mut found = Vec::new();
        for factor in self.params.bandwidths {
            let bandwidth = factor * typical;
            if let Some((regularization, error)) = self.error(control, (scale, bandwidth))? {
                found.push(Setting::new(control.cloned(), (scale, bandwidth), (regularization, error)));
            }
        }
        Ok(found)
    }

    /// Place of the one with the shortest bandwidth of those with the least error.
    pub fn shortest(&self, of_scale: &[Setting]) -> Option<usize> {
        let limit = (1.0 + self.params.equal) * least(of_scale);
        of_scale.iter().position(|one| one.error <= limit)
    }

    /// A held-out block may lie where no state was learned; interleaved rows show how much detail can be learned.
    pub fn detail(&self, chosen: &mut Setting) -> Result<()> {
        let judge = Judge::new(&self.next, |i| i % 2 == 1);
        let rows = self.scaled[chosen.scale].0.view();
        let gram = gram(chosen.control.as_ref(), chosen.bandwidth, rows)?;
        if let Some((detail, near)) = judge.least_error(gram.as_faer(), &self.params.regularizations) {
            (chosen.detail, chosen.near) = (chosen.detail.min(detail), near);
        }
        Ok(())
    }
}

/// Least error of these settings.
fn least(found: &[Setting]) -> f64 {
    found.iter().map(|one| one.error).fold(f64::INFINITY, f64::min)
}

/// Gaussian similarities (n, n) of all rows (n, d + k), on their scale.
pub(super) fn gram(
    control: Option<&ControlSpec>,
    bandwidth: f64,
    rows: ArrayView2<'_, f64>,
) -> Result<Panel> {
    let kernel = KernelSpec::Gaussian { bandwidth: Some(bandwidth) };
    let kernel = control.map_or(kernel.clone(), |control| control.joint(&kernel));
    Ok(kernel.resolve(rows.ncols())?.similarities_of_rows(&PointSet::gather(rows), rows))
}

/// Functions of next states to be forecast (n, p): state and test functions have equal weight.
fn targets(next: ArrayView2<'_, f64>, params: &OperatorSelectionParams) -> Array2<f64> {
    let typical = median_distance(next).unwrap_or(1.0);
    let rate = -0.5 / (params.test_width * typical).powi(2);
    let mut nearest = vec![f64::INFINITY; next.nrows()];
    let (mut gaussians, mut at) = (Vec::new(), 0);
    for _ in 0..params.test_functions.min(next.nrows()) {
        let distances = squared_distances(next, at);
        gaussians.push(distances.iter().map(|distance| (rate * distance).exp()).collect::<Vec<f64>>());
        nearest.iter_mut().zip(&distances).for_each(|(least, distance)| *least = least.min(*distance));
        at = (0..nearest.len()).max_by(|i, j| nearest[*i].total_cmp(&nearest[*j])).unwrap_or(0);
    }
    let gaussians = Array2::from_shape_fn((next.nrows(), gaussians.len()), |(i, j)| gaussians[j][i]);
    let states = next.var_axis(Axis(0), 0.0).sum();
    let mut out = ndarray::concatenate![Axis(1), next, gaussians];
    let n_gaussians = out.ncols() - next.ncols();
    for (j, mut column) in out.columns_mut().into_iter().enumerate() {
        let variance = if j < next.ncols() { states } else { column.var(0.0) * n_gaussians as f64 };
        let size = variance.sqrt();
        column.mapv_inplace(|value| if size > 0.0 { value / size } else { 0.0 });
    }
    out
}

/// Squared distances of all rows to one of them.
fn squared_distances(rows: ArrayView2<'_, f64>, of: usize) -> Vec<f64> {
    let one = rows.row(of);
    let one = one.as_standard_layout();
    let distance = |row: ArrayView1<'_, f64>| {
        let row = row.as_standard_layout();
        loops::squared_distance(row.as_slice().unwrap_or(&[]), one.as_slice().unwrap_or(&[]))
    };
    rows.rows().into_iter().map(distance).collect()
}

/// Median distance of two rows; `None` if it is zero.
pub(super) fn median_distance(rows: ArrayView2<'_, f64>) -> Option<f64> {
    let mut all: Vec<f64> =
        (0..rows.nrows()).flat_map(|i| squared_distances(rows.slice(s![i.., ..]), 0).split_off(1)).collect();
    let middle = all.len() / 2;
    (!all.is_empty())
        .then(|| all.select_nth_unstable_by(middle, f64::total_cmp).1.sqrt())
        .filter(|distance| *distance > 0.0)
}
