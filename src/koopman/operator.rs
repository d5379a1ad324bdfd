//! The learner of an operator: a linear learner whose number of outputs may grow.

use faer::MatRef;

use super::sums::{BlockedSums, Weights};
use crate::error::{Error, Result, in_range, positive};
use crate::learner::{
    Gradient, History, Learner as _, LearnerFile, LearnerSpec, Loss, Prediction, Ridge, RidgeSpec, Rows,
    Schedule, apply,
};
use crate::linalg::{Coordinates, Panel};

/// Learns the next state and its coordinates from the coordinates of a state.
///
/// The first outputs are the features of the next state, the others its coordinates, so that new
/// coordinates are appended.
#[derive(Clone, Debug)]
pub(super) struct Operator {
    method: Method,
    /// Sums over the learned pairs, if requested.
    sums: Option<Box<BlockedSums>>,
}

#[derive(Clone, Debug)]
enum Method {
    LeastSquares(Box<Ridge>),
    Descent(Box<Gradient>),
}

impl Method {
    fn new(spec: &LearnerSpec) -> Result<Self> {
        match spec {
            LearnerSpec::Ridge(ridge) => {
                positive("regularization of an operator", ridge.regularization)?;
                in_range(
                    "prediction",
                    ridge.prediction,
                    ridge.prediction == Prediction::Ridge,
                    "ridge for an operator",
                )?;
                // An operator maps zero to zero, and its outputs have no range.
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
}

impl Operator {
    /// With sums over at most this many blocks of pairs; none if that is 0.
    pub fn new(spec: &LearnerSpec, n_blocks: usize) -> Result<Self> {
        let method = Method::new(spec)?;
        let sums = match &method {
            _ if n_blocks == 0 => None,
            Method::LeastSquares(ridge) => Some(BlockedSums::new(n_blocks, ridge.spec().forgetting)?),
            Method::Descent(_) => {
                return Err(Error::InvalidParameter {
                    name: "n_blocks",
                    value: n_blocks.to_string(),
                    requirement: "0 for gradient descent, which is no sum over pairs; take ridge",
                });
            }
        };
        Ok(Self { method, sums: sums.map(Box::new) })
    }

    /// This learner, with these sums over its pairs.
    pub fn of(ridge: Ridge, sums: Option<BlockedSums>) -> Self {
        Self { method: Method::LeastSquares(Box::new(ridge)), sums: sums.map(Box::new) }
    }

    pub fn spec(&self) -> LearnerSpec {
        match &self.method {
            Method::LeastSquares(ridge) => LearnerSpec::Ridge(ridge.spec().clone()),
            Method::Descent(gradient) => LearnerSpec::Gradient(gradient.spec().clone()),
        }
    }

    /// The learner, if it is determined by sums over pairs.
    pub fn least_squares(&self) -> Result<&Ridge> {
        match &self.method {
            Method::LeastSquares(ridge) => ridge.check_adds().map(|()| &**ridge),
            Method::Descent(_) => Err(Error::merge(
                "gradient descent depends on the order of the pairs; an operator by least squares (ridge) adds up",
            )),
        }
    }

    pub fn learner(&self) -> &dyn LearnerFile {
        match &self.method {
            Method::LeastSquares(ridge) => &**ridge,
            Method::Descent(gradient) => &**gradient,
        }
    }

    pub fn learner_mut(&mut self) -> &mut dyn LearnerFile {
        match &mut self.method {
            Method::LeastSquares(ridge) => &mut **ridge,
            Method::Descent(gradient) => &mut **gradient,
        }
    }

    /// The learner, if it takes gradient steps.
    pub fn descent_mut(&mut self) -> Option<&mut Gradient> {
        match &mut self.method {
            Method::LeastSquares(_) => None,
            Method::Descent(gradient) => Some(gradient),
        }
    }

    /// Sums over the pairs learned, if they are kept.
    pub fn sums(&self) -> Option<&BlockedSums> {
        self.sums.as_deref()
    }

    pub fn sums_mut(&mut self) -> Option<&mut BlockedSums> {
        self.sums.as_deref_mut()
    }

    /// The weights (coordinates of `x`, outputs) that determine the operator.
    pub fn estimate(&self) -> &Panel {
        match &self.method {
            Method::LeastSquares(ridge) => ridge.weights(),
            Method::Descent(gradient) => gradient.estimate(),
        }
    }

    /// Factor of `error z'` in the next round; 1 for least squares, which has no step.
    pub fn step(&self) -> f64 {
        match &self.method {
            Method::LeastSquares(_) => 1.0,
            Method::Descent(gradient) => gradient.next_gain(),
        }
    }

    /// Whether a round can fail on finite data.
    pub fn can_diverge(&self) -> bool {
        self.learner().can_diverge()
    }

    /// Whether it takes steps whose loss an admission rule can evaluate.
    pub fn descends(&self) -> bool {
        matches!(&self.method, Method::Descent(_))
    }

    /// Whether rounds can be processed by blocks.
    pub fn learns_blocks(&self) -> bool {
        self.learner().blocks_from() < usize::MAX
    }

    /// Stored states above which blocks are faster: fewer than with one output, since a row is more
    /// work (see `benches/koopman.rs`).
    pub fn blocks_from(&self) -> usize {
        self.learner().blocks_from() / 2
    }

    /// One round: from the coordinates `z`; the next state and its coordinates `s` are one
    /// `target`.
    pub fn learn(
        &mut self,
        z: &Coordinates,
        s: &Coordinates,
        target: &[f64],
        weight: f64,
        prediction: &mut [f64],
    ) -> Result<()> {
        self.learner_mut().learn(z, target, weight, prediction)?;
        if let Some(sums) = &mut self.sums {
            sums.add_one(z, s, weight);
        }
        Ok(())
    }

    /// Rounds at the rows of `z` with the columns of `y` as targets. False, with nothing changed,
    /// if a block is not possible: rows that are too large for it may still be learned one by one.
    pub fn learn_block(&mut self, z: MatRef<'_, f64>, y: MatRef<'_, f64>, weights: Weights<'_>) -> bool {
        let rows = Rows { z, y, weights, novel: &[], loss_driven: false, whole: true };
        let learned = self.learner_mut().learn_block(&rows, None).is_ok_and(|done| done == z.nrows());
        if let (true, Some(sums)) = (learned, &mut self.sums) {
            // The coordinates are the last outputs.
            sums.add_block(z, y.subrows(y.nrows() - z.ncols(), z.ncols()), weights);
        }
        learned
    }

    /// Prediction of the latest weights at `z`, into `out`.
    pub fn apply(&self, z: &Coordinates, out: &mut [f64]) {
        apply(self.learner().weights(), z, out);
    }

    /// One round, given the result of [`apply`](Self::apply).
    pub fn learn_from(&mut self, z: &Coordinates, target: &[f64], prediction: &mut [f64]) -> Result<()> {
        match &mut self.method {
            Method::LeastSquares(ridge) => ridge.learn(z, target, 1.0, prediction),
            Method::Descent(gradient) => gradient.learn_from(z, target, prediction),
        }
    }

    pub fn grow(&mut self, dim: usize, n_outputs: usize) {
        match &mut self.method {
            Method::LeastSquares(ridge) => {
                ridge.grow(dim);
                ridge.grow_outputs(n_outputs);
            }
            Method::Descent(gradient) => {
                gradient.grow(dim);
                gradient.grow_outputs(n_outputs);
            }
        }
    }

    /// Undoes [`grow`](Self::grow), after a round that failed.
    pub fn shrink(&mut self, dim: usize, n_outputs: usize) {
        match &mut self.method {
            Method::LeastSquares(ridge) => ridge.truncate(dim, n_outputs),
            Method::Descent(gradient) => gradient.truncate(dim, n_outputs),
        }
    }
}
