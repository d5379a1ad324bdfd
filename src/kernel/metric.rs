//! Linear maps of the columns, after which points are compared.

use serde::{Deserialize, Serialize};

use super::shape::LARGEST;
use crate::error::{Error, Result, in_range};
use crate::linalg::{Panel, loops, padded};

/// Scale of the distance along each direction: `A` of `k(Ax, Ay)`.
///
/// An irrelevant column gets a small factor, an important one a large factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// One factor for each column: `diag(a)`, automatic relevance determination.
    Diagonal(Vec<f64>),
    /// The rows of `A` (r, d): combinations of columns.
    Full(Vec<Vec<f64>>),
}

impl Metric {
    /// Columns of a point; `None` of no row.
    #[must_use]
    pub fn width(&self) -> Option<usize> {
        match self {
            Self::Diagonal(factors) => Some(factors.len()),
            Self::Full(rows) => rows.first().map(Vec::len),
        }
    }

    /// Columns of a point that is mapped.
    pub(super) fn mapped_width(&self) -> usize {
        match self {
            Self::Diagonal(factors) => factors.len(),
            Self::Full(rows) => rows.len(),
        }
    }

    /// Refuses rows of different lengths, none, and numbers that are not finite or too large.
    pub(super) fn check(&self) -> Result<()> {
        let width = self.width().unwrap_or(0);
        in_range("metric", width, width > 0, "with at least one row and one column")?;
        let sound = |values: &[f64]| values.len() == width && values.iter().all(|v| v.abs() <= LARGEST);
        let sound = match self {
            Self::Diagonal(factors) => sound(factors),
            Self::Full(rows) => rows.iter().all(|row| sound(row)),
        };
        if sound {
            return Ok(());
        }
        Err(Error::InvalidParameter {
            name: "metric",
            value: "one with other entries".into(),
            requirement: "finite numbers, as many in each row",
        })
    }
}

/// A validated [`Metric`], in the layout of matrix products.
#[derive(Clone, Debug)]
pub(crate) enum Map {
    Diagonal(Vec<f64>),
    Full(Panel),
}

impl Map {
    pub fn new(metric: &Metric) -> Result<Self> {
        metric.check()?;
        Ok(match metric {
            Metric::Diagonal(factors) => Self::Diagonal(factors.clone()),
            Metric::Full(rows) => {
                Self::Full(Panel::from_row_major(&rows.concat(), rows.len(), rows[0].len()))
            }
        })
    }

    /// Columns of a point that is mapped.
    pub fn width(&self) -> usize {
        match self {
            Self::Diagonal(factors) => factors.len(),
            Self::Full(panel) => panel.rows(),
        }
    }

    /// `A x`, into `out`, overwriting it.
    pub fn apply(&self, x: &[f64], out: &mut Vec<f64>) {
        out.resize(padded(self.width()), 0.0);
        self.write(x, out);
        out.truncate(self.width());
    }

    /// `A x`, into the first numbers of `out`, which is padded.
    pub fn write(&self, x: &[f64], out: &mut [f64]) {
        match self {
            Self::Diagonal(factors) => {
                out.iter_mut().zip(x).zip(factors).for_each(|((out, x), factor)| *out = x * factor);
            }
            Self::Full(panel) => loops::multiply_narrow(panel.data(), panel.stride(), x, out),
        }
    }

    /// `A x`
    pub fn of(&self, x: &[f64]) -> Vec<f64> {
        let mut out = Vec::new();
        self.apply(x, &mut out);
        out
    }

    /// Adds `A' g` to `out`.
    pub fn add_transposed(&self, g: &[f64], out: &mut [f64]) {
        match self {
            Self::Diagonal(factors) => {
                out.iter_mut().zip(g).zip(factors).for_each(|((out, g), factor)| *out += g * factor);
            }
            Self::Full(panel) => {
                for (k, out) in out.iter_mut().enumerate() {
                    *out += panel.col(k).iter().zip(g).map(|(a, g)| a * g).sum::<f64>();
                }
            }
        }
    }
}
