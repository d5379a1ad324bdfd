//! Losses of a forecast.

use serde::{Deserialize, Serialize};

use crate::error::{Result, positive};

/// How a forecast is judged, one output at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Loss {
    /// `(forecast - y)^2`
    #[default]
    Squared,
    /// `(forecast - y)^2 / 2`: the same with half the slope, for steps counted as papers on least mean
    /// squares count them.
    HalfSquared,
    /// `|forecast - y|`
    Absolute,
    /// Squared within this distance of the target and linear beyond it, with one slope at the seam.
    Huber(f64),
}

impl Loss {
    /// The loss with its parameter checked.
    pub fn checked(self) -> Result<Self> {
        if let Self::Huber(width) = self {
            positive("huber width", width)?;
        }
        Ok(self)
    }

    /// The loss of a forecast.
    #[must_use]
    pub fn value(self, forecast: f64, y: f64) -> f64 {
        let error = forecast - y;
        match self {
            Self::Squared => error * error,
            Self::HalfSquared => 0.5 * error * error,
            Self::Absolute => error.abs(),
            Self::Huber(width) if error.abs() <= width => error * error,
            Self::Huber(width) => width * (2.0 * error.abs() - width),
        }
    }

    /// Its derivative with respect to the forecast (0 at a kink).
    #[must_use]
    pub fn derivative(self, forecast: f64, y: f64) -> f64 {
        let error = forecast - y;
        match self {
            Self::Squared => 2.0 * error,
            Self::HalfSquared => error,
            Self::Absolute if error == 0.0 => 0.0,
            Self::Absolute => error.signum(),
            Self::Huber(width) => 2.0 * error.clamp(-width, width),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_slopes() {
        for loss in [Loss::Squared, Loss::HalfSquared, Loss::Absolute, Loss::Huber(0.7)] {
            for forecast in [-2.0, -0.3, 0.31, 0.95, 3.0] {
                let (y, h) = (0.2, 1e-6);
                let slope = (loss.value(forecast + h, y) - loss.value(forecast - h, y)) / (2.0 * h);
                assert!((slope - loss.derivative(forecast, y)).abs() < 1e-8, "{loss:?}");
            }
            assert!(loss.derivative(0.2, 0.2).abs() < f64::EPSILON);
        }
        assert!(Loss::Huber(0.0).checked().is_err());
    }
}
