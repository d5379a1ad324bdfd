//! Sums over pairs of coordinates: what is to be known of pairs beside the operator they make.

mod blocked;

use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_product};
use faer::{Accum, Mat, MatRef, Par};

pub(super) use blocked::BlockedSums;

use super::products::product;
use crate::error::{Error, Result};
use crate::linalg::{Panel, loops};
use crate::persist::{Reader, Writer};

/// Weight of each of some pairs; 1 if `None`. Gradient steps have none.
pub(super) type Weights<'a> = Option<&'a [f64]>;

/// Sums over some pairs, of the coordinates `z` of `x` and `s` of `x+`, each pair weighted by what is not forgotten of it.
///
/// Coordinates that came later count as zero for the pairs before, as for the learner. O(m^2) a pair.
#[derive(Clone, Debug)]
pub(in crate::koopman) struct PairSums {
    /// `sum z z'`, of which the lower triangle is kept.
    gram: Panel,
    /// `sum z s'`
    cross: Panel,
    /// `sum s s'`, of which the lower triangle is kept.
    gram_next: Panel,
    /// `sum z` and `sum s`
    total: Panel,
    total_next: Panel,
    /// The sum of the weights, and how many pairs there are.
    weight: f64,
    count: u64,
    /// What all of these, but for the count, are to be multiplied by.
    scale: f64,
}

impl Default for PairSums {
    fn default() -> Self {
        let one_column = || Panel::zeros(0, 1);
        Self {
            gram: Panel::default(),
            cross: Panel::default(),
            gram_next: Panel::default(),
            total: one_column(),
            total_next: one_column(),
            weight: 0.0,
            count: 0,
            scale: 1.0,
        }
    }
}

/// Scales below which the numbers are brought to a scale of 1.
const LEAST_SCALE: f64 = 1e-100;

impl PairSums {
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn weight(&self) -> f64 {
        self.scale * self.weight
    }

    /// `sum z z'` (m, m).
    pub fn gram(&self, m: usize) -> Mat<f64> {
        self.symmetric(&self.gram, m)
    }

    /// `sum z s'` (m, m).
    pub fn cross(&self, m: usize) -> Mat<f64> {
        let cross = &self.cross;
        Mat::from_fn(m, m, |i, j| {
            if i < cross.rows() && j < cross.cols() { self.scale * cross.get(i, j) } else { 0.0 }
        })
    }

    /// `sum s s'` (m, m).
    pub fn gram_next(&self, m: usize) -> Mat<f64> {
        self.symmetric(&self.gram_next, m)
    }

    /// `sum z` and `sum s`, one column each (m, 2).
    pub fn totals(&self, m: usize) -> Mat<f64> {
        Mat::from_fn(m, 2, |i, j| {
            let total = if j == 0 { &self.total } else { &self.total_next };
            if i < total.rows() { self.scale * total.get(i, 0) } else { 0.0 }
        })
    }

    fn symmetric(&self, lower: &Panel, m: usize) -> Mat<f64> {
        Mat::from_fn(m, m, |i, j| {
            let (i, j) = (i.max(j), i.min(j));
            if i < lower.rows() { self.scale * lower.get(i, j) } else { 0.0 }
        })
    }

    /// Forgets a part of all pairs: `keep` is left of their weights.
    pub fn forget(&mut self, keep: f64) {
        self.scale *= keep;
        if self.scale < LEAST_SCALE {
            let scale = std::mem::replace(&mut self.scale, 1.0);
            self.panels_mut().into_iter().for_each(|panel| panel.scale(scale));
            self.weight *= scale;
        }
    }

    fn panels(&self) -> [&Panel; 5] {
        [&self.gram, &self.cross, &self.gram_next, &self.total, &self.total_next]
    }

    fn panels_mut(&mut self) -> [&mut Panel; 5] {
        [&mut self.gram, &mut self.cross, &mut self.gram_next, &mut self.total, &mut self.total_next]
    }

    fn grow(&mut self, m: usize) {
        for panel in self.panels_mut() {
            if panel.rows() < m {
                panel.grow_rows(m);
            }
        }
        for panel in [&mut self.gram, &mut self.cross, &mut self.gram_next] {
            if panel.cols() < m {
                panel.grow_cols(m);
            }
        }
    }

    /// Adds one pair, of which as many numbers as these in lanes.
    pub fn add_one(&mut self, z: &[f64], s: &[f64], m: usize, weight: f64) {
        self.grow(m);
        let gain = weight / self.scale;
        for j in 0..m {
            for (panel, left, right) in
                [(&mut self.gram, z, z), (&mut self.cross, z, s), (&mut self.gram_next, s, s)]
            {
                loops::add_scaled(gain * right[j], left, panel.col_mut(j));
            }
        }
        loops::add_scaled(gain, z, self.total.col_mut(0));
        loops::add_scaled(gain, s, self.total_next.col_mut(0));
        self.weight += gain;
        self.count += 1;
    }

    /// Adds the rows of `z` (b, m) with the columns of `s` (m, b), which were multiplied by the `roots` of
    /// their weights; 1 if there are none.
    pub fn add_block(&mut self, z: MatRef<'_, f64>, s: MatRef<'_, f64>, roots: &[f64]) {
        self.grow(z.ncols());
        let gain = self.scale.recip();
        for (panel, half) in [(&mut self.gram, z.transpose()), (&mut self.gram_next, s)] {
            triangular_product(
                panel.as_faer_mut(),
                BlockStructure::TriangularLower,
                Accum::Add,
                half,
                BlockStructure::Rectangular,
                half.transpose(),
                BlockStructure::Rectangular,
                gain,
                Par::Seq,
            );
        }
        let mut cross = self.cross.as_faer_mut();
        faer::linalg::matmul::matmul(
            cross.as_mut(),
            Accum::Add,
            z.transpose(),
            s.transpose(),
            gain,
            Par::Seq,
        );
        for (total, half) in [(&mut self.total, z.transpose()), (&mut self.total_next, s)] {
            for (i, column) in half.col_iter().enumerate() {
                let gain = gain * roots.get(i).unwrap_or(&1.0);
                total.col_mut(0).iter_mut().zip(column.iter()).for_each(|(to, from)| *to += gain * from);
            }
        }
        let weights: f64 = roots.iter().map(|root| root * root).sum();
        self.weight += gain * if roots.is_empty() { z.nrows() as f64 } else { weights };
        self.count += z.nrows() as u64;
    }

    /// Adds the sums over other pairs.
    pub fn absorb(&mut self, other: &Self) {
        self.grow(other.gram.rows());
        let gain = other.scale / self.scale;
        for (to, from) in self.panels_mut().into_iter().zip(other.panels()) {
            for j in 0..from.cols() {
                let from = from.col(j);
                loops::add_scaled(gain, from, &mut to.col_mut(j)[..from.len()]);
            }
        }
        self.weight += gain * other.weight;
        self.count += other.count;
    }

    /// The same in the coordinates of which this matrix (new, old) makes the old ones.
    pub fn lifted(&self, lift: MatRef<'_, f64>) -> Self {
        let m = lift.ncols();
        let both = |sums: Mat<f64>| {
            panel_of(product(product(lift, sums.as_ref()).as_ref(), lift.transpose()).as_ref())
        };
        let totals = product(lift, self.totals(m).as_ref());
        Self {
            gram: both(self.gram(m)),
            cross: both(self.cross(m)),
            gram_next: both(self.gram_next(m)),
            total: panel_of(totals.as_ref().subcols(0, 1)),
            total_next: panel_of(totals.as_ref().subcols(1, 1)),
            weight: self.weight(),
            count: self.count,
            scale: 1.0,
        }
    }

    pub fn write(&self, name: &str, out: &mut Writer) {
        let m = self.gram.rows();
        // As they are, so that what is read back continues with the same bits.
        let unscaled = Self { scale: 1.0, ..self.clone() };
        let mut save = |part: &str, sums: Mat<f64>| {
            let panel = panel_of(sums.as_ref());
            out.matrix(&format!("{name}.{part}"), panel.rows(), panel.cols(), &panel.to_row_major());
        };
        save("gram", unscaled.gram(m));
        save("cross", unscaled.cross(m));
        save("next", unscaled.gram_next(m));
        save("totals", unscaled.totals(m));
        out.vector(&format!("{name}.weight"), &[self.weight, self.scale]);
        out.counts(&format!("{name}.count"), &[self.count]);
    }

    /// Reads what [`write`](Self::write) wrote, of at most this many coordinates.
    pub fn read(name: &str, from: &Reader<'_>, most: usize) -> Result<Self> {
        let (m, _, _) = from.matrix(&format!("{name}.gram"))?;
        let load = |part: &str, cols: usize| {
            let entries = from.matrix_of(&format!("{name}.{part}"), m, cols)?;
            Ok(Panel::from_row_major(&entries, m, cols))
        };
        let totals = load("totals", 2)?;
        // Older files have the weight alone.
        let (_, _, weights) = from.matrix(&format!("{name}.weight"))?;
        let (weight, scale) = match weights[..] {
            [weight] => (weight, 1.0),
            [weight, scale] => (weight, scale),
            _ => return Err(Error::file(format!("{name}.weight has the wrong length"))),
        };
        let total = |j| panel_of(totals.as_faer().subcols(j, 1));
        let sums = Self {
            gram: load("gram", m)?,
            cross: load("cross", m)?,
            gram_next: load("next", m)?,
            total: total(0),
            total_next: total(1),
            weight,
            count: from.counts::<1>(&format!("{name}.count"))?[0],
            scale,
        };
        let scaled = sums.scale > 0.0 && sums.scale <= 1.0;
        if m > most || !scaled || sums.weight.is_nan() || sums.weight < 0.0 {
            return Err(Error::file(format!("{name} are no sums over pairs")));
        }
        Ok(sums)
    }
}

fn panel_of(matrix: MatRef<'_, f64>) -> Panel {
    let mut panel = Panel::zeros(matrix.nrows(), matrix.ncols());
    panel.as_faer_mut().copy_from(matrix);
    panel
}
