//! Delay embedding.

use ndarray::{Array2, ArrayView2, CowArray, Ix2, s};

use crate::dynamics::DelaysSpec;

/// Each state of a trajectory `x` (n, d) with enough predecessors, followed by these, the latest
/// first: (n - span, d (count + 1)).
pub fn embedded<'a>(delays: &DelaysSpec, x: ArrayView2<'a, f64>) -> CowArray<'a, f64, Ix2> {
    if delays.count == 0 {
        return x.into();
    }
    let (span, width) = (delays.span(), x.ncols());
    let mut out = Array2::zeros((x.nrows().saturating_sub(span), width * delays.blocks()));
    let rows = out.nrows();
    for block in 0..delays.blocks() {
        let first = span - block * delays.step;
        out.slice_mut(s![.., block * width..(block + 1) * width])
            .assign(&x.slice(s![first..first + rows, ..]));
    }
    out.into()
}
