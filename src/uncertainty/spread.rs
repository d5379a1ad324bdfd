//! In what proportion errors are expected.

/// What is to be known of the size of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spread {
    /// The standard deviation, as far as the model is right: that of a Gaussian process. Only of models that
    /// [know](crate::model::Model::knows_deviation) it.
    Deviation,
    /// What intervals are in proportion to, of every model. It grows with the root of what a deviation has beyond the
    /// noise: how far a function varies where no row was, the regularization says, which is chosen for predictions. On
    /// seven tables intervals in proportion to the deviation were 12 percent wider.
    Interval,
}

impl Spread {
    /// How many deviations of the noise it is, at a prediction whose variance is so many times that of the noise.
    pub(crate) fn at(self, leverage: f64) -> f64 {
        self.squared_at(leverage).sqrt()
    }

    /// The square of it.
    pub(crate) fn squared_at(self, leverage: f64) -> f64 {
        match self {
            Self::Deviation => 1.0 + leverage,
            Self::Interval => (1.0 + leverage).sqrt(),
        }
    }
}
