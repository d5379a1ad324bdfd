//! A Cholesky factor that grows by appending.

use faer::linalg::triangular_solve;
use faer::{MatMut, Par};

use super::divided;
use super::loops::{self, padded};
use super::nugget::own_coordinate;
use super::panel::Panel;

/// The factor `L` of a growing Gram matrix with a [nugget](super::nugget()) on its diagonal, `K + D = L L'`.
///
/// Appending a point writes one row, `[z', own]`, and touches nothing else, so coordinates
/// `z = L^{-1} k` computed earlier stay valid when padded with zeros. Appending costs `m`
/// numbers, amortised; a solve reads `L` once. The factor is never refactorised and never
/// inverted: its error stays at rounding (Engel, Mannor and Meir, 2004, keep the inverse of `K`
/// instead, whose error grows with the condition of `K`).
#[derive(Clone, Debug, Default)]
pub struct GrowingCholesky {
    factor: Panel,
    /// `1 / L_ii`, padded with zeros.
    inverse_diagonal: Vec<f64>,
}

impl GrowingCholesky {
    /// Number of rows.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.factor.rows()
    }

    /// The factor itself, with zeros above the diagonal.
    #[must_use]
    pub fn factor(&self) -> &Panel {
        &self.factor
    }

    /// Says how many rows there will be at most: storage need grow no further.
    pub(crate) fn expect(&mut self, most: usize) {
        self.factor.expect_square(most);
    }

    /// Appends the row `[z', own]`, where `own` is the new point's [own coordinate](super::own_coordinate()), and
    /// returns it.
    ///
    /// `z` holds `dim` numbers or more (the rest is not read); `residual` is the squared distance of the new point to
    /// the span of the old ones, and `similarity`, which is positive, is `k(x, x)`.
    pub fn append(&mut self, z: &[f64], residual: f64, similarity: f64) -> f64 {
        debug_assert!(similarity > 0.0, "a point must be something in the feature space");
        let m = self.dim();
        let own = own_coordinate(m, residual, similarity);
        self.push(z[..m].iter().copied(), own);
        own
    }

    /// Appends the rows that `longer` has beyond this one's: the same factor, if it began as this one.
    pub(crate) fn follow(&mut self, longer: &Self) {
        for i in self.dim()..longer.dim() {
            let before: Vec<f64> = longer.factor.row(i).take(i).collect();
            self.push(before.into_iter(), longer.factor.get(i, i));
        }
    }

    /// Appends a row that ends with this on the diagonal.
    fn push(&mut self, before: impl Iterator<Item = f64>, diagonal: f64) {
        let m = self.dim();
        self.factor.grow_cols(m + 1);
        self.factor.push_row(before.chain(std::iter::once(diagonal)));
        self.inverse_diagonal.resize(padded(m + 1), 0.0);
        self.inverse_diagonal[m] = diagonal.recip();
    }

    /// The factor with these entries (row after row), if they make one: lower triangular with a
    /// positive diagonal.
    #[must_use]
    pub fn from_row_major(entries: &[f64], dim: usize) -> Option<Self> {
        if entries.len() != dim * dim || entries.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let mut factor = Self::default();
        for i in 0..dim {
            let row = &entries[i * dim..(i + 1) * dim];
            let above_zero = row[i + 1..].iter().all(|&v| v == 0.0);
            if row[i] <= 0.0 || !above_zero {
                return None;
            }
            factor.push(row[..i].iter().copied(), row[i]);
        }
        Some(factor)
    }

    /// `b = L^{-1} b` in place. `b` holds `padded(dim)` numbers, zeros beyond `dim`.
    pub fn solve(&self, b: &mut [f64]) {
        debug_assert_eq!(b.len(), padded(self.dim()));
        loops::solve_lower(self.factor.data(), self.factor.stride(), &self.inverse_diagonal, b);
    }

    /// `b = L^{-T} b` in place: from weights on coordinates to coefficients on points. `b` holds
    /// `padded(dim)` numbers, zeros beyond `dim`.
    pub fn solve_transposed(&self, b: &mut [f64]) {
        for j in (0..self.dim()).rev() {
            let tail = loops::dot(self.factor.col(j), b) - self.factor.get(j, j) * b[j];
            // Entries of `b` before j still hold the right-hand side, but there L is zero.
            b[j] = (b[j] - tail) * self.inverse_diagonal[j];
        }
    }

    /// `B = L^{-1} B` in place for a block of right-hand sides, by matrix products.
    pub fn solve_block(&self, b: MatMut<'_, f64>) {
        divided::solve_lower(self.factor.as_faer(), b);
    }

    /// `B = L^{-T} B` in place for a block of right-hand sides, by matrix products.
    pub fn solve_transposed_block(&self, b: MatMut<'_, f64>) {
        triangular_solve::solve_upper_triangular_in_place(self.factor.as_faer().transpose(), b, Par::Seq);
    }

    /// `L L' v`; `v` holds `padded(dim)` numbers, zeros beyond `dim`. O(m^2).
    pub(crate) fn times_own_transpose(&self, v: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; padded(self.dim())];
        for j in 0..self.dim() {
            let column = self.factor.col(j);
            loops::add_scaled(loops::dot(column, v), column, &mut out);
        }
        out
    }

    /// An estimate of the condition number of `L L'`, the ratio of its largest eigenvalue to its smallest, by power
    /// iteration with `L L'` and with its inverse: a lower bound, mostly within a factor of 2. O(m^2).
    #[must_use]
    pub fn condition(&self) -> Option<f64> {
        let m = self.dim();
        // From a vector without symmetry, so that it is orthogonal to no eigenvector that matters.
        let start = || {
            let mut v: Vec<f64> = (0..m).map(|i| 1.0 + 0.5 * (1.7 * i as f64).sin()).collect();
            v.resize(padded(m), 0.0);
            v
        };
        let largest = power_iteration(start(), |v| self.times_own_transpose(v));
        let inverse_of_smallest = power_iteration(start(), |v| {
            let mut solved = v.to_vec();
            self.solve(&mut solved);
            self.solve_transposed(&mut solved);
            solved
        });
        (m > 0).then(|| (largest * inverse_of_smallest).max(1.0))
    }

    /// Forgets all rows beyond the first `dim`.
    pub fn truncate(&mut self, dim: usize) {
        if dim < self.dim() {
            self.factor.truncate(dim, dim);
            self.inverse_diagonal.truncate(dim);
            self.inverse_diagonal.resize(padded(dim), 0.0);
        }
    }
}

/// Steps of a power iteration: an estimate of a condition number needs its order of magnitude.
const STEPS: usize = 8;

/// The largest eigenvalue of a positive definite matrix, of which `times` multiplies a vector by it, from below.
fn power_iteration(mut v: Vec<f64>, times: impl Fn(&[f64]) -> Vec<f64>) -> f64 {
    let mut size = 0.0;
    for _ in 0..STEPS {
        let norm = loops::dot(&v, &v).sqrt();
        for value in &mut v {
            *value /= norm;
        }
        v = times(&v);
        size = loops::dot(&v, &v).sqrt();
    }
    size
}
