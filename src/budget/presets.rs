//! The algorithms of the literature, by name: cells of the table rule x removal.

use super::{
    BudgetSpec, BudgetedSpec, FunctionalGradientSpec, PassiveAggressiveSpec, PerceptronSpec, Removal,
};
use crate::kernel::KernelSpec;
use crate::learner::Loss;

/// KOGD (Kivinen, Smola and Williamson, 2004, eq. 9): functional gradient descent with every point
/// stored that has a slope; with a budget, NORMA's truncation: the oldest point leaves.
#[must_use]
pub fn kogd(
    kernel: KernelSpec,
    loss: Loss,
    step: f64,
    regularization: f64,
    budget: Option<usize>,
) -> BudgetedSpec {
    let removal = if budget.is_some() { Removal::Oldest } else { Removal::None };
    let spec = FunctionalGradientSpec {
        budget,
        removal,
        loss,
        step,
        regularization,
        ..FunctionalGradientSpec::default()
    };
    BudgetedSpec { kernel, learner: BudgetSpec::FunctionalGradient(spec) }
}

/// RBP (Cavallanti, Cesa-Bianchi and Gentile, 2007, Figure 3): a perceptron from which a random point
/// leaves.
#[must_use]
pub fn rbp(kernel: KernelSpec, budget: usize, seed: u64) -> BudgetedSpec {
    let spec = PerceptronSpec {
        budget: Some(budget),
        removal: Removal::Random,
        random_state: seed,
        ..PerceptronSpec::default()
    };
    BudgetedSpec { kernel, learner: BudgetSpec::Perceptron(spec) }
}

/// BPA-S (Wang and Vucetic, 2010, Algorithm 2 with V = {t}): passive-aggressive, and the point leaves
/// that the new one replaces at least cost.
#[must_use]
pub fn bpas(kernel: KernelSpec, budget: usize, aggressiveness: f64) -> BudgetedSpec {
    let spec = PassiveAggressiveSpec {
        budget: Some(budget),
        removal: Removal::Cheapest,
        aggressiveness,
        ..PassiveAggressiveSpec::default()
    };
    BudgetedSpec { kernel, learner: BudgetSpec::PassiveAggressive(spec) }
}

/// Projectron (Orabona, Keshet and Caputo, 2009, Figure 2), and Projectron++ (Figure 3) with `margin`: a
/// perceptron that stores a point only where the stored ones do not span it.
#[must_use]
pub fn projectron(kernel: KernelSpec, tolerance: f64, budget: Option<usize>, margin: bool) -> BudgetedSpec {
    let removal = Removal::Project(tolerance);
    let spec = PerceptronSpec { budget, removal, margin, ..PerceptronSpec::default() };
    BudgetedSpec { kernel, learner: BudgetSpec::Perceptron(spec) }
}

/// BOGD (Zhao, Wang, Wu, Jin and Hoi, 2012, Algorithm 1): gradient descent from which a random point
/// leaves, the others scaled up to make good for it, with bounded coefficients.
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
    let spec = FunctionalGradientSpec {
        budget: Some(budget),
        removal: Removal::Unbiased,
        random_state: seed,
        loss,
        step,
        regularization,
        max_coefficient: Some(max_coefficient),
        ..FunctionalGradientSpec::default()
    };
    BudgetedSpec { kernel, learner: BudgetSpec::FunctionalGradient(spec) }
}
