//! The largest eigenpairs of a positive semidefinite matrix that receives symmetric low-rank updates.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use ndarray::{Array2, ArrayView2};

use super::arguments::{
    check_entries, check_shape, checked_rank, default_extra, descending, orthonormal, too_large,
};
use super::core::Core;
use super::frame::{Frame, REPAIR};
use super::matrices::{at_least, product};
use crate::error::{Error, Result, in_range};
use crate::linalg::arrays::from_array;

/// How far a matrix may be from symmetric, relative to its largest entry.
const SYMMETRIC: f64 = 1e-8;

/// The `k` largest eigenpairs of a positive semidefinite matrix (n, n) that changes,
/// `A ~ V diag(values) V'`.
///
/// ```
/// use kernelstream::linalg::TruncatedEigen;
/// use ndarray::array;
///
/// # fn main() -> kernelstream::Result<()> {
/// let a = array![[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1.0]];
/// let mut eigen = TruncatedEigen::from_matrix(a.view(), 2)?;
/// eigen.border(&[1.0, 0.0, 0.0], &[0.5, 0.2, 0.0], 1.0)?; // A + s u' + u s' + s s'
/// assert!(eigen.values()[0] > 5.0);
/// # Ok(())
/// # }
/// ```
///
/// The symmetric counterpart of [`TruncatedSvd`](super::TruncatedSvd), at about two thirds of the cost:
/// one set of vectors, and an eigendecomposition of size `k + r`. In each update the `k` largest
/// eigenvalues are kept, and those below zero, which rounding and truncation bring about, count as
/// zero; so `V diag(values)^1/2` are always features. [Some](super::default_extra) more are kept than are
/// shown.
#[derive(Clone, Debug)]
pub struct TruncatedEigen {
    rank: usize,
    vectors: Frame,
    values: Vec<f64>,
    rounds: u64,
    core: Core,
    /// The middle (r, r) of an update, and its product with the coefficients.
    middle: Mat<f64>,
    half: Mat<f64>,
    /// `s` and `u` of a border.
    pair: Vec<f64>,
}

impl TruncatedEigen {
    /// The `rank` largest eigenpairs of `a` (n, n), symmetric: `O(n^3)`, once. `rank` is 1 to n. Half as
    /// many again are kept, 10 or more.
    pub fn from_matrix(a: ArrayView2<'_, f64>, rank: usize) -> Result<Self> {
        Self::with_extra(a, rank, default_extra(rank))
    }

    /// The same with `extra` pairs kept beyond those shown, as far as `a` has them.
    pub fn with_extra(a: ArrayView2<'_, f64>, rank: usize, extra: usize) -> Result<Self> {
        let rank = checked_rank(rank)?;
        let n = a.nrows();
        check_shape("A", a, (n, n), "as many columns as rows")?;
        check_entries("A", a)?;
        in_range("rank", rank, rank <= n, "at most the number of rows of A")?;
        let largest = a.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        let skew = a.indexed_iter().fold(0.0_f64, |most, ((i, j), v)| most.max((v - a[(j, i)]).abs()));
        in_range("A", skew, skew <= SYMMETRIC * largest, "symmetric (the largest difference is given)")?;
        let mut core = Core::new();
        core.matrix(n, n).copy_from(from_array(a));
        let kept = rank.saturating_add(extra).min(n);
        let (values, vectors) = core.largest(n, kept).ok_or_else(|| too_large("A", a))?;
        let values = values.iter().map(|v| v.max(0.0)).collect();
        Ok(Self::holding(rank, Frame::new(vectors, kept), values, 0))
    }

    /// A decomposition from its parts: all `vectors` (n, k) and `values` (k,) that were [kept](Self::kept), of
    /// which `rank` are shown, and [`rounds`](Self::rounds).
    pub fn from_parts(
        rank: usize,
        vectors: ArrayView2<'_, f64>,
        values: &[f64],
        rounds: u64,
    ) -> Result<Self> {
        let k = values.len();
        in_range("rank", rank, (1..=k).contains(&rank), "1 to the number of values")?;
        check_shape("vectors", vectors, (vectors.nrows(), k), "one column for each value")?;
        let values = descending("values", values, k)?;
        Ok(Self::holding(rank, orthonormal("vectors", vectors)?, values, rounds))
    }

    fn holding(rank: usize, vectors: Frame, values: Vec<f64>, rounds: u64) -> Self {
        Self {
            rank,
            vectors,
            values,
            rounds,
            core: Core::new(),
            middle: Mat::new(),
            half: Mat::new(),
            pair: Vec::new(),
        }
    }

    /// Number of eigenpairs shown.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of rows of the matrix.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.vectors.len()
    }

    /// Eigenvalues, largest first, none below zero.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values[..self.rank]
    }

    /// Eigenvectors, the columns of `V` (n, k).
    #[must_use]
    pub fn vectors(&self) -> MatRef<'_, f64> {
        self.vectors.columns().subcols(0, self.rank)
    }

    /// All pairs kept, the extra ones too: vectors (n, k) and values (k,).
    #[must_use]
    pub fn kept(&self) -> (MatRef<'_, f64>, &[f64]) {
        (self.vectors.columns(), &self.values)
    }

    /// Number of updates so far, for the next repair of orthogonality.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Frobenius norm of `V'V - I`.
    #[must_use]
    pub fn orthogonality(&self) -> f64 {
        self.vectors.defect()
    }

    /// The matrix kept, `V diag(values) V'` (n, n).
    #[must_use]
    pub fn reconstruct(&self) -> Array2<f64> {
        product(self.vectors(), self.values(), self.vectors())
    }

    /// `A <- A + D M D'` for `directions` D (n, r) and `middle` M (r, r), of which the symmetric part
    /// counts.
    pub fn update(&mut self, directions: ArrayView2<'_, f64>, middle: ArrayView2<'_, f64>) -> Result<()> {
        let (n, r) = (self.dim(), directions.ncols());
        check_shape("D", directions, (n, r), "as many rows as A")?;
        check_shape("M", middle, (r, r), "as many rows and columns as D has columns")?;
        check_entries("D", directions)?;
        check_entries("M", middle)?;
        at_least(&mut self.middle, r, r);
        for ((i, j), value) in middle.indexed_iter() {
            self.middle[(i, j)] = 0.5 * (value + middle[(j, i)]);
        }
        if self.add(directions) { Ok(()) } else { Err(too_large("D", directions)) }
    }

    /// `A <- A + s u' + u s' + kappa s s'` for `s` and `u` of length n: what a sketch `S'KS` gains when
    /// the matrix `K` is bordered by one row and column with corner `kappa`, `S` by the row `s'`, and
    /// `u` is the sketch of the new column (Wen et al., 2024, appendix B.1, eq. 11).
    pub fn border(&mut self, s: &[f64], u: &[f64], kappa: f64) -> Result<()> {
        let (n, found) = (self.dim(), (s.len(), u.len()));
        if found != (n, n) {
            let why = "one entry for each row of A";
            return Err(Error::Shape { what: "s and u", found, needed: (n, n), why });
        }
        let mut pair = std::mem::take(&mut self.pair);
        pair.clear();
        pair.extend(s.iter().chain(u));
        let directions = ArrayView2::from_shape((2, n), &pair).unwrap_or_else(|_| unreachable!("two rows"));
        let middle = [kappa, 1.0, 1.0, 0.0];
        let middle = ArrayView2::from_shape((2, 2), &middle).unwrap_or_else(|_| unreachable!("two by two"));
        let done = self.update(directions.t(), middle);
        self.pair = pair;
        done
    }

    /// Adds directions with the middle that was laid out; false, with nothing changed, if the numbers
    /// are beyond bounds.
    fn add(&mut self, directions: ArrayView2<'_, f64>) -> bool {
        let (k, r) = (self.values.len(), directions.ncols());
        let coefficients = self.vectors.extend(directions);
        let p = coefficients.nrows();
        at_least(&mut self.half, p, r);
        let mut half = self.half.get_mut(..p, ..r);
        matmul(half.as_mut(), Accum::Replace, coefficients, self.middle.get(..r, ..r), 1.0, Par::Seq);
        let mut matrix = self.core.matrix(p, p);
        matmul(matrix.as_mut(), Accum::Replace, half.as_ref(), coefficients.transpose(), 1.0, Par::Seq);
        for (i, value) in self.values.iter().enumerate() {
            matrix[(i, i)] += value;
        }
        let Some((values, rotation)) = self.core.largest(p, k) else {
            return false;
        };
        for (to, from) in self.values.iter_mut().zip(values) {
            *to = from.max(0.0);
        }
        self.vectors.rotate(rotation);
        self.rounds += 1;
        if self.rounds.is_multiple_of(REPAIR) {
            self.vectors.repair();
        }
        true
    }
}
