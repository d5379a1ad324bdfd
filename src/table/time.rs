//! A column of times.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use crate::scale::Scale;

/// Features of a time, in seconds since any fixed moment, best 1970 in the time zone of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimePart {
    /// The time of the day.
    Day,
    /// The day of the week and the time.
    Week,
    /// The day of the year and the time.
    Year,
    /// The time since the first rows, standardized as a number. It is always outside the range
    /// seen, where a stationary kernel cannot extrapolate: for trends with a linear kernel, or to
    /// forget by distance.
    Elapsed,
    /// The same, within three deviations, where the rows of the warm-up do not come in the order of
    /// these times: dates of birth or of sale, and any times that were shuffled. Where rows come in
    /// their order, nothing.
    Trend,
}

/// Deviations within which a trend is known.
const LIMIT: f64 = 3.0;

impl TimePart {
    /// Period in seconds.
    fn period(self) -> Option<f64> {
        match self {
            Self::Day => Some(86_400.0),
            Self::Week => Some(7.0 * 86_400.0),
            Self::Year => Some(365.242_5 * 86_400.0),
            Self::Elapsed | Self::Trend => None,
        }
    }

    /// Number of features, where rows are `dated` or come in the order of time.
    pub(super) fn width(self, dated: bool) -> usize {
        match self {
            Self::Day | Self::Week | Self::Year => 2,
            Self::Elapsed => 1,
            Self::Trend => usize::from(dated),
        }
    }

    /// Whether it depends on the scale of the times.
    pub(super) fn is_scaled(self) -> bool {
        self.period().is_none()
    }

    /// Features of a time: sine and cosine of each period, so that midnight is beside midnight; all
    /// 0 in a gap.
    pub(super) fn encode(self, time: f64, elapsed: &Scale, out: &mut [f64]) {
        if time.is_nan() {
            out.fill(0.0);
            return;
        }
        match self.period() {
            Some(period) => {
                let angle = TAU * (time.rem_euclid(period) / period);
                (out[0], out[1]) = angle.sin_cos();
            }
            None if self == Self::Elapsed => out[0] = elapsed.apply(time),
            None => out.fill(elapsed.apply(time).clamp(-LIMIT, LIMIT)),
        }
    }
}
