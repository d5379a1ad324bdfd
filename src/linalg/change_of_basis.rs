//! From one set of coordinates to another.

use faer::Mat;

/// How the coordinates of all points changed, all at once.
#[derive(Clone, Debug)]
pub enum ChangeOfBasis {
    /// There are now `dim` coordinates that have nothing to do with those before: weights learned on
    /// those are worth nothing.
    Restart {
        /// How many there are.
        dim: usize,
    },
    /// The new coordinates are this matrix (new, old) times the old ones.
    Map(Mat<f64>),
}

impl ChangeOfBasis {
    /// How many coordinates there are now.
    #[must_use]
    pub fn dim(&self) -> usize {
        match self {
            Self::Restart { dim } => *dim,
            Self::Map(map) => map.nrows(),
        }
    }
}
