//! Bases as they are written down: in a model file, on a command line, in Python.

use serde::{Deserialize, Serialize};

use super::{Basis, Nested};
use crate::error::{Result, in_range};
use crate::kernel::KernelSpec;

fn default_floor() -> f64 {
    Nested::PIVOT_FLOOR
}

/// A basis and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum BasisSpec {
    /// See [`Nested::ald`].
    Ald {
        /// Share of a point that the stored ones may leave unexplained, from 0 to below 1.
        tolerance: f64,
        /// Most points stored; no limit if `None`.
        #[serde(default)]
        max_size: Option<usize>,
        /// Smallest share of a point that may become a coordinate.
        #[serde(default = "default_floor")]
        pivot_floor: f64,
    },
    /// See [`Nested::all_points`].
    AllPoints {
        /// Most points stored; no limit if `None`.
        #[serde(default)]
        max_size: Option<usize>,
        /// Smallest share of a point that may become a coordinate.
        #[serde(default = "default_floor")]
        pivot_floor: f64,
    },
    /// The first points of the stream, up to `size` of them.
    FirstPoints {
        /// How many.
        size: usize,
        /// Smallest share of a point that may become a coordinate.
        #[serde(default = "default_floor")]
        pivot_floor: f64,
    },
}

impl Default for BasisSpec {
    /// ALD at 1e-3, with at most 500 points, so that memory is constant on any stream.
    fn default() -> Self {
        Self::Ald { tolerance: 1e-3, max_size: Some(500), pivot_floor: Nested::PIVOT_FLOOR }
    }
}

impl BasisSpec {
    /// The basis, empty: parameters checked.
    pub fn build(&self, kernel: &KernelSpec) -> Result<Box<dyn Basis>> {
        Ok(Box::new(self.nested(kernel)?))
    }

    /// The nested features that this basis is made of, empty: parameters checked.
    pub fn nested(&self, kernel: &KernelSpec) -> Result<Nested> {
        let (tolerance, max_size, pivot_floor) = match self {
            Self::Ald { tolerance, max_size, pivot_floor } => (*tolerance, *max_size, *pivot_floor),
            Self::AllPoints { max_size, pivot_floor } => (0.0, *max_size, *pivot_floor),
            Self::FirstPoints { size, pivot_floor } => {
                (0.0, Some(in_range("size", *size, *size > 0, "at least 1")?), *pivot_floor)
            }
        };
        let mut basis = Nested::ald(kernel.clone(), tolerance)?.with_pivot_floor(pivot_floor)?;
        if let Some(most) = max_size {
            basis = basis.with_max_size(most)?;
        }
        Ok(basis)
    }
}
