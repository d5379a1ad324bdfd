//! Orthonormal columns that are extended by new directions, rotated, and kept orthonormal.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use ndarray::ArrayView2;

use super::matrices::{at_least, towards_orthonormal};

/// What is left of a direction once the columns' part is taken out counts as rounding below this
/// part of it.
const NEGLIGIBLE: f64 = 1e-14;

/// "Twice is enough" (Kahan and Parlett): a projection that leaves at least half of a vector leaves it
/// orthogonal to rounding.
const ENOUGH: f64 = 0.5;

/// Most projections before a shrinking direction counts as lying in the span.
const MOST_PASSES: usize = 4;

/// Updates between two repairs of orthogonality.
pub const REPAIR: u64 = 64;

/// Rows rotated at a time: a block of them, and its image, fit in the cache.
const BLOCK: usize = 256;

/// `Q` (n, k) with orthonormal columns, and room behind them for further directions.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    columns: Mat<f64>,
    width: usize,
    /// Directions that the latest [`extend`](Self::extend) put behind the columns.
    added: usize,
    /// Coefficients (k + added, r) of those directions in the columns and the added directions.
    coefficients: Mat<f64>,
    /// One projection's coefficients.
    part: Mat<f64>,
    /// Norms of the directions at first, and after one projection.
    sizes: Vec<[f64; 2]>,
    block: Mat<f64>,
}

impl Frame {
    /// The first `width` columns of a matrix, which are orthonormal.
    pub fn new(columns: MatRef<'_, f64>, width: usize) -> Self {
        Self {
            columns: columns.subcols(0, width).to_owned(),
            width,
            added: 0,
            coefficients: Mat::new(),
            part: Mat::new(),
            sizes: Vec::new(),
            block: Mat::new(),
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.columns.nrows()
    }

    /// The columns (n, k).
    pub fn columns(&self) -> MatRef<'_, f64> {
        self.columns.get(.., ..self.width)
    }

    /// Makes room for `n` columns.
    fn reserve(&mut self, n: usize) {
        if self.columns.ncols() < n {
            self.columns.resize_with(self.len(), n, |_, _| 0.0);
        }
    }

    /// Splits directions `D` (n, r) into what lies in the span and what does not, `D = [Q, P] C` with
    /// `[Q, P]` orthonormal to rounding, and returns `C` (k + p, r). A direction of the span adds no
    /// column to `P`. The columns themselves stay as they are until [`rotate`](Self::rotate).
    pub fn extend(&mut self, directions: ArrayView2<'_, f64>) -> MatRef<'_, f64> {
        let (k, r) = (self.width, directions.ncols());
        self.reserve(k + r);
        at_least(&mut self.coefficients, k + r, r);
        at_least(&mut self.part, k + r, r);
        self.coefficients.get_mut(..k + r, ..r).fill(0.0);
        self.sizes.resize(self.sizes.len().max(r), [0.0; 2]);
        for (j, direction) in directions.columns().into_iter().enumerate() {
            for (to, from) in self.columns.col_as_slice_mut(k + j).iter_mut().zip(direction) {
                *to = *from;
            }
        }
        // Twice from all at once, by matrix products.
        for pass in 0..2 {
            for j in 0..r {
                self.sizes[j][pass] = self.columns.col(k + j).norm_l2();
            }
            self.project(0, k, k, r);
        }
        self.added = 0;
        for j in 0..r {
            if let Some(size) = self.isolate(j) {
                let to = k + self.added;
                self.coefficients[(to, j)] = size;
                for i in 0..self.len() {
                    self.columns[(i, to)] = self.columns[(i, k + j)] / size;
                }
                self.added += 1;
            }
        }
        self.coefficients.get(..k + self.added, ..r)
    }

    /// Makes direction `j` orthogonal to the columns and to what was added before it; its size, or
    /// nothing if it lies in their span.
    fn isolate(&mut self, j: usize) -> Option<f64> {
        let (k, [size, once]) = (self.width, self.sizes[j]);
        let mut before = self.columns.col(k + j).norm_l2();
        // After a sufficient second projection, only directions added since are projected out.
        let mut from = if before >= ENOUGH * once { k } else { 0 };
        for _ in 0..MOST_PASSES {
            self.project(from, k + self.added, k + j, 1);
            let after = self.columns.col(k + j).norm_l2();
            if after <= NEGLIGIBLE * size || after == 0.0 {
                return None;
            }
            if after >= ENOUGH * before {
                return Some(after);
            }
            (before, from) = (after, 0);
        }
        None
    }

    /// Takes the part along columns `from..to` out of the `count` columns from `at` on, and adds it to
    /// their coefficients.
    fn project(&mut self, from: usize, to: usize, at: usize, count: usize) {
        if from == to {
            return;
        }
        let j = at - self.width;
        let (known, rest) = self.columns.as_mut().split_at_col_mut(at);
        let known = known.as_ref().subcols(from, to - from);
        let mut rest = rest.subcols_mut(0, count);
        let mut part = self.part.get_mut(..to - from, ..count);
        matmul(part.as_mut(), Accum::Replace, known.transpose(), rest.as_ref(), 1.0, Par::Seq);
        matmul(rest.as_mut(), Accum::Add, known, part.as_ref(), -1.0, Par::Seq);
        let mut coefficients = self.coefficients.get_mut(from..to, j..j + count);
        coefficients += part.as_ref();
    }

    /// `Q <- [Q, P] R`, for `R` (k + p, k') with orthonormal columns.
    pub fn rotate(&mut self, by: MatRef<'_, f64>) {
        let (inner, width) = by.shape();
        self.reserve(inner.max(width));
        at_least(&mut self.block, BLOCK, width);
        for start in (0..self.len()).step_by(BLOCK) {
            let rows = BLOCK.min(self.len() - start);
            let mut block = self.block.get_mut(..rows, ..width);
            let mut here = self.columns.as_mut().subrows_mut(start, rows);
            matmul(block.as_mut(), Accum::Replace, here.as_ref().subcols(0, inner), by, 1.0, Par::Seq);
            here.as_mut().subcols_mut(0, width).copy_from(block.as_ref());
        }
        (self.width, self.added) = (width, 0);
    }

    /// `Q <- [Q R; B]`, where `R` and `B` are the first `k` rows of `by` and the others.
    pub fn rotate_and_append(&mut self, by: MatRef<'_, f64>) {
        let (old, appended) = (self.len(), by.nrows() - self.width);
        let (top, bottom) = by.split_at_row(self.width);
        self.rotate(top);
        // Twice the room, so that single rows are not copied each time.
        if old + appended > self.columns.as_ref().col_stride().unsigned_abs() {
            self.columns.reserve(2 * old + appended, self.columns.ncols());
        }
        let width = self.width;
        self.columns.resize_with(old + appended, self.columns.ncols(), |i, j| {
            if j < width { bottom[(i - old, j)] } else { 0.0 }
        });
    }

    /// Frobenius norm of `Q'Q - I`.
    pub fn defect(&self) -> f64 {
        let columns = self.columns();
        (columns.transpose() * columns - Mat::<f64>::identity(self.width, self.width)).norm_l2()
    }

    /// Makes columns that are orthonormal but for accumulated rounding orthonormal again.
    pub fn repair(&mut self) {
        let k = self.width;
        at_least(&mut self.coefficients, k, k);
        towards_orthonormal(self.columns.get(.., ..k), self.coefficients.get_mut(..k, ..k));
        let step = std::mem::replace(&mut self.coefficients, Mat::new());
        self.rotate(step.get(..k, ..k));
        self.coefficients = step;
    }
}
