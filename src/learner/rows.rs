//! Several rows for a learner at once.

use faer::MatRef;

/// Rows in the coordinates of a basis that none of them extends, or only those that are `novel`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Coordinates (b, dim).
    pub z: MatRef<'a, f64>,
    /// Targets (outputs, b), each column contiguous.
    pub y: MatRef<'a, f64>,
    /// How many times each row's loss counts; once if `None`.
    pub weights: Option<&'a [f64]>,
    /// Rows that would become coordinates; those beyond its end would not.
    pub novel: &'a [bool],
    /// Whether they would only if they change the learner.
    pub loss_driven: bool,
}

impl<'a> Rows<'a> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.z.nrows()
    }

    /// Whether there is none.
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

    /// Whether the block ends before row `i`, which becomes a coordinate.
    pub(super) fn ends_at(&self, i: usize, has_loss: impl FnOnce() -> bool) -> bool {
        self.novel.get(i).is_some_and(|novel| *novel) && (!self.loss_driven || has_loss())
    }
}
