//! Specifications of bases, for model files, the command line and Python.

use serde::{Deserialize, Serialize};

use super::{FourierSpec, KorsSpec, Nested, SketchedSpec};
use crate::error::{Error, Result, in_range};
use crate::kernel::KernelSpec;

fn default_tolerance() -> f64 {
    1e-3
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the field")]
fn default_max_size() -> Option<usize> {
    Some(500)
}

fn default_noise() -> f64 {
    0.1
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the field")]
fn default_noisy_points() -> Option<usize> {
    Some(4000)
}

fn default_first_points() -> usize {
    100
}

fn default_degree() -> usize {
    2
}

/// A basis and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum BasisSpec {
    /// See [`Nested::ald`].
    Ald {
        /// Largest unexplained share of a point, from 0 to below 1.
        #[serde(default = "default_tolerance")]
        tolerance: f64,
        /// Most points stored; no limit if `None`.
        #[serde(default = "default_max_size")]
        max_size: Option<usize>,
        /// Only points whose loss is not zero.
        #[serde(default)]
        loss_driven: bool,
    },
    /// See [`Nested::all_points`].
    AllPoints {
        /// Most points stored; no limit if `None`.
        #[serde(default)]
        max_size: Option<usize>,
        /// Only points whose loss is not zero.
        #[serde(default)]
        loss_driven: bool,
    },
    /// See [`Nested::noisy_points`].
    NoisyPoints {
        /// Addition to each point's similarity to itself, positive.
        #[serde(default = "default_noise")]
        noise: f64,
        /// Most points stored; no limit if `None`.
        #[serde(default = "default_noisy_points")]
        max_size: Option<usize>,
        /// Only points whose loss is not zero.
        #[serde(default)]
        loss_driven: bool,
    },
    /// The first points of the stream, up to `size` of them.
    FirstPoints {
        /// Number of points.
        #[serde(default = "default_first_points")]
        size: usize,
        /// Only points whose loss is not zero.
        #[serde(default)]
        loss_driven: bool,
        /// Number of leading Nystrom features after all points are stored: see
        /// [`FirstPoints`](super::FirstPoints). All if `None`.
        #[serde(default)]
        rank: Option<usize>,
    },
    /// See [`Kors`](super::Kors).
    Kors(KorsSpec),
    /// See [`Taylor`](super::Taylor).
    Taylor {
        /// Largest degree of a function, from 0 to 20.
        #[serde(default = "default_degree")]
        degree: usize,
    },
    /// See [`Fourier`](super::Fourier).
    Fourier(FourierSpec),
    /// See [`Sketched`](super::Sketched).
    Sketched(SketchedSpec),
}

impl Default for BasisSpec {
    /// ALD at 1e-3, with at most 500 points, so that memory is constant on any stream.
    fn default() -> Self {
        Self::Ald { tolerance: default_tolerance(), max_size: default_max_size(), loss_driven: false }
    }
}

impl BasisSpec {
    /// Points admitted by approximate linear dependence, no limit to their number.
    #[must_use]
    pub fn ald(tolerance: f64) -> Self {
        Self::Ald { tolerance, max_size: None, loss_driven: false }
    }

    /// All points that the others do not explain to rounding.
    #[must_use]
    pub fn all_points() -> Self {
        Self::AllPoints { max_size: None, loss_driven: false }
    }

    /// The nested features of this basis, without points, with validated parameters. Only for bases
    /// of nested features.
    pub fn nested(&self, kernel: &KernelSpec) -> Result<Nested> {
        let (tolerance, max_size, loss_driven) = match *self {
            Self::Ald { tolerance, max_size, loss_driven } => (tolerance, max_size, loss_driven),
            Self::AllPoints { max_size, loss_driven } => (0.0, max_size, loss_driven),
            Self::FirstPoints { size, loss_driven, rank: None } => {
                let size = in_range("size", size, size > 0, "at least 1")?;
                (0.0, Some(size), loss_driven)
            }
            _ => {
                return Err(Error::Specification {
                    part: "basis",
                    reason: "only ald, all_points and first_points without a rank will do here".into(),
                });
            }
        };
        let mut basis = Nested::ald(kernel.clone(), tolerance)?;
        if let Some(most) = max_size {
            basis = basis.with_max_size(most)?;
        }
        Ok(basis.with_loss_driven(loss_driven))
    }
}
