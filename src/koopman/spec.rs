//! Serializable specification of operators.

use serde::{Deserialize, Serialize};

use super::admission::HilbertSchmidt;
use crate::basis::BasisSpec;
use crate::error::{Result, in_range};
use crate::kernel::KernelSpec;
use crate::learner::{LearnerSpec, RidgeSpec};
use crate::persist::parse_text;

/// Which points are stored, and in how many dictionaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DictionariesSpec {
    /// One dictionary over both states of every pair: admission point by point.
    Shared(BasisSpec),
    /// One dictionary of states `x` and one of states `x+`, admission pair by pair; either may be
    /// stored without the other.
    Separate(AdmissionSpec),
    /// The same, but a pair is stored whole or not at all (Hou et al., Algorithm 1).
    Paired(AdmissionSpec),
}

/// Which pairs are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AdmissionSpec {
    /// See [`HilbertSchmidt`].
    HilbertSchmidt(HilbertSchmidt),
}

impl AdmissionSpec {
    /// The test with its parameters checked.
    pub fn build(&self) -> Result<HilbertSchmidt> {
        match self {
            Self::HilbertSchmidt(test) => test.clone().checked(),
        }
    }
}

/// Parameters of a buffer that feeds pairs in shuffled order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaySpec {
    /// Pairs held until they are shuffled and learned, at least 1.
    pub size: usize,
    /// How often each pair is learned, from 1 to 1000.
    #[serde(default = "once")]
    pub passes: usize,
    /// Where the shuffling starts; the same seed gives the same order.
    #[serde(default)]
    pub seed: u64,
}

fn once() -> usize {
    1
}

impl ReplaySpec {
    pub(super) fn checked(self) -> Result<Self> {
        let size = self.size as u64;
        in_range("size", self.size, (1..=1 << 32).contains(&size), "from 1 to 2^32")?;
        in_range("passes", self.passes, (1..=1000).contains(&self.passes), "from 1 to 1000")?;
        Ok(self)
    }
}

/// Inputs that act on a system from outside: its states are followed by them in the rows learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlSpec {
    /// Numbers of an input, at least 1.
    pub width: usize,
    /// Similarity of inputs. It multiplies that of the states they act on.
    #[serde(default)]
    pub kernel: KernelSpec,
}

impl ControlSpec {
    pub(super) fn check(&self) -> Result<()> {
        in_range("n_inputs", self.width, (1..=1 << 16).contains(&self.width), "from 1 to 65536")?;
        self.kernel.resolve(self.width).map(|_| ())
    }

    /// The kernel of states followed by inputs.
    pub(crate) fn joint(&self, states: &KernelSpec) -> KernelSpec {
        KernelSpec::Product {
            first: Box::new(states.clone()),
            second: Box::new(self.kernel.clone()),
            second_width: Some(self.width),
        }
    }
}

/// A whole operator as it is written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KoopmanSpec {
    /// Similarity of states.
    pub kernel: KernelSpec,
    /// Which states are stored.
    pub dictionaries: DictionariesSpec,
    /// How the operator is learned: by ridge or by gradient.
    pub learner: LearnerSpec,
    /// Learn in shuffled order.
    pub replay: Option<ReplaySpec>,
    /// Inputs that act on the system, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlSpec>,
    /// Keep sums over the pairs learned, for the errors of eigenvalues, residuals and scores without further pairs: in
    /// at most this many blocks of the stream, 1 or from 8. 0: none.
    ///
    /// For least squares on one dictionary, without a replay buffer. `3 n_blocks m^2` numbers.
    #[serde(skip_serializing_if = "is_zero")]
    pub n_blocks: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Default for KoopmanSpec {
    /// Recursive least squares on one dictionary.
    fn default() -> Self {
        let learner = RidgeSpec { regularization: 1e-2, center: false, clip: false, ..RidgeSpec::default() };
        Self {
            kernel: KernelSpec::default(),
            dictionaries: DictionariesSpec::Shared(BasisSpec::default()),
            learner: LearnerSpec::Ridge(learner),
            replay: None,
            control: None,
            n_blocks: 0,
        }
    }
}

impl KoopmanSpec {
    /// The specification in this JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        parse_text("model", json)
    }
}
