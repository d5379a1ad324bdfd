//! Published algorithms: cells of the table rule x removal.

use super::{
    BudgetSpec, BudgetedGradientSpec, BudgetedPassiveAggressiveSpec, BudgetedPerceptronSpec, BudgetedSpec,
    Removal,
};
use crate::kernel::KernelSpec;
use crate::learner::Loss;

/// KOGD (Kivinen, Smola and Williamson, 2004, eq. 9): functional gradient descent that stores every
/// point with a slope; with a budget, NORMA's truncation: the oldest point is removed.
#[must_use]
pub fn kogd(
    kernel: KernelSpec,
    loss: Loss,
    step: f64,
    regularization: f64,
    budget: Option<usize>,
) -> BudgetedSpec {
    let removal = if budget.is_some() { Removal::Oldest } else { Removal::None };
    let spec = BudgetedGradientSpec {
        budget,
        removal,
        loss,
        step,
        regularization,
        ..BudgetedGradientSpec::default()
    };
    BudgetedSpec { kernel, learner: BudgetSpec::BudgetedGradient(spec) }
}

/// RBP (Cavallanti, Cesa-Bianchi and Gentile, 2007, Figure 3): a perceptron that removes a random
/// point.
#[must_use]
pub fn rbp(kernel: KernelSpec, budget: usize, seed: u64) -> BudgetedSpec {
    let spec = BudgetedPerceptronSpec {
        budget: Some(budget),
        removal: Removal::Random,
        random_state: seed,
        ..BudgetedPerceptronSpec::default()
    };
    BudgetedSpec { kernel, learner: BudgetSpec::BudgetedPerceptron(spec) }
}

/// BPA-S (Wang and Vucetic, 2010, Algorithm 2 with V = {t}): passive-aggressive; removes the point
/// that the new one replaces at the least cost.
#[must_use]
pub fn bpas(kernel: KernelSpec, budget: usize, aggressiveness: f64) -> BudgetedSpec {
    let spec = BudgetedPassiveAggressiveSpec {
        budget: Some(budget),
        removal: Removal::Cheapest,
        aggressiveness,
        ..BudgetedPassiveAggressiveSpec::default()
    };
    BudgetedSpec { kernel, learner: BudgetSpec::BudgetedPassiveAggressive(spec) }
}

/// Projectron (Orabona, Keshet and Caputo, 2009, Figure 2), and Projectron++ (Figure 3) with `margin`: a
/// perceptron that stores a point only where the stored ones do not span it.
#[must_use]
pub fn projectron(kernel: KernelSpec, tolerance: f64, budget: Option<usize>, margin: bool) -> BudgetedSpec {
    let removal = Removal::Project(tolerance);
    let spec = BudgetedPerceptronSpec { budget, removal, margin, ..BudgetedPerceptronSpec::default() };
    BudgetedSpec { kernel, learner: BudgetSpec::BudgetedPerceptron(spec) }
}

/// BOGD (Zhao, Wang, Wu, Jin and Hoi, 2012, Algorithm 1): gradient descent with bounded
/// coefficients that removes a random point and scales the others up to compensate.
#[must_use]
pub fn bogd(
    kernel: KernelSpec,
    loss: Loss,
    budget: usize,
    step: f64,
    regularization: f64,
    max_coefficient: f64,
    seed: u64,
) -> BudgetedSpec {
    let spec = BudgetedGradientSpec {
        budget: Some(budget),
        removal: Removal::Unbiased,
        random_state: seed,
        loss,
        step,
        regularization,
        max_coefficient: Some(max_coefficient),
        ..BudgetedGradientSpec::default()
    };
    BudgetedSpec { kernel, learner: BudgetSpec::BudgetedGradient(spec) }
}
