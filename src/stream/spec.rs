//! A whole model as it is written down.

use serde::{Deserialize, Serialize};

use super::{AnyStream, Stream};
use crate::basis::BasisSpec;
use crate::error::Result;
use crate::kernel::KernelSpec;
use crate::learner::LearnerSpec;
use crate::persist::parse_text;

/// Kernel, basis and learner: any cell of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSpec {
    /// Similarity of points.
    pub kernel: KernelSpec,
    /// Which points become coordinates.
    pub basis: BasisSpec,
    /// How weights on coordinates are learned.
    pub learner: LearnerSpec,
}

impl ModelSpec {
    /// The specification in this JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        parse_text("model", json)
    }

    /// A model that has seen nothing yet: all parameters checked.
    pub fn build(&self) -> Result<AnyStream> {
        self.kernel.resolve(0)?;
        Ok(Stream::new(self.basis.build(&self.kernel)?, self.learner.build()?))
    }
}
