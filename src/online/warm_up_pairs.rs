//! First pairs of states, on which the model is refitted when their number has doubled.

use ndarray::{ArrayView2, s};

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Pairs so far, in the user's units: states with inputs, and next states.
#[derive(Clone, Debug, Default)]
pub(crate) struct WarmUp {
    pairs: Vec<f64>,
    /// Numbers of a pair, and of its first state with inputs.
    width: usize,
    joint: usize,
}

impl WarmUp {
    pub fn len(&self) -> usize {
        self.pairs.len().checked_div(self.width).unwrap_or(0)
    }

    /// Number of pairs at the next refit: 2, 4, 8, ..., and the last.
    pub fn turn(&self, last: usize) -> usize {
        (self.len() + 1).next_power_of_two().max(2).min(last)
    }

    pub fn keep(&mut self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>) {
        (self.joint, self.width) = (x.ncols(), x.ncols() + next.ncols());
        for (x, next) in x.rows().into_iter().zip(next.rows()) {
            self.pairs.extend(x);
            self.pairs.extend(next);
        }
    }

    /// All pairs: (n, d + k) and (n, d).
    pub fn pairs(&self) -> (ArrayView2<'_, f64>, ArrayView2<'_, f64>) {
        let all = ArrayView2::from_shape((self.len(), self.width), &self.pairs)
            .unwrap_or_else(|_| unreachable!("pairs were kept whole"));
        (all.slice_move(s![.., ..self.joint]), all.slice_move(s![.., self.joint..]))
    }

    pub fn write(&self, out: &mut Writer) {
        out.counts("warm_up.joint", &[self.joint as u64]);
        out.matrix("warm_up.pairs", self.len(), self.width, &self.pairs);
    }

    /// Reads what [`write`](Self::write) wrote: pairs with this many numbers.
    pub fn read(from: &Reader<'_>, inputs: usize) -> Result<Self> {
        let [joint] = from.counts("warm_up.joint")?;
        let (_, width, pairs) = from.matrix("warm_up.pairs")?;
        let joint = usize::try_from(joint).ok().filter(|joint| 2 * joint == width + inputs);
        let joint = joint.ok_or_else(|| Error::file("warm_up.pairs are no pairs of states"))?;
        Ok(Self { pairs, width, joint })
    }
}
