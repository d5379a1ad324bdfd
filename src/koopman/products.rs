//! Products of matrices, one thread each; real times complex by two real products.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par, c64};

/// `a b`
pub(super) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}

/// `out += a b`
pub(super) fn add_product(out: &mut Mat<f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    matmul(out.as_mut(), Accum::Add, a, b, 1.0, Par::Seq);
}

/// `a b` for a real `a` and a complex `b`.
pub(super) fn real_times_complex(a: MatRef<'_, f64>, b: MatRef<'_, c64>) -> Mat<c64> {
    let part = |of: fn(&c64) -> f64| {
        let b = Mat::from_fn(b.nrows(), b.ncols(), |i, j| of(&b[(i, j)]));
        product(a, b.as_ref())
    };
    let (re, im) = (part(|v| v.re), part(|v| v.im));
    Mat::from_fn(re.nrows(), re.ncols(), |i, j| c64::new(re[(i, j)], im[(i, j)]))
}

/// `a b`, both complex.
pub(super) fn complex_product(a: MatRef<'_, c64>, b: MatRef<'_, c64>) -> Mat<c64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, c64::new(1.0, 0.0), Par::Seq);
    out
}
