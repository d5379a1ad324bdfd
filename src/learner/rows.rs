//! Several rows for a learner.

use faer::MatRef;

use crate::error::{Error, Result};

/// Coordinates of rows, none of which adds one, except those in `novel`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Coordinates (b, dim).
    pub z: MatRef<'a, f64>,
    /// Targets (outputs, b), each column contiguous.
    pub y: MatRef<'a, f64>,
    /// Weight of each row's loss; 1 if `None`.
    pub weights: Option<&'a [f64]>,
    /// Whether each row would become a coordinate; false beyond the end.
    pub novel: &'a [bool],
    /// Whether they become coordinates only if they change the learner.
    pub loss_driven: bool,
    /// Whether all are learned or none; otherwise the first of them may be learned without the others.
    pub whole: bool,
}

impl<'a> Rows<'a> {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.z.nrows()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    pub(super) fn target(&self, i: usize) -> &'a [f64] {
        self.y.col(i).try_as_col_major().map_or(&[], faer::ColRef::as_slice)
    }

    /// Whether the block ends before row `i`, which must be learned by itself: an error if it is the first, or all are
    /// learned or none.
    pub(super) fn end_before(&self, i: usize, error: Error) -> Result<()> {
        if self.whole || i == 0 { Err(error) } else { Ok(()) }
    }

    /// Whether the block ends before row `i`, which becomes a coordinate.
    pub(super) fn ends_at(&self, i: usize, has_loss: impl FnOnce() -> bool) -> bool {
        self.novel.get(i).is_some_and(|novel| *novel) && (!self.loss_driven || has_loss())
    }
}
