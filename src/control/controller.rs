//! The controller: transitions, current policy, and the policy that is kept.

use ndarray::{Array2, ArrayView2};

use super::iteration::{Improvement, iterate};
use super::policy::Policy;
use super::spec::ControllerSpec;
use crate::error::{Error, Result, in_range};
use crate::interrupt::aside;
use crate::koopman::Koopman;

/// Learns the response of a system to actions, and a policy of least discounted cost
/// `E[sum_t discount^t c(x_t, u_t)]`.
///
/// Learn transitions, then [`improve`](Self::improve) with the costs of the actions at the stored next
/// states, then act by the [`policy`](Self::policy); and again, as often as there are new transitions.
/// Policies of neighbouring stages differ a good deal: [`keep`](Self::keep) the best.
///
/// ```
/// use kernelstream::basis::BasisSpec;
/// use kernelstream::control::ControllerSpec;
/// use kernelstream::kernel::KernelSpec;
/// use kernelstream::koopman::{ControlSpec, DictionariesSpec, KoopmanSpec};
/// use ndarray::{Array2, Axis, concatenate};
///
/// # fn main() -> kernelstream::Result<()> {
/// // A point on the interval from -1 to 1 that is pushed by 0.1 to the left, not at all, or to the
/// // right, and pays the square of its distance to 0.5.
/// let gaussian = |bandwidth| KernelSpec::Gaussian { bandwidth: Some(bandwidth) };
/// let mut controller = ControllerSpec {
///     model: KoopmanSpec {
///         kernel: gaussian(0.3),
///         dictionaries: DictionariesSpec::Shared(BasisSpec::Ald {
///             tolerance: 1e-4,
///             max_size: Some(100),
///             loss_driven: false,
///         }),
///         control: Some(ControlSpec { width: 1, kernel: gaussian(0.3) }),
///         ..KoopmanSpec::default()
///     },
///     ..ControllerSpec::new(vec![vec![-0.1], vec![0.0], vec![0.1]])
/// }
/// .build()?;
///
/// let x = Array2::from_shape_fn((600, 1), |(i, _)| (i as f64 * 0.618).fract() * 2.0 - 1.0);
/// let u = Array2::from_shape_fn((600, 1), |(i, _)| (i % 3) as f64 * 0.1 - 0.1);
/// let next = (&x + &u).mapv(|x| x.clamp(-1.0, 1.0));
/// controller.learn(concatenate![Axis(1), x, u].view(), next.view())?;
///
/// let costs = |x: &Array2<f64>| Array2::from_shape_fn((x.nrows(), 3), |(i, _)| (x[[i, 0]] - 0.5).powi(2));
/// controller.improve(costs(&controller.states()).view(), None)?;
///
/// let policy = controller.policy().expect("improve leaves one");
/// let mut x = Array2::from_elem((1, 1), -0.8);
/// for _ in 0..20 {
///     let best = policy.greedy(x.view(), costs(&x).view())?[0];
///     x[[0, 0]] += policy.actions()[[best, 0]];
/// }
/// assert!((x[[0, 0]] - 0.5).abs() < 0.11);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Controller {
    pub(super) spec: ControllerSpec,
    pub(super) actions: Array2<f64>,
    pub(super) model: Koopman,
    /// Values at the stored next states, after the latest improvement.
    pub(super) values: Vec<f64>,
    pub(super) policy: Option<Policy>,
    pub(super) kept: Option<(Policy, f64)>,
}

/// A policy and its values, not yet in use.
#[derive(Clone, Debug)]
pub struct Improved {
    policy: Policy,
    values: Vec<f64>,
    improvement: Improvement,
}

impl Controller {
    /// An untrained controller, with validated parameters.
    pub fn new(spec: ControllerSpec) -> Result<Self> {
        let model = spec.model.build()?;
        let actions = spec.check(&model)?;
        let spec = ControllerSpec { model: model.spec().clone(), ..spec };
        Ok(Self { spec, actions, model, values: Vec::new(), policy: None, kept: None })
    }

    /// Its specification.
    #[must_use]
    pub fn spec(&self) -> &ControllerSpec {
        &self.spec
    }

    /// The learned operator of the system.
    #[must_use]
    pub fn model(&self) -> &Koopman {
        &self.model
    }

    /// The actions of the grid, one per row.
    #[must_use]
    pub fn actions(&self) -> ArrayView2<'_, f64> {
        self.actions.view()
    }

    /// Learns transitions: each row of `x` (n, d + k) is a state and the action in it, and
    /// that of `next` (n, d) is the next state. The action need not be one of the
    /// [`actions`](Self::actions). On an error nothing has changed.
    pub fn learn(&mut self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>) -> Result<()> {
        self.model.learn(x, next)
    }

    /// [`learn`](Self::learn) with progress and interruption; see [`Koopman::learn_while`].
    pub fn learn_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        should_continue: impl FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.model.learn_while(x, next, should_continue)
    }

    /// Learns the transitions in the replay buffer.
    pub fn flush(&mut self) -> Result<()> {
        self.model.flush()
    }

    /// [`flush`](Self::flush) with interruption; see [`Koopman::flush_while`].
    pub fn flush_while(&mut self, should_continue: impl FnMut() -> bool) -> Result<bool> {
        self.model.flush_while(should_continue)
    }

    /// The stored next states (m, d), at which the costs of actions are needed.
    #[must_use]
    pub fn states(&self) -> Array2<f64> {
        self.model.dictionary_next()
    }

    /// The values of the states that were stored at the latest improvement.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Iterates the value function, from its current values, and takes the greedy policy of the
    /// result. `costs` (m, actions) are those of each action at each of the
    /// [`states`](Self::states); states marked in `ends` (m) have no further costs. O(m^3) once and
    /// O(m^2) a sweep. On an error nothing has changed.
    pub fn improve(&mut self, costs: ArrayView2<'_, f64>, ends: Option<&[bool]>) -> Result<Improvement> {
        let improved = self.improved(costs, ends)?;
        Ok(self.take(improved))
    }

    /// The result of [`improve`](Self::improve), to be [taken](Self::take).
    pub fn improved(&self, costs: ArrayView2<'_, f64>, ends: Option<&[bool]>) -> Result<Improved> {
        let model = self.model.clone();
        let transitions = aside(move || model.transitions())??;
        let (policy, values, improvement) =
            iterate(transitions, self.actions.view(), &self.spec, &self.values, costs, ends)?;
        Ok(Improved { policy, values, improvement })
    }

    /// Takes the policy and the values of an improvement, and returns its report.
    pub fn take(&mut self, improved: Improved) -> Improvement {
        (self.policy, self.values) = (Some(improved.policy), improved.values);
        improved.improvement
    }

    /// The policy of the latest improvement.
    #[must_use]
    pub fn policy(&self) -> Option<&Policy> {
        self.policy.as_ref()
    }

    /// Keeps the policy of the latest improvement if this score is the highest so far; whether it did.
    pub fn keep(&mut self, score: f64) -> Result<bool> {
        in_range("score", score, score.is_finite(), "a finite number")?;
        let policy = self.policy.as_ref().ok_or(Error::NothingLearned)?;
        let better = self.kept.as_ref().is_none_or(|(_, best)| score > *best);
        if better {
            self.kept = Some((policy.clone(), score));
        }
        Ok(better)
    }

    /// The policy kept and its score.
    #[must_use]
    pub fn kept(&self) -> Option<(&Policy, f64)> {
        self.kept.as_ref().map(|(policy, score)| (policy, *score))
    }
}

impl ControllerSpec {
    /// An untrained controller, with validated parameters.
    pub fn build(&self) -> Result<Controller> {
        Controller::new(self.clone())
    }
}
