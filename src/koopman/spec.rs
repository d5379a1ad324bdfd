//! Serializable specification of operators.

use serde::{Deserialize, Serialize};

use super::admission::HilbertSchmidt;
use crate::basis::BasisSpec;
use crate::error::{Result, in_range};
use crate::kernel::KernelSpec;
use crate::learner::{LearnerSpec, RidgeSpec};
use crate::persist::parse_text;

/// Stored points, and number of dictionaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DictionariesSpec {
    /// One dictionary over both states of every pair: admission point by point.
    Shared(BasisSpec),
    /// One dictionary of states `x` and one of states `x+`, admission pair by pair; either may be
    /// stored without the other.
    Separate(AdmissionSpec),
    /// The same, but both states of a pair are stored or none (Hou et al., Algorithm 1).
    Paired(AdmissionSpec),
}

/// Admission of pairs.
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

/// Parameters of a replay buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaySpec {
    /// Pairs per shuffle, at least 1.
    pub size: usize,
    /// How often each pair is learned, from 1 to 1000.
    #[serde(default = "once")]
    pub passes: usize,
    /// Seed of the order.
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

/// Inputs of a system, which follow the states in the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlSpec {
    /// Number of components of an input, at least 1.
    pub width: usize,
    /// Similarity of inputs, which multiplies that of the states.
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

/// How an operator of limited rank is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum RankSpec {
    /// Reduced-rank regression: of all operators of this rank the one that fits the learned pairs best.
    Reduced {
        /// The rank, at least 1.
        rank: usize,
    },
    /// Total least squares: the coordinates of both states are projected to a subspace of this rank before
    /// the fit, which removes the bias that noise of the observations has. On one dictionary.
    TotalLeastSquares {
        /// The rank, at least 1.
        rank: usize,
    },
}

impl RankSpec {
    /// The rank.
    #[must_use]
    pub fn rank(self) -> usize {
        match self {
            Self::Reduced { rank } | Self::TotalLeastSquares { rank } => rank,
        }
    }
}

/// Specification of an operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KoopmanSpec {
    /// Similarity of states.
    pub kernel: KernelSpec,
    /// Stored states.
    pub dictionaries: DictionariesSpec,
    /// Learner: ridge or gradient.
    pub learner: LearnerSpec,
    /// Replay buffer.
    pub replay: Option<ReplaySpec>,
    /// Inputs of the system, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlSpec>,
    /// Sums over the pairs learned, for standard errors of eigenvalues, and residuals and scores
    /// without further pairs: at most this many blocks of the stream, 1 or from 8. 0: none.
    ///
    /// For least squares on one dictionary, without a replay buffer. `3 n_blocks m^2` numbers.
    #[serde(skip_serializing_if = "is_zero")]
    pub n_blocks: usize,
    /// Limited rank of the operator, for every query but the predictions while learning. `None`: full
    /// rank.
    ///
    /// For least squares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<RankSpec>,
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
            rank: None,
        }
    }
}

impl KoopmanSpec {
    /// Most blocks of sums over the pairs: total least squares needs one.
    pub(super) fn blocks(&self) -> usize {
        match self.rank {
            Some(RankSpec::TotalLeastSquares { .. }) => self.n_blocks.max(1),
            _ => self.n_blocks,
        }
    }

    /// Refuses a rank that is zero or that the learner cannot have.
    pub(super) fn check_rank(&self, is_least_squares: bool) -> Result<()> {
        let Some(rank) = self.rank else { return Ok(()) };
        in_range("rank", rank.rank(), rank.rank() > 0, "at least 1")?;
        in_range("rank", rank.rank(), is_least_squares, "None for gradient descent; take ridge")?;
        let shared = self.control.is_none() && self.replay.is_none();
        if matches!(rank, RankSpec::TotalLeastSquares { .. }) {
            in_range("rank", rank.rank(), shared, "None or reduced with control inputs or a replay buffer")?;
        }
        Ok(())
    }

    /// The specification in this JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        parse_text("model", json)
    }
}
