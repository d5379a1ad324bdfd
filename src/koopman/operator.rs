//! The learner of an operator: one of the linear learners whose outputs may grow too.

use faer::MatRef;

use crate::error::{Error, Result, in_range, positive};
use crate::learner::{
    Gradient, History, Learner as _, LearnerFile, LearnerSpec, Loss, Prediction, Ridge, RidgeSpec, Rows,
    Schedule, apply,
};
use crate::linalg::{Coordinates, Panel};

/// Learns the state and the coordinates of what follows from the coordinates of what was before.
///
/// The first outputs are the features of the next state, the others its coordinates, so that new
/// coordinates are appended.
#[derive(Clone, Debug)]
pub(super) enum Operator {
    LeastSquares(Box<Ridge>),
    Descent(Box<Gradient>),
}

impl Operator {
    pub fn new(spec: &LearnerSpec) -> Result<Self> {
        match spec {
            LearnerSpec::Ridge(ridge) => {
                positive("regularization of an operator", ridge.regularization)?;
                in_range(
                    "prediction",
                    ridge.prediction,
                    ridge.prediction == Prediction::Ridge,
                    "ridge for an operator",
                )?;
                // An operator maps zero to zero, and its outputs have no range of their own.
                let spec = RidgeSpec { center: false, clip: false, history: History::None, ..ridge.clone() };
                Ok(Self::LeastSquares(Box::new(Ridge::new(spec)?)))
            }
            LearnerSpec::Gradient(gradient) => {
                in_range(
                    "loss",
                    gradient.loss,
                    matches!(gradient.loss, Loss::Squared | Loss::HalfSquared),
                    "squared or half_squared for an operator",
                )?;
                in_range(
                    "schedule",
                    gradient.schedule,
                    !matches!(gradient.schedule, Schedule::Adaptive),
                    "constant, inverse_sqrt or power for an operator",
                )?;
                in_range("radius", gradient.radius, gradient.radius.is_none(), "None for an operator")?;
                Ok(Self::Descent(Box::new(Gradient::new(gradient.clone())?)))
            }
            other => Err(Error::InvalidParameter {
                name: "learner",
                value: format!("{other:?}"),
                requirement: "ridge or gradient for an operator",
            }),
        }
    }

    pub fn spec(&self) -> LearnerSpec {
        match self {
            Self::LeastSquares(ridge) => LearnerSpec::Ridge(ridge.spec().clone()),
            Self::Descent(gradient) => LearnerSpec::Gradient(gradient.spec().clone()),
        }
    }

    /// The learner, if it is made of sums over pairs, which add.
    pub fn least_squares(&self) -> Result<&Ridge> {
        match self {
            Self::LeastSquares(ridge) => ridge.check_adds().map(|()| &**ridge),
            Self::Descent(_) => Err(Error::merge(
                "gradient descent depends on the order of the pairs; an operator by least squares (ridge) adds up",
            )),
        }
    }

    pub fn learner(&self) -> &dyn LearnerFile {
        match self {
            Self::LeastSquares(ridge) => &**ridge,
            Self::Descent(gradient) => &**gradient,
        }
    }

    pub fn learner_mut(&mut self) -> &mut dyn LearnerFile {
        match self {
            Self::LeastSquares(ridge) => &mut **ridge,
            Self::Descent(gradient) => &mut **gradient,
        }
    }

    /// The weights (coordinates of `x`, outputs) that the operator is made of.
    pub fn estimate(&self) -> &Panel {
        match self {
            Self::LeastSquares(ridge) => ridge.weights(),
            Self::Descent(gradient) => gradient.estimate(),
        }
    }

    /// What multiplies `error z'` in the next round; 1 for least squares, which has no step.
    pub fn step(&self) -> f64 {
        match self {
            Self::LeastSquares(_) => 1.0,
            Self::Descent(gradient) => gradient.next_gain(),
        }
    }

    /// Whether a round can fail on finite data.
    pub fn can_diverge(&self) -> bool {
        self.learner().can_diverge()
    }

    /// Whether it goes by steps whose loss an admission rule can judge.
    pub fn descends(&self) -> bool {
        matches!(self, Self::Descent(_))
    }

    /// Whether rounds can be carried out a block at a time.
    pub fn learns_blocks(&self) -> bool {
        self.learner().blocks_from() < usize::MAX
    }

    /// Stored states from which on they are faster that way: fewer than where there is one output, since
    /// a row is more work (see `benches/koopman.rs`).
    pub fn blocks_from(&self) -> usize {
        self.learner().blocks_from() / 2
    }

    /// Rounds at the rows of `z` with the columns of `y` for targets. False, with nothing changed, where they
    /// cannot be carried out together: rows that are too large for it may still go one by one.
    pub fn learn_block(&mut self, z: MatRef<'_, f64>, y: MatRef<'_, f64>) -> bool {
        let rows = Rows { z, y, weights: None, novel: &[], loss_driven: false };
        self.learner_mut().learn_block(&rows, None).is_ok_and(|done| done == z.nrows())
    }

    /// What the latest weights make of `z`, into `out`.
    pub fn apply(&self, z: &Coordinates, out: &mut [f64]) {
        apply(self.learner().weights(), z, out);
    }

    /// One round, for a caller who knows what [`apply`](Self::apply) gives.
    pub fn learn_from(&mut self, z: &Coordinates, target: &[f64], prediction: &mut [f64]) -> Result<()> {
        match self {
            Self::LeastSquares(ridge) => ridge.learn(z, target, 1.0, prediction),
            Self::Descent(gradient) => gradient.learn_from(z, target, prediction),
        }
    }

    pub fn grow(&mut self, dim: usize, n_outputs: usize) {
        match self {
            Self::LeastSquares(ridge) => {
                ridge.grow(dim);
                ridge.grow_outputs(n_outputs);
            }
            Self::Descent(gradient) => {
                gradient.grow(dim);
                gradient.grow_outputs(n_outputs);
            }
        }
    }

    /// Takes back what [`grow`](Self::grow) appended, after a round that failed.
    pub fn shrink(&mut self, dim: usize, n_outputs: usize) {
        match self {
            Self::LeastSquares(ridge) => ridge.truncate(dim, n_outputs),
            Self::Descent(gradient) => gradient.truncate(dim, n_outputs),
        }
    }
}
