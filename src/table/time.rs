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
}

impl TimePart {
    /// Period in seconds.
    fn period(self) -> Option<f64> {
        match self {
            Self::Day => Some(86_400.0),
            Self::Week => Some(7.0 * 86_400.0),
            Self::Year => Some(365.242_5 * 86_400.0),
            Self::Elapsed => None,
        }
    }

    /// Number of features.
    pub(super) fn width(self) -> usize {
        if self.period().is_some() { 2 } else { 1 }
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
            None => out[0] = elapsed.apply(time),
        }
    }
}
