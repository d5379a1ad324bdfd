//! Published algorithms: cells of the table basis x learner.

use super::ModelSpec;
use crate::basis::{BasisSpec, FourierSpec, KorsSpec, SketchedSpec};
use crate::kernel::KernelSpec;
use crate::learner::{
    GradientSpec, Growth, History, LearnerSpec, Loss, OnlineNewtonSpec, Prediction, RidgeSpec, Schedule,
};

/// AOGD-ALD (Li and Liao, 2023, Algorithm 1): gradient descent with its own step in a ball of norm `radius`.
#[must_use]
pub fn aogd_ald(kernel: KernelSpec, tolerance: f64, radius: Option<f64>) -> ModelSpec {
    let schedule = Schedule::Adaptive;
    let learner = GradientSpec { step: None, schedule, radius, ..GradientSpec::default() };
    ModelSpec { kernel, basis: BasisSpec::ald(tolerance), learner: LearnerSpec::Gradient(learner) }
}

/// NONS-ALD (Li and Liao, 2023, Algorithm 3): online Newton steps that keep the curvature when the
/// basis grows.
#[must_use]
pub fn nons_ald(kernel: KernelSpec, mu: f64, tolerance: f64, bound: Option<f64>) -> ModelSpec {
    let learner =
        OnlineNewtonSpec { regularization: mu, bound, target_bound: bound, ..OnlineNewtonSpec::default() };
    ModelSpec { kernel, basis: BasisSpec::ald(tolerance), learner: LearnerSpec::OnlineNewton(learner) }
}

/// KRLS-ALD (Engel, Mannor and Meir, 2004): least squares on the dictionary, without
/// regularization.
#[must_use]
pub fn krls_ald(kernel: KernelSpec, tolerance: f64) -> ModelSpec {
    let learner = RidgeSpec { regularization: 0.0, center: false, clip: false, ..RidgeSpec::default() };
    ModelSpec { kernel, basis: BasisSpec::ald(tolerance), learner: LearnerSpec::Ridge(learner) }
}

/// Online kernel ridge regression on all points: exact, O(t^2) in round t.
#[must_use]
pub fn kernel_ridge(kernel: KernelSpec, regularization: f64) -> ModelSpec {
    let learner = RidgeSpec { regularization, center: false, clip: false, ..RidgeSpec::default() };
    ModelSpec { kernel, basis: BasisSpec::all_points(), learner: LearnerSpec::Ridge(learner) }
}

/// Kernel-AWV (Jezequel, Gaillard and Rudi, 2019, section 2): the prediction of Vovk, Azoury and
/// Warmuth on all points.
#[must_use]
pub fn kernel_awv(kernel: KernelSpec, regularization: f64) -> ModelSpec {
    let learner = LearnerSpec::Ridge(awv(regularization, History::None));
    ModelSpec { kernel, basis: BasisSpec::all_points(), learner }
}

/// Kernel online Newton step (Calandriello, Lazaric and Valko, ICML 2017, Algorithm 1) on all points:
/// O(t^2) in round t.
#[must_use]
pub fn kons(kernel: KernelSpec, mu: f64, bound: Option<f64>) -> ModelSpec {
    sketched_kons(kernel, mu, bound, 1.0, 0)
}

/// Sketched-KONS (Calandriello, Lazaric and Valko, ICML 2017, Algorithm 2): KONS with the curvature
/// of a sample of the rows, weighted by the inverse of its share. The paper samples rows by their
/// leverage scores, at least with this share; here all rows have it.
#[must_use]
pub fn sketched_kons(
    kernel: KernelSpec,
    mu: f64,
    bound: Option<f64>,
    share: f64,
    random_state: u64,
) -> ModelSpec {
    let sketch = OnlineNewtonSpec { sketch: share, random_state, ..newton(mu, bound, Growth::Carry) };
    ModelSpec { kernel, basis: BasisSpec::all_points(), learner: LearnerSpec::OnlineNewton(sketch) }
}

/// PROS-N-KONS (Calandriello, Lazaric and Valko, 2017, Algorithm 2): online Newton steps on points
/// sampled by KORS, restarted whenever one is stored.
#[must_use]
pub fn pros_n_kons(kernel: KernelSpec, alpha: f64, bound: Option<f64>, points: KorsSpec) -> ModelSpec {
    let learner = LearnerSpec::OnlineNewton(newton(alpha, bound, Growth::Restart));
    ModelSpec { kernel, basis: BasisSpec::Kors(points), learner }
}

/// CON-KONS (Li and Liao, 2023, appendix A.1): PROS-N-KONS without restarts. Its new curvature is
/// singular as printed; here a new coordinate has `alpha`.
#[must_use]
pub fn con_kons(kernel: KernelSpec, alpha: f64, bound: Option<f64>, points: KorsSpec) -> ModelSpec {
    let learner = LearnerSpec::OnlineNewton(newton(alpha, bound, Growth::CarryUnprojected));
    ModelSpec { kernel, basis: BasisSpec::Kors(points), learner }
}

/// PKAWV with the Gaussian kernel's Taylor expansion (Jezequel, Gaillard and Rudi, 2019, section 3.1).
#[must_use]
pub fn pkawv_taylor(kernel: KernelSpec, regularization: f64, degree: usize) -> ModelSpec {
    let learner = LearnerSpec::Ridge(awv(regularization, History::None));
    ModelSpec { kernel, basis: BasisSpec::Taylor { degree }, learner }
}

/// PKAWV on points sampled by KORS (Jezequel, Gaillard and Rudi, 2019, section 3.2). With
/// [`History::Exact`] it is the paper's. The seed of the points is also that of a reservoir.
#[must_use]
pub fn pkawv_nystroem(
    kernel: KernelSpec,
    regularization: f64,
    history: History,
    points: KorsSpec,
) -> ModelSpec {
    let learner = RidgeSpec { random_state: points.random_state, ..awv(regularization, history) };
    ModelSpec { kernel, basis: BasisSpec::Kors(points), learner: LearnerSpec::Ridge(learner) }
}

/// FOGD (Lu, Hoi, Wang, Zhao and Liu, 2016, Algorithm 2): gradient descent on random Fourier features.
#[must_use]
pub fn fogd(kernel: KernelSpec, step: f64, features: FourierSpec) -> ModelSpec {
    ModelSpec { kernel, basis: BasisSpec::Fourier(features), learner: descent(step) }
}

/// NOGD (Lu, Hoi, Wang, Zhao and Liu, 2016, Algorithm 3): kernel gradient descent on the first `size`
/// points, then gradient descent on their `rank` leading Nystrom features.
#[must_use]
pub fn nogd(kernel: KernelSpec, step: f64, size: usize, rank: usize) -> ModelSpec {
    let basis = BasisSpec::FirstPoints { size, loss_driven: true, rank: Some(rank) };
    ModelSpec { kernel, basis, learner: descent(step) }
}

/// FORKS (Wen et al., 2024, Algorithm 1) with the hinge loss: kernel gradient descent with the step
/// 0.2 and the shrinkage 0.01 in stage one, then online Newton steps with `alpha` = 0.01 and
/// `sigma` = 0.5 on features of the sketches. See [`Sketched`](crate::basis::Sketched) for
/// departures from the paper in the features. The curvature includes the current round, the
/// gradient is taken at the prediction (the printed algorithm takes it at its sign), and
/// predictions are not clipped, since no bound is given.
#[must_use]
pub fn forks(kernel: KernelSpec, points: SketchedSpec) -> ModelSpec {
    let then = OnlineNewtonSpec {
        loss: Loss::Hinge,
        regularization: 0.01,
        curvature: Some(0.5),
        clip: false,
        ..OnlineNewtonSpec::default()
    };
    let then = Box::new(LearnerSpec::OnlineNewton(then));
    let learner = LearnerSpec::Staged { first: Box::new(shrinking_descent()), then };
    ModelSpec { kernel, basis: BasisSpec::Sketched(points), learner }
}

/// `SkeGD` (Zhang and Liao, "Incremental randomized sketching for online kernel learning", ICML
/// 2019) as run by Wen et al. (2024): FORKS with gradient steps of the hinge loss throughout,
/// restarted whenever the features change.
#[must_use]
pub fn skegd(kernel: KernelSpec, points: SketchedSpec) -> ModelSpec {
    ModelSpec { kernel, basis: BasisSpec::Sketched(points), learner: shrinking_descent() }
}

/// Gradient steps of 0.2 on the hinge loss that shrink the weights by 1 - 0.2 x 0.01.
fn shrinking_descent() -> LearnerSpec {
    LearnerSpec::Gradient(GradientSpec {
        loss: Loss::Hinge,
        step: Some(0.2),
        regularization: 0.01,
        ..GradientSpec::default()
    })
}

fn newton(regularization: f64, bound: Option<f64>, growth: Growth) -> OnlineNewtonSpec {
    OnlineNewtonSpec { regularization, bound, target_bound: bound, growth, ..OnlineNewtonSpec::default() }
}

fn awv(regularization: f64, history: History) -> RidgeSpec {
    let prediction = Prediction::Awv;
    RidgeSpec { regularization, center: false, clip: false, prediction, history, ..RidgeSpec::default() }
}

fn descent(step: f64) -> LearnerSpec {
    LearnerSpec::Gradient(GradientSpec { step: Some(step), ..GradientSpec::default() })
}
