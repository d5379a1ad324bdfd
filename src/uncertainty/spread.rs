//! Scale of the expected error.

/// Which scale of errors is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spread {
    /// The standard deviation of a Gaussian process, as right as the model. Only for models with a
    /// [posterior](crate::model::Uncertainty::knows_deviation).
    Deviation,
    /// The scale of intervals, for every model: with the fourth root of the variance ratio instead
    /// of the square root, since the uncertainty away from the rows depends on the regularization,
    /// which is chosen for predictions. With deviations, intervals were 12 % wider on seven tables.
    Interval,
}

impl Spread {
    /// The scale in units of the noise deviation, for a prediction whose variance is this multiple
    /// of the noise variance.
    pub(crate) fn at(self, leverage: f64) -> f64 {
        self.squared_at(leverage).sqrt()
    }

    /// Its square.
    pub(crate) fn squared_at(self, leverage: f64) -> f64 {
        match self {
            Self::Deviation => 1.0 + leverage,
            Self::Interval => (1.0 + leverage).sqrt(),
        }
    }
}
