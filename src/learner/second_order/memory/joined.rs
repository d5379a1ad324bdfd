//! The memories of several learners as one.

use faer::prelude::Solve as _;
use faer::{Mat, MatRef, Scale, Side};

use super::{Memory, Row};
use crate::linalg::{Coordinates, Panel};
use crate::random;

impl Memory {
    /// What is remembered, in a joint basis: `rows` (rows, joint) are the coordinates there of the rows remembered, and
    /// `lift` (joint, own) takes over what own coordinates tell of them.
    ///
    /// What the lift leaves out of a forgotten row is guessed as it is for a coordinate that is
    /// [added](Self::extend): by ridge regression on the rows remembered. O(m^3 + rows m^2).
    pub(in super::super) fn carried(&self, lift: MatRef<'_, f64>, rows: &Panel, regularization: f64) -> Self {
        let mut carried = self.clone();
        for (i, row) in carried.rows.iter_mut().enumerate() {
            row.z = rows.row(i).collect();
        }
        if self.curvature.rows() == 0 {
            return carried;
        }
        let map = lift + self.left_out(lift, rows.as_faer(), regularization);
        carried.curvature.grow_cols(lift.ncols());
        for panel in [&mut carried.curvature, &mut carried.targets, &mut carried.intercept] {
            panel.grow_rows(lift.ncols());
            *panel = panel.mapped(map.as_ref());
        }
        let half = carried.curvature.clone();
        half.times(map.transpose(), &mut carried.curvature);
        carried
    }

    /// Regression of what the lift leaves out of the rows remembered on their own coordinates (joint, own).
    fn left_out(&self, lift: MatRef<'_, f64>, joint: MatRef<'_, f64>, regularization: f64) -> Mat<f64> {
        let weight = |i: usize| self.rows[i].weight.sqrt();
        let own = Mat::from_fn(self.rows.len(), lift.ncols(), |i, j| weight(i) * self.rows[i].z[j]);
        let joint = Mat::from_fn(self.rows.len(), lift.nrows(), |i, j| weight(i) * joint[(i, j)]);
        let rest = joint - &own * lift.transpose();
        let system =
            own.transpose() * &own + Mat::<f64>::identity(lift.ncols(), lift.ncols()) * Scale(regularization);
        // Without a regression what is left out counts as 0.
        system.llt(Side::Lower).map_or_else(
            |_| Mat::zeros(lift.nrows(), lift.ncols()),
            |llt| llt.solve(own.transpose() * rest).transpose().to_owned(),
        )
    }

    /// Sums over all rows in `dim` coordinates: of `z z'`, and of `y z` with a last column for the target that is 1.
    pub(in super::super) fn sums(&self, dim: usize, outputs: usize) -> (Mat<f64>, Mat<f64>) {
        let entry = |panel: &Panel, i: usize, j: usize| {
            if i < panel.rows() && j < panel.cols() { panel.get(i, j) } else { 0.0 }
        };
        let z = Mat::from_fn(dim, self.rows.len(), |j, i| self.rows[i].weight.sqrt() * self.rows[i].z[j]);
        let y = Mat::from_fn(self.rows.len(), outputs + 1, |i, c| {
            self.rows[i].weight.sqrt() * self.rows[i].y.get(c).copied().unwrap_or(1.0)
        });
        let forgotten = Mat::from_fn(dim, outputs + 1, |i, c| {
            if c < outputs { entry(&self.targets, i, c) } else { entry(&self.intercept, i, 0) }
        });
        let curvature = Mat::from_fn(dim, dim, |i, j| entry(&self.curvature, i, j));
        (curvature + &z * z.transpose(), forgotten + &z * y)
    }

    /// One memory of the rows of several, which are in the same coordinates. The rows remembered are a uniform sample of
    /// those of all; the order of the parts does not matter.
    pub(in super::super) fn joined(parts: Vec<Self>) -> Option<Self> {
        let first = parts.first()?;
        let mut joined = Self::new(first.size, first.seed);
        let mut drawn = Vec::new();
        for mut part in parts {
            drawn.extend(part.drawn());
            joined.arrived += part.arrived;
            add(&mut joined.curvature, &part.curvature);
            add(&mut joined.targets, &part.targets);
            add(&mut joined.intercept, &part.intercept);
        }
        drawn.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let kept = joined.size.map_or(drawn.len(), |size| size.min(drawn.len()));
        for (_, row) in drawn.drain(kept..) {
            joined.forget(&Coordinates::from_slice(&row.z), &row.y, row.weight);
        }
        joined.rows = drawn.into_iter().map(|(_, row)| row).collect();
        Some(joined)
    }

    /// The rows remembered, each with a time: the least of the times, exponential at rate 1, that all rows of this part
    /// would draw (Renyi, "On the theory of order statistics", 1953). The rows of several parts that have the least
    /// are a uniform sample of the rows of all.
    fn drawn(&mut self) -> Vec<(f64, Row)> {
        let mix = |mixed, value: &f64| random::bits(mixed, value.to_bits());
        let place = |(i, row): (usize, Row)| (row.x.iter().chain(&row.y).fold(i as u64, mix), row);
        let mut placed: Vec<(u64, Row)> =
            std::mem::take(&mut self.rows).into_iter().enumerate().map(place).collect();
        placed.sort_by_key(|(place, _)| *place);
        let mut time = 0.0;
        let later = |(i, (place, row)): (usize, (u64, Row))| {
            let waiting = self.arrived.saturating_sub(i as u64).max(1) as f64;
            time -= (1.0 - random::uniform(self.seed, place)).ln() / waiting;
            (time, row)
        };
        placed.into_iter().enumerate().map(later).collect()
    }
}

/// `to += from`, where the smaller one has zeros beyond its edges.
fn add(to: &mut Panel, from: &Panel) {
    to.grow_cols(from.cols());
    to.grow_rows(from.rows());
    for j in 0..from.cols() {
        for (to, from) in to.col_mut(j).iter_mut().zip(from.col(j)) {
            *to += from;
        }
    }
}
