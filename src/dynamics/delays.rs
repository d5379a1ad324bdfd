//! Delay embedding.

use ndarray::{Array2, ArrayView2, CowArray, Ix2, s};

use super::{DelaysSpec, Dynamics};
use crate::error::{Error, Result};

/// Each state of a trajectory `x` (n, d) with enough predecessors, followed by these, the latest
/// first: (n - span, d (count + 1)).
pub(super) fn embedded<'a>(delays: &DelaysSpec, x: ArrayView2<'a, f64>) -> CowArray<'a, f64, Ix2> {
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

impl Dynamics {
    /// Each state of a trajectory `x` (n, d) with enough predecessors, followed by these, the
    /// latest first: (n - span, d (`n_delays` + 1)), the rows of all queries. Without delays the
    /// states themselves.
    pub fn embed(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let needed = self.spec.delays.span() + 1;
        if x.nrows() < needed {
            return Err(Error::ShortPast { needed, found: x.nrows() });
        }
        Ok(embedded(&self.spec.delays, x).into_owned())
    }
}
