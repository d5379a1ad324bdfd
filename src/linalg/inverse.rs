//! The inverse of a symmetric matrix that grows and receives low-rank additions.

use faer::linalg::matmul::{self, triangular::BlockStructure};
use faer::linalg::triangular_solve;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::loops;
use super::panel::{Panel, padded};

/// `P = A^{-1}` for a positive definite `A` that grows by coordinates and by `c v v'`.
///
/// Terms subtracted from `P` are products `u_i u_j` of one vector with itself, so `P` stays
/// symmetric to the last bit. (With `c p_i p_j` the skew part grows without bound under
/// forgetting.) One vector costs two passes over `P`: one to read, one to write.
#[derive(Clone, Debug, Default)]
pub struct SymmetricInverse {
    matrix: Panel,
    /// `sqrt(c) P v` of the latest update; kept here so that no row allocates.
    root: Vec<f64>,
}

impl SymmetricInverse {
    /// Number of coordinates.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.matrix.rows()
    }

    /// The inverse itself.
    #[must_use]
    pub fn matrix(&self) -> &Panel {
        &self.matrix
    }

    /// The inverse with these entries (row after row), if they are finite and symmetric.
    #[must_use]
    pub fn from_row_major(entries: &[f64], dim: usize) -> Option<Self> {
        let sound = entries.len() == dim * dim
            && entries.iter().all(|v| v.is_finite())
            && (0..dim).all(|i| {
                entries[i * dim + i] > 0.0
                    && (0..i).all(|j| entries[i * dim + j].to_bits() == entries[j * dim + i].to_bits())
            });
        sound.then(|| Self { matrix: Panel::from_row_major(entries, dim, dim), root: vec![0.0; padded(dim)] })
    }

    /// Appends coordinates whose part of `A` is `diagonal` times the identity, until there are `dim`.
    pub fn grow(&mut self, dim: usize, diagonal: f64) {
        for i in self.dim()..dim {
            self.append_zero_coordinate();
            self.matrix.set(i, i, diagonal.recip());
        }
    }

    fn append_zero_coordinate(&mut self) {
        let m = self.dim();
        self.matrix.grow_cols(m + 1);
        self.matrix.grow_rows(m + 1);
        self.root.resize(padded(m + 1), 0.0);
    }

    /// Appends a coordinate about which nothing is known but one observation `v`, whose last
    /// entry belongs to it: the limit of [`grow`](Self::grow) by `diagonal` and
    /// [`add`](Self::add) of `v` as `diagonal` goes to 0, with no cancellation on the way.
    ///
    /// `v` holds `padded(dim + 1)` numbers, the one at `dim` not zero. `pv` is scratch of that length.
    pub fn border(&mut self, v: &[f64], pv: &mut [f64]) {
        let m = self.dim();
        let last = v[m];
        let quadratic = if m == 0 { 0.0 } else { self.multiply(&v[..padded(m)], &mut pv[..padded(m)]) };
        // The entry of `v` for the new coordinate may sit in the padding of the old ones, where
        // P is zero: it adds nothing to the product.
        self.append_zero_coordinate();
        for (i, pv) in pv[..m].iter().enumerate() {
            let value = -pv / last;
            self.matrix.set(i, m, value);
            self.matrix.set(m, i, value);
        }
        self.matrix.set(m, m, (1.0 + quadratic) / (last * last));
    }

    /// `pv = P v`; returns `v' P v`. Both hold `padded(dim)` numbers.
    pub fn multiply(&self, v: &[f64], pv: &mut [f64]) -> f64 {
        debug_assert_eq!(v.len(), padded(self.dim()));
        debug_assert_eq!(pv.len(), padded(self.dim()));
        loops::multiply(self.matrix.data(), self.matrix.stride(), &v[..self.dim()], pv);
        loops::dot(v, pv)
    }

    /// `A <- keep A + weight v v'`, given `pv = P v` and `quadratic = v' P v` from
    /// [`multiply`](Self::multiply). `keep` is in (0, 1], `weight` is not negative.
    ///
    /// Returns the factor by which `pv` is to be multiplied to be the new `P v`.
    pub fn add(&mut self, keep: f64, weight: f64, pv: &[f64], quadratic: f64) -> f64 {
        let total = keep + weight * quadratic;
        // P' = (P - weight / total * pv pv') / keep
        let root = (weight / (total * keep)).sqrt();
        for (u, p) in self.root.iter_mut().zip(pv) {
            *u = root * p;
        }
        let stride = self.matrix.stride();
        loops::scale_and_subtract_outer(self.matrix.data_mut(), stride, keep.recip(), &self.root);
        total.recip()
    }

    /// `A <- A + V V'` for a block of columns `V` (dim by b), by matrix products (Woodbury).
    ///
    /// # Panics
    ///
    /// If `v` has not `dim` rows.
    pub fn add_block(&mut self, v: MatRef<'_, f64>) {
        let done = self.add_block_and_correct(v, Mat::zeros(v.ncols(), 0).as_mut());
        debug_assert!(done.is_some(), "the identity plus a positive semidefinite matrix");
    }

    /// [`add_block`](Self::add_block) that also helps to correct weights: of errors `E` (b by
    /// outputs) it makes `F`, and returns `U` such that `U F = P V E` with the new `P`.
    ///
    /// `None`, with nothing changed, if `I + V'PV` has no Cholesky factor to rounding, as may be for
    /// a huge `V`; one column at a time still works then.
    ///
    /// # Panics
    ///
    /// If `v` has not `dim` rows.
    pub fn add_block_and_correct(&mut self, v: MatRef<'_, f64>, errors: MatMut<'_, f64>) -> Option<Mat<f64>> {
        let (m, b) = (v.nrows(), v.ncols());
        assert_eq!(m, self.dim(), "a block must have as many rows as there are coordinates");
        if b == 0 || m == 0 {
            return Some(Mat::zeros(m, b));
        }
        let mut u = Mat::<f64>::zeros(m, b);
        matmul::matmul(u.as_mut(), Accum::Replace, self.matrix.as_faer(), v, 1.0, Par::Seq);
        let mut inner = Mat::<f64>::identity(b, b);
        matmul::matmul(inner.as_mut(), Accum::Add, v.transpose(), u.as_ref(), 1.0, Par::Seq);
        // I + V'PV = R R', U = P V R^{-T}: then P' = P - U U', symmetric by construction.
        let llt = inner.llt(faer::Side::Lower).ok()?;
        triangular_solve::solve_lower_triangular_in_place(llt.L(), u.as_mut().transpose_mut(), Par::Seq);
        triangular_solve::solve_lower_triangular_in_place(llt.L(), errors, Par::Seq);
        matmul::triangular::matmul(
            self.matrix.as_faer_mut(),
            BlockStructure::TriangularLower,
            Accum::Add,
            u.as_ref(),
            BlockStructure::Rectangular,
            u.transpose(),
            BlockStructure::Rectangular,
            -1.0,
            Par::Seq,
        );
        for j in 0..m {
            for i in j + 1..m {
                let value = self.matrix.get(i, j);
                self.matrix.set(j, i, value);
            }
        }
        Some(u)
    }

    /// Back to `A = diagonal I`, with as many coordinates as now.
    pub fn reset(&mut self, diagonal: f64) {
        self.matrix.clear();
        for i in 0..self.dim() {
            self.matrix.set(i, i, diagonal.recip());
        }
    }
}
