//! Memory of past rows, for coordinates that are added later.

mod joined;

use faer::linalg::matmul::matmul;
use faer::prelude::Solve as _;
use faer::{Accum, Mat, Par, Side};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::learner::weights::{read_panel, write_panel};
use crate::linalg::{Coordinates, Panel, loops};
use crate::persist::{Reader, Writer};
use crate::random;

/// Information on past rows when a coordinate is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum History {
    /// None: the new coordinate of past rows counts as 0. Adequate if it is small, as for points
    /// admitted by approximate linear dependence.
    #[default]
    None,
    /// The new coordinate of a sample of them; that of the others is estimated by regression on the
    /// sample. Constant memory.
    Reservoir,
    /// Exact: every row is kept; time and memory grow with the stream.
    Exact,
}

/// A remembered row.
#[derive(Clone, Debug)]
struct Row {
    x: Vec<f64>,
    /// All coordinates, with those added after it.
    z: Vec<f64>,
    y: Vec<f64>,
    weight: f64,
}

/// Remembered rows, and the sums over the others.
///
/// When a coordinate `psi` is added, it is known for the remembered rows. For the forgotten ones
/// `psi ~ b'z` is assumed, with `b` by ridge regression over the remembered rows, so their sums `D
/// = sum z z'` and `d = sum y z` become `M D M'` and `M d` with `M = [I; b']`. Curvature stays
/// positive definite by construction, and the result is exact as long as nothing was forgotten.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Most rows; all if `None`.
    size: Option<usize>,
    seed: u64,
    /// Rows so far.
    arrived: u64,
    rows: Vec<Row>,
    /// `D`, and `d` of each output and of the target 1.
    curvature: Panel,
    targets: Panel,
    intercept: Panel,
}

/// Sums over past rows for a new coordinate: its row of the curvature, its own curvature, and its
/// inner products with the targets and with 1.
#[derive(Clone, Debug)]
pub(super) struct Added {
    pub(super) row: Vec<f64>,
    pub(super) corner: f64,
    pub(super) targets: Vec<f64>,
    pub(super) intercept: f64,
}

impl Memory {
    /// Empty: will remember `size` rows, drawn uniformly, or all.
    pub(super) fn new(size: Option<usize>, seed: u64) -> Self {
        let mut intercept = Panel::default();
        intercept.grow_cols(1);
        Self {
            size,
            seed,
            arrived: 0,
            rows: Vec::new(),
            curvature: Panel::default(),
            targets: Panel::default(),
            intercept,
        }
    }

    /// Features of the remembered rows (rows, d).
    #[must_use]
    pub fn points(&self) -> Array2<f64> {
        let width = self.rows.first().map_or(0, |row| row.x.len());
        Array2::from_shape_fn((self.rows.len(), width), |(i, k)| self.rows[i].x[k])
    }

    /// The remembered rows: features and coordinates.
    pub fn rows(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        self.rows.iter().map(|row| (row.x.as_slice(), row.z.as_slice()))
    }

    /// Adds a learned row. O(m^2) if one is forgotten, else O(m + d).
    pub(super) fn push(&mut self, x: &[f64], z: &Coordinates, y: &[f64], weight: f64) {
        let place = match self.size {
            Some(size) if self.rows.len() >= size => random::below(self.seed, self.arrived, self.arrived + 1),
            _ => self.rows.len() as u64,
        };
        self.arrived += 1;
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if place == self.rows.len() && self.size.is_none_or(|size| place < size) {
            self.rows.push(Row { x: x.to_vec(), z: z.as_slice().to_vec(), y: y.to_vec(), weight });
        } else if place < self.rows.len() {
            let row = &mut self.rows[place];
            let leaving = Coordinates::from_slice(&row.z);
            let (old, old_weight) = (std::mem::replace(&mut row.y, y.to_vec()), row.weight);
            row.x.copy_from_slice(x);
            row.z.clear();
            row.z.extend_from_slice(z.as_slice());
            row.weight = weight;
            self.forget(&leaving, &old, old_weight);
        } else {
            self.forget(z, y, weight);
        }
    }

    fn forget(&mut self, z: &Coordinates, y: &[f64], weight: f64) {
        let m = z.len();
        self.curvature.grow_cols(m);
        self.targets.grow_cols(y.len());
        for panel in [&mut self.curvature, &mut self.targets, &mut self.intercept] {
            panel.grow_rows(m);
        }
        for (j, value) in z.as_slice().iter().enumerate() {
            loops::add_scaled(weight * value, z.in_lanes(), self.curvature.col_mut(j));
        }
        for (c, target) in y.iter().enumerate() {
            loops::add_scaled(weight * target, z.in_lanes(), self.targets.col_mut(c));
        }
        loops::add_scaled(weight, z.in_lanes(), self.intercept.col_mut(0));
    }

    /// Adds a coordinate, `newest` of each remembered row, after `m` others. `None` without past
    /// rows.
    pub(super) fn extend(&mut self, newest: &[f64], m: usize, regularization: f64) -> Option<Added> {
        if self.rows.is_empty() || self.rows.len() != newest.len() {
            self.rows.iter_mut().for_each(|row| row.z.push(0.0));
            return None;
        }
        let outputs = self.rows[0].y.len();
        let mut added = Added { row: vec![0.0; m], corner: 0.0, targets: vec![0.0; outputs], intercept: 0.0 };
        for (row, psi) in self.rows.iter().zip(newest) {
            let value = row.weight * psi;
            for (to, z) in added.row.iter_mut().zip(&row.z) {
                *to += value * z;
            }
            for (to, y) in added.targets.iter_mut().zip(&row.y) {
                *to += value * y;
            }
            added.corner += value * psi;
            added.intercept += value;
        }
        if self.curvature.rows() > 0 {
            self.guess(&mut added, m, regularization);
        }
        self.rows.iter_mut().zip(newest).for_each(|(row, psi)| row.z.push(*psi));
        Some(added)
    }

    /// Adds the estimated sums over the forgotten rows, `M D M'` and `M d`.
    fn guess(&mut self, added: &mut Added, m: usize, regularization: f64) {
        self.curvature.grow_cols(m);
        for panel in [&mut self.curvature, &mut self.targets, &mut self.intercept] {
            panel.grow_rows(m);
        }
        let z = Mat::from_fn(m, self.rows.len(), |j, i| self.rows[i].weight.sqrt() * self.rows[i].z[j]);
        let mut system = Mat::<f64>::identity(m, m) * faer::Scale(regularization);
        matmul(system.as_mut(), Accum::Add, z.as_ref(), z.transpose(), 1.0, Par::Seq);
        let right = Mat::from_fn(m, 1, |j, _| added.row[j]);
        // Without a regression the forgotten rows' new coordinate is 0.
        let b = system.llt(Side::Lower).map_or_else(|_| Mat::zeros(m, 1), |llt| llt.solve(&right));
        let b: Vec<f64> = b.col(0).iter().copied().collect();
        let along = |column: &[f64]| column.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>();
        let row: Vec<f64> = (0..m).map(|j| along(self.curvature.col(j))).collect();
        let corner = along(&row);
        self.curvature.grow_cols(m + 1);
        for panel in [&mut self.curvature, &mut self.targets, &mut self.intercept] {
            panel.grow_rows(m + 1);
        }
        for (j, value) in row.iter().enumerate() {
            self.curvature.set(m, j, *value);
            self.curvature.set(j, m, *value);
            added.row[j] += value;
        }
        self.curvature.set(m, m, corner);
        added.corner += corner;
        for (c, to) in added.targets.iter_mut().enumerate() {
            let value = along(self.targets.col(c));
            self.targets.set(m, c, value);
            *to += value;
        }
        let value = along(self.intercept.col(0));
        self.intercept.set(m, 0, value);
        added.intercept += value;
    }

    /// Drops all coordinates beyond the first `dim`.
    pub(super) fn truncate(&mut self, dim: usize) {
        self.rows.iter_mut().for_each(|row| row.z.truncate(dim));
        if self.curvature.rows() > dim {
            self.curvature.truncate(dim, dim);
            self.targets.truncate(dim, self.targets.cols());
            self.intercept.truncate(dim, 1);
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        let arrived = self.arrived;
        *self = Self { arrived, ..Self::new(self.size, self.seed) };
    }

    pub(super) fn write(&self, out: &mut Writer) {
        let mut save = |name: &str, of: &dyn Fn(&Row) -> &[f64]| {
            let cols = self.rows.first().map_or(0, |row| of(row).len());
            let entries: Vec<f64> = self.rows.iter().flat_map(of).copied().collect();
            out.matrix(name, self.rows.len(), cols, &entries);
        };
        save("learner.past.x", &|row| &row.x);
        save("learner.past.z", &|row| &row.z);
        save("learner.past.y", &|row| &row.y);
        save("learner.past.weights", &|row| std::slice::from_ref(&row.weight));
        write_panel(out, "learner.past.curvature", &self.curvature);
        write_panel(out, "learner.past.targets", &self.targets);
        write_panel(out, "learner.past.ones", &self.intercept);
        out.counts("learner.past.counts", &[self.arrived]);
    }

    /// Reads what [`write`](Self::write) wrote, for a learner of this size.
    pub(super) fn read(&mut self, from: &Reader<'_>, dim: usize, outputs: usize) -> Result<()> {
        let (rows, width, x) = from.matrix("learner.past.x")?;
        if rows > 0 && width == 0 || self.size.is_some_and(|size| rows > size) {
            return Err(Error::file("learner.past.x has the wrong shape"));
        }
        // Without rows there are no columns either.
        let load = |name: &str, cols: usize| from.matrix_of(name, rows, if rows > 0 { cols } else { 0 });
        let z = load("learner.past.z", dim)?;
        let y = load("learner.past.y", outputs)?;
        let weights = load("learner.past.weights", 1)?;
        if weights.iter().any(|weight| *weight < 0.0) {
            return Err(Error::file("learner.past.weights holds a weight below zero"));
        }
        let part = |of: &[f64], cols: usize, i: usize| of[i * cols..(i + 1) * cols].to_vec();
        let row = |i: usize| Row {
            x: part(&x, width, i),
            z: part(&z, dim, i),
            y: part(&y, outputs, i),
            weight: weights[i],
        };
        self.rows = (0..rows).map(row).collect();
        self.curvature = read_panel(from, "learner.past.curvature")?;
        self.targets = read_panel(from, "learner.past.targets")?;
        self.intercept = read_panel(from, "learner.past.ones")?;
        let m = self.curvature.rows();
        if m > dim
            || self.curvature.cols() != m
            || self.targets.rows() != m
            || m > 0 && self.targets.cols() != outputs
            || (self.intercept.rows(), self.intercept.cols()) != (m, 1)
        {
            return Err(Error::file("learner.past.curvature has the wrong shape"));
        }
        [self.arrived] = from.counts("learner.past.counts")?;
        Ok(())
    }
}
