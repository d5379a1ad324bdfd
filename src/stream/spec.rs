//! Specifications of whole models.

use serde::{Deserialize, Serialize};

use super::{AnyStream, Stream};
use crate::basis::BasisSpec;
use crate::error::{Error, Result};
use crate::kernel::KernelSpec;
use crate::learner::LearnerSpec;
use crate::persist::parse_text;

/// Kernel, basis and learner: any cell of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSpec {
    /// Similarity of points.
    pub kernel: KernelSpec,
    /// Stored points and their coordinates.
    pub basis: BasisSpec,
    /// How weights on coordinates are learned.
    pub learner: LearnerSpec,
}

impl ModelSpec {
    /// The specification in this JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        parse_text("model", json)
    }

    /// An untrained model, with validated parameters.
    pub fn build(&self) -> Result<AnyStream> {
        self.check()?;
        Ok(Stream::new(self.basis.build(&self.kernel)?, self.learner.build()?))
    }

    /// Refuses parts that do not suit each other.
    pub(super) fn check(&self) -> Result<()> {
        self.kernel.resolve(0)?;
        let meets_rows = matches!(self.learner, LearnerSpec::Interpolation(_));
        if meets_rows && !matches!(self.basis, BasisSpec::NoisyPoints { .. }) {
            return Err(Error::Specification {
                part: "learner",
                reason: "interpolation meets each row by a coordinate of its own, of points with noise: with the basis \
                         noisy_points only"
                    .into(),
            });
        }
        Ok(())
    }
}
