//! The algorithms of the literature, by name: cells of the table basis x learner.

use super::ModelSpec;
use crate::basis::BasisSpec;
use crate::kernel::KernelSpec;
use crate::learner::{Forecast, GradientSpec, LearnerSpec, NewtonSpec, RidgeSpec, Schedule};

/// AOGD-ALD (Li and Liao, 2023, Algorithm 1): gradient descent with its own step in a ball of norm `radius`.
#[must_use]
pub fn aogd_ald(kernel: KernelSpec, tolerance: f64, radius: Option<f64>) -> ModelSpec {
    let learner = GradientSpec { schedule: Schedule::Adaptive, radius, ..GradientSpec::default() };
    ModelSpec { kernel, basis: BasisSpec::ald(tolerance), learner: LearnerSpec::Gradient(learner) }
}

/// NONS-ALD (Li and Liao, 2023, Algorithm 3): online Newton step whose growth carries over.
#[must_use]
pub fn nons_ald(kernel: KernelSpec, mu: f64, tolerance: f64, bound: Option<f64>) -> ModelSpec {
    let learner = NewtonSpec { regularization: mu, bound, target_bound: bound, ..NewtonSpec::default() };
    ModelSpec { kernel, basis: BasisSpec::ald(tolerance), learner: LearnerSpec::Newton(learner) }
}

/// KRLS-ALD (Engel, Mannor and Meir, 2004): least squares on the dictionary, not regularized.
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

/// Kernel-AWV (Jezequel, Gaillard and Rudi, 2019, section 2): the forecast of Vovk, Azoury and
/// Warmuth on all points.
#[must_use]
pub fn kernel_awv(kernel: KernelSpec, regularization: f64) -> ModelSpec {
    let learner = RidgeSpec {
        regularization,
        center: false,
        clip: false,
        forecast: Forecast::Awv,
        ..RidgeSpec::default()
    };
    ModelSpec { kernel, basis: BasisSpec::all_points(), learner: LearnerSpec::Ridge(learner) }
}
