//! Shapes of kernels: functions of one comparison of two points.

/// Similarities are kept below this, so that no sum of products of them can overflow.
pub(crate) const LARGEST: f64 = 1e50;

/// The comparison that a shape is a function of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// `|x - y|^2`
    SquaredDistance,
    /// `|x_1 - y_1| + |x_2 - y_2| + ...`
    ManhattanDistance,
    /// `x . y`
    InnerProduct,
}

impl Comparison {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::SquaredDistance, Self::ManhattanDistance, Self::InnerProduct];

    /// Compares two points of the same width.
    pub fn of(self, x: &[f64], y: &[f64]) -> f64 {
        let pairs = x.iter().zip(y);
        match self {
            Self::SquaredDistance => pairs.map(|(a, b)| (a - b) * (a - b)).sum(),
            Self::ManhattanDistance => pairs.map(|(a, b)| (a - b).abs()).sum(),
            Self::InnerProduct => pairs.map(|(a, b)| a * b).sum(),
        }
    }
}

/// The distribution whose Fourier transform a kernel of the distance is (Bochner's theorem).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SpectralDensity {
    /// Its scale.
    pub scale: f64,
    /// Degrees of freedom of Student's distribution; `None` for the normal one.
    pub freedom: Option<u64>,
}

/// How the similarity of all columns follows from those of single columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separation {
    /// It is their product.
    Product,
    /// It is their sum, up to a constant.
    Sum,
    /// It does not.
    None,
}

/// A positive definite function of one comparison of two points.
pub(super) trait Shape: std::fmt::Debug + Send + Sync {
    /// Its comparison.
    fn comparison(&self) -> Comparison;

    /// Turns comparisons into similarities, in place.
    fn apply(&self, values: &mut [f64]);

    /// The similarity of two points with this comparison.
    fn at(&self, comparison: f64) -> f64 {
        let mut value = [comparison];
        self.apply(&mut value);
        value[0]
    }

    /// Turns comparisons into derivatives of the similarity with respect to them, in place; 0 where there is none,
    /// of a point to itself.
    fn slopes(&self, values: &mut [f64]);

    /// How it follows from the similarities by groups of columns.
    fn separation(&self) -> Separation {
        Separation::None
    }

    /// The similarity of a point to itself, if it is the same for all points; `None` if it has no bound.
    fn diag(&self) -> Option<f64> {
        None
    }

    /// Density of the frequencies of random Fourier features; `None` if it has none.
    fn spectral_density(&self) -> Option<SpectralDensity> {
        None
    }
}
