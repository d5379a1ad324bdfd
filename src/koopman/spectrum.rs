//! Eigenvalues and eigenfunctions of an operator.

use std::cmp::Ordering;
use std::sync::Arc;

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, evd_real, evd_scratch};
use faer::linalg::solvers::Solve as _;
use faer::{Mat, MatRef, Par, Spec, c64};

use super::products::{complex_product, product, real_times_complex};
use crate::error::{Error, Result, in_range};
use crate::interrupt::aside;
use crate::linalg::spanned;

/// Two moduli closer than this, relative to the largest, are the same for sorting.
const SAME: f64 = 1e-10;

/// Eigenvalues of an operator by descending modulus, with its eigenfunctions.
///
/// For equal moduli the larger real part comes first; a conjugate pair is adjacent, with positive
/// imaginary part first. Each right eigenfunction has mean square 1 over the stored states, and its
/// mean over them with weights 1, 1/2, 1/4, ... is real and positive: stored points stay, so sign
/// and phase are constant along the stream.
#[derive(Clone, Debug)]
pub struct Spectrum {
    values: Vec<c64>,
    /// Columns `v`: the eigenfunction is `z(x)' v`.
    right: Mat<c64>,
    /// Columns `w` with `w' K = value w'`, of any length.
    left: Mat<c64>,
}

impl Spectrum {
    /// The spectrum of the matrix `K` that takes the coordinates of a function to those of its
    /// expectation one step later. Rows of `points` are the coordinates of the stored states.
    pub(super) fn of(matrix: MatRef<'_, f64>, points: MatRef<'_, f64>) -> Result<Self> {
        // An operator of functions: those that are zero everywhere have no part in it.
        let Some(basis) = spanned(points) else { return Self::of_functions(matrix, points) };
        let inner = product(basis.transpose(), product(matrix, basis.as_ref()).as_ref());
        let within = Self::of_functions(inner.as_ref(), product(points, basis.as_ref()).as_ref())?;
        let whole = |vectors: &Mat<c64>| real_times_complex(basis.as_ref(), vectors.as_ref());
        Ok(Self { right: whole(&within.right), left: whole(&within.left), values: within.values })
    }

    fn of_functions(matrix: MatRef<'_, f64>, points: MatRef<'_, f64>) -> Result<Self> {
        let m = matrix.nrows();
        if m == 0 {
            return Ok(Self { values: Vec::new(), right: Mat::zeros(0, 0), left: Mat::zeros(0, 0) });
        }
        let (matrix, lengths) = balanced(matrix);
        let (mut re, mut im) = (Diag::zeros(m), Diag::zeros(m));
        let (mut left, mut right) = (Mat::zeros(m, m), Mat::zeros(m, m));
        let both = ComputeEigenvectors::Yes;
        let need = evd_scratch::<f64>(m, both, both, Par::Seq, Spec::default());
        evd_real(
            matrix.as_ref(),
            re.as_mut(),
            im.as_mut(),
            Some(left.as_mut()),
            Some(right.as_mut()),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(need)),
            Spec::default(),
        )
        .map_err(|error| Error::Spectrum { reason: format!("the iteration failed: {error:?}") })?;
        scale_rows(&mut right, &im, &lengths);
        scale_rows(&mut left, &im, &lengths.iter().map(|length| -length).collect::<Vec<_>>());

        // A pair stands in two columns: real and imaginary part of the first one's vector.
        let mut groups = Vec::with_capacity(m);
        let mut j = 0;
        while j < m {
            let value = c64::new(re[j], im[j]);
            groups.push((value, j));
            j += if value.im == 0.0 { 1 } else { 2 };
        }
        let largest = groups.iter().map(|(value, _)| value.norm()).fold(0.0, f64::max);
        groups.sort_by(|(a, _), (b, _)| order(*a, *b, SAME * largest));

        let functions = product(points, right.as_ref());
        let mut out = Self { values: Vec::with_capacity(m), right: Mat::zeros(m, m), left: Mat::zeros(m, m) };
        for (value, j) in groups {
            let size = if value.im == 0.0 { 1 } else { 2 };
            let k = out.values.len();
            // The imaginary parts that belong to the value of positive imaginary part.
            let sign = if value.im < 0.0 { -1.0 } else { 1.0 };
            let vector =
                |of: &Mat<f64>, i| c64::new(of[(i, j)], if size == 2 { sign * of[(i, j + 1)] } else { 0.0 });
            let values: Vec<c64> = (0..functions.nrows()).map(|i| vector(&functions, i)).collect();
            let scale = scale(&values);
            for i in 0..m {
                out.right[(i, k)] = vector(&right, i) * scale;
                // The left vectors of the solver are conjugated: u* K = value u*.
                out.left[(i, k)] = vector(&left, i).conj();
            }
            if size == 2 {
                for i in 0..m {
                    out.right[(i, k + 1)] = out.right[(i, k)].conj();
                    out.left[(i, k + 1)] = out.left[(i, k)].conj();
                }
            }
            let value = c64::new(value.re, value.im.abs());
            out.values.push(value);
            out.values.extend((size == 2).then(|| value.conj()));
        }
        let sound =
            |of: &Mat<c64>| of.col_iter().all(|c| c.iter().all(|v| v.re.is_finite() && v.im.is_finite()));
        if out.values.iter().all(|v| v.norm().is_finite()) && sound(&out.right) && sound(&out.left) {
            Ok(out)
        } else {
            Err(Error::Spectrum { reason: "its numbers overflow".to_owned() })
        }
    }

    /// The eigenvalues.
    #[must_use]
    pub fn values(&self) -> &[c64] {
        &self.values
    }

    /// Right eigenvectors in coordinates, as columns: the eigenfunction is `z(x)' v`.
    #[must_use]
    pub fn right(&self) -> MatRef<'_, c64> {
        self.right.as_ref()
    }

    /// `rank`, or one more where that would part a conjugate pair.
    #[must_use]
    pub fn whole(&self, rank: usize) -> usize {
        let rank = rank.min(self.values.len());
        match rank.checked_sub(1).map(|last| self.values[last].im) {
            Some(im) if im > 0.0 => rank + 1,
            _ => rank,
        }
    }

    /// The functionals dual to the first `k` eigenfunctions, as rows (k, m): applied to the
    /// coordinates of a function of their span, they give its components. `k` parts no pair.
    pub fn duals(self: &Arc<Self>, k: usize) -> Result<Mat<c64>> {
        in_range("k", k, k <= self.values.len(), "at most the number of eigenvalues")?;
        let spectrum = Arc::clone(self);
        aside(move || spectrum.solve_duals(k))?
    }

    fn solve_duals(&self, k: usize) -> Result<Mat<c64>> {
        let left = self.left.get(.., ..k).transpose();
        // Left and right vectors of different eigenvalues are orthogonal but for rounding, which
        // the inverse of their small Gram matrix takes away; it also sets the lengths.
        let mut gram = complex_product(left, self.right.get(.., ..k));
        let mut left = left.to_owned();
        for i in 0..k {
            let own = gram[(i, i)];
            if own.norm() == 0.0 {
                continue;
            }
            for j in 0..k {
                gram[(i, j)] /= own;
            }
            for j in 0..left.ncols() {
                left[(i, j)] /= own;
            }
        }
        let duals = gram.partial_piv_lu().solve(&left);
        let identity = complex_product(duals.as_ref(), self.right.get(.., ..k));
        let is_dual = |i, j| (identity[(i, j)] - if i == j { 1.0 } else { 0.0 }).norm() < 1e-6;
        if (0..k).all(|i| (0..k).all(|j| is_dual(i, j))) {
            Ok(duals)
        } else {
            let reason = format!("the first {k} eigenfunctions are not independent; request fewer");
            Err(Error::Spectrum { reason })
        }
    }

    /// Values of the first `k` eigenfunctions at points whose coordinates are the rows of `z`.
    pub(super) fn at(&self, z: MatRef<'_, f64>, k: usize) -> Mat<c64> {
        real_times_complex(z, self.right.get(.., ..k))
    }
}

/// Entries below this share of the largest are zero: they are far below what the iteration rounds, and on numbers
/// that underflow it need not end.
const NOTHING: f64 = 1e-32;

/// Sweeps of balancing at most.
const SWEEPS: usize = 20;

/// `D^-1 K D` whose rows and columns have similar lengths, and the exponents of two on the diagonal of D.
///
/// B. Parlett, C. Reinsch, "Balancing a matrix for calculation of eigenvalues and eigenvectors", Numerische Mathematik,
/// 1969.
fn balanced(matrix: MatRef<'_, f64>) -> (Mat<f64>, Vec<f64>) {
    let (m, largest) = (matrix.nrows(), matrix.norm_max());
    let mut out = Mat::from_fn(m, m, |i, j| {
        let value = matrix[(i, j)];
        if value.abs() < NOTHING * largest { 0.0 } else { value }
    });
    let mut lengths = vec![0.0; m];
    for _ in 0..SWEEPS {
        let mut changed = false;
        for (i, length) in lengths.iter_mut().enumerate() {
            let others = |value: &dyn Fn(usize) -> f64| {
                (0..m).filter(|j| *j != i).map(|j| value(j).powi(2)).sum::<f64>().sqrt()
            };
            let (row, column) = (others(&|j| out[(i, j)]), others(&|j| out[(j, i)]));
            if row == 0.0 || column == 0.0 {
                continue;
            }
            let exponent = (0.5 * (row / column).log2()).round();
            let factor = exponent.exp2();
            if row / factor + column * factor < 0.95 * (row + column) {
                changed = true;
                *length += exponent;
                (0..m).for_each(|j| out[(i, j)] /= factor);
                (0..m).for_each(|j| out[(j, i)] *= factor);
            }
        }
        if !changed {
            break;
        }
    }
    (out, lengths)
}

/// Multiplies each row by two to the power of its exponent, and each vector by a number by which none overflows: the two
/// columns of a conjugate pair by the same.
fn scale_rows(vectors: &mut Mat<f64>, im: &Diag<f64>, exponents: &[f64]) {
    if exponents.iter().all(|exponent| *exponent == 0.0) {
        return;
    }
    let mut j = 0;
    while j < exponents.len() {
        let size = if im[j] == 0.0 { 1 } else { 2 };
        let mut columns = vectors.subcols_mut(j, size);
        let sizes = exponents
            .iter()
            .enumerate()
            .map(|(i, exponent)| columns.as_ref().row(i).norm_max().log2() + exponent);
        let largest = sizes.fold(f64::NEG_INFINITY, f64::max);
        if largest > f64::NEG_INFINITY {
            for (i, exponent) in exponents.iter().enumerate() {
                let factor = (exponent - largest).exp2();
                // What is zero stays so, however large the factor.
                columns.as_mut().row_mut(i).iter_mut().filter(|v| **v != 0.0).for_each(|v| *v *= factor);
            }
        }
        j += size;
    }
}

/// By falling modulus; where these are the same, by falling real part.
fn order(a: c64, b: c64, same: f64) -> Ordering {
    let steps = |value: c64| if same > 0.0 { (value.norm() / same).round() } else { 0.0 };
    steps(b).total_cmp(&steps(a)).then(b.re.total_cmp(&a.re))
}

/// What a function with these values at the points is to be multiplied by, so that it has mean square 1 and a positive
/// weighted mean over the points, the earlier ones weighing more.
fn scale(values: &[c64]) -> c64 {
    let largest = values.iter().map(|f| f.norm()).fold(0.0, f64::max);
    if largest == 0.0 {
        return c64::new(1.0, 0.0);
    }
    let square: f64 = values.iter().map(|f| (f / largest).norm_sqr()).sum::<f64>() / values.len() as f64;
    let weighted = values.iter().rev().fold(c64::new(0.0, 0.0), |sum, f| sum * 0.5 + f / largest);
    // A mean of zero leaves the phase to the largest value.
    let phase = if weighted.norm() > 1e-9 {
        weighted / weighted.norm()
    } else {
        values.iter().find(|f| f.norm() >= largest).map_or(c64::new(1.0, 0.0), |f| f / f.norm())
    };
    phase.conj() / (largest * square.sqrt())
}
