//! Changes of coordinates.

use faer::Mat;

/// A change of the coordinates of all points.
#[derive(Clone, Debug)]
pub enum ChangeOfBasis {
    /// There are now `dim` unrelated coordinates: weights on the previous ones are useless.
    Restart {
        /// Their number.
        dim: usize,
    },
    /// The new coordinates are this matrix (new, old) times the old ones.
    Map(Mat<f64>),
}

impl ChangeOfBasis {
    /// Number of coordinates after the change.
    #[must_use]
    pub fn dim(&self) -> usize {
        match self {
            Self::Restart { dim } => *dim,
            Self::Map(map) => map.nrows(),
        }
    }
}
