//! Specifications of budgeted learners, for model files, the command line and Python.

use serde::{Deserialize, Serialize};

use super::Budgeted;
use super::rule::StepRule;
use crate::error::{Result, in_range, not_negative, positive};
use crate::kernel::KernelSpec;
use crate::learner::{Loss, Schedule};
use crate::persist::parse_text;

/// Default budget.
const DEFAULT_BUDGET: usize = 100;

/// What happens when the budget is used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Removal {
    /// Nothing is removed: a full model learns no more. Without a budget, all points with a loss
    /// are stored.
    #[default]
    None,
    /// A stored point, drawn uniformly at random, is removed.
    Random,
    /// The same, and the other coefficients grow by `B / (B - 1)`, so that the expectation of the
    /// function over the draw is unchanged.
    Unbiased,
    /// The oldest point is removed.
    Oldest,
    /// The point is removed whose loss, after compensation by the new point, is smallest in norm:
    /// the smallest `a_r^2 (k_rr - k_rt^2 / k_tt)`.
    Cheapest,
    /// No point is removed, and only those are stored whose distance to the span of the stored
    /// ones, as a share of `sqrt(k(x, x))`, exceeds this number (from 0 to below 1). The steps of
    /// the others are projected onto the span, and all steps once the budget is used up.
    Project(f64),
}

/// Parameters of the perceptron: a mistake adds its label as the coefficient. Targets are -1 or 1;
/// another number scales the margin, and 0 has no loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetedPerceptronSpec {
    /// Most points stored, at least 1; no limit if `None`.
    pub budget: Option<usize>,
    /// Removal of points.
    pub removal: Removal,
    /// Seed of random removals.
    pub random_state: u64,
    /// Whether to learn from right predictions with a margin below 1 too, as far as the stored
    /// points span them (Projectron++); needs [`Removal::Project`] with a positive tolerance.
    pub margin: bool,
}

impl Default for BudgetedPerceptronSpec {
    fn default() -> Self {
        Self { budget: Some(DEFAULT_BUDGET), removal: Removal::Random, random_state: 0, margin: false }
    }
}

/// Parameters of passive-aggressive learning: the smallest change that gives the new point a margin
/// of 1, at most `aggressiveness`. Targets are -1 or 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetedPassiveAggressiveSpec {
    /// Most points stored, at least 1; no limit if `None`.
    pub budget: Option<usize>,
    /// Removal of points.
    pub removal: Removal,
    /// Seed of random removals.
    pub random_state: u64,
    /// Largest absolute coefficient of a new point, positive (`C` of PA-I).
    pub aggressiveness: f64,
}

impl Default for BudgetedPassiveAggressiveSpec {
    fn default() -> Self {
        Self {
            budget: Some(DEFAULT_BUDGET),
            removal: Removal::Cheapest,
            random_state: 0,
            aggressiveness: 1.0,
        }
    }
}

/// Parameters of functional gradient descent:
/// `f <- (1 - step_t regularization) f - step_t l'(f(x), y) k(x, .)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetedGradientSpec {
    /// Most points stored, at least 1; no limit if `None`.
    pub budget: Option<usize>,
    /// Removal of points.
    pub removal: Removal,
    /// Seed of random removals.
    pub random_state: u64,
    /// Loss.
    pub loss: Loss,
    /// Size of the first step, positive.
    pub step: f64,
    /// Schedule of the step, except [`Schedule::Adaptive`].
    pub schedule: Schedule,
    /// Shrinks the function in each round; zero or positive.
    pub regularization: f64,
    /// Largest absolute coefficient, in first steps, positive; no limit if `None`.
    pub max_coefficient: Option<f64>,
}

impl Default for BudgetedGradientSpec {
    fn default() -> Self {
        Self {
            budget: Some(DEFAULT_BUDGET),
            removal: Removal::Oldest,
            random_state: 0,
            loss: Loss::Squared,
            step: 0.2,
            schedule: Schedule::Constant,
            regularization: 0.0,
            max_coefficient: None,
        }
    }
}

/// A step rule with a budget and a removal: any cell of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BudgetSpec {
    /// Learns from mistakes.
    BudgetedPerceptron(BudgetedPerceptronSpec),
    /// Learns from small margins.
    BudgetedPassiveAggressive(BudgetedPassiveAggressiveSpec),
    /// Learns from the slope of any loss.
    BudgetedGradient(BudgetedGradientSpec),
}

impl Default for BudgetSpec {
    fn default() -> Self {
        Self::BudgetedGradient(BudgetedGradientSpec::default())
    }
}

/// The common parameters of budgeted learners.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub budget: Option<usize>,
    pub removal: Removal,
    pub seed: u64,
}

impl BudgetSpec {
    /// Its loss: for the perceptron and passive-aggressive learning the hinge.
    #[must_use]
    pub fn loss(&self) -> Loss {
        match self {
            Self::BudgetedPerceptron(_) | Self::BudgetedPassiveAggressive(_) => Loss::Hinge,
            Self::BudgetedGradient(spec) => spec.loss,
        }
    }

    /// Whether `kind` names a budgeted learner in a specification.
    #[must_use]
    pub fn is_kind(kind: &str) -> bool {
        const OLD: [&str; 3] = ["perceptron", "passive_aggressive", "functional_gradient"];
        kind.starts_with("budgeted_") || OLD.contains(&kind)
    }

    /// The rule with its limits, validated.
    pub(super) fn parts(&self) -> Result<(StepRule, Limits)> {
        let (rule, limits) = match self {
            Self::BudgetedPerceptron(BudgetedPerceptronSpec { budget, removal, random_state, margin }) => {
                let projects = matches!(removal, Removal::Project(tolerance) if *tolerance > 0.0);
                let margin = in_range(
                    "margin",
                    *margin,
                    projects || !margin,
                    "false unless removal is a projection with a positive tolerance",
                )?;
                (StepRule::Perceptron { margin }, (budget, removal, random_state))
            }
            Self::BudgetedPassiveAggressive(spec) => {
                let most = positive("aggressiveness", spec.aggressiveness)?;
                (StepRule::PassiveAggressive { most }, (&spec.budget, &spec.removal, &spec.random_state))
            }
            Self::BudgetedGradient(spec) => {
                let step = positive("step", spec.step)?;
                let most = spec.max_coefficient.map(|most| positive("max_coefficient", most)).transpose()?;
                let schedule = spec.schedule.checked()?;
                in_range(
                    "schedule",
                    schedule,
                    !matches!(schedule, Schedule::Adaptive),
                    "another than adaptive, whose ball the dual form does not keep",
                )?;
                let rule = StepRule::Gradient {
                    loss: spec.loss.checked()?,
                    step,
                    schedule,
                    regularization: not_negative("regularization", spec.regularization)?,
                    limit: most.map(|most| most * step),
                };
                (rule, (&spec.budget, &spec.removal, &spec.random_state))
            }
        };
        let (&budget, &removal, &seed) = limits;
        if let Some(budget) = budget {
            in_range("budget", budget, budget > 0, "at least 1")?;
        }
        match removal {
            Removal::Project(tolerance) => {
                in_range(
                    "removal (the tolerance of a projection)",
                    tolerance,
                    (0.0..1.0).contains(&tolerance),
                    "from 0 to below 1",
                )?;
            }
            Removal::None => {}
            removal => {
                in_range(
                    "removal",
                    removal,
                    budget.is_some(),
                    "none or a projection where there is no budget",
                )?;
            }
        }
        Ok((rule, Limits { budget, removal, seed }))
    }
}

/// A kernel and a budgeted learner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetedSpec {
    /// Similarity of points.
    pub kernel: KernelSpec,
    /// Step rule, budget and removal.
    pub learner: BudgetSpec,
}

impl BudgetedSpec {
    /// The specification in this JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        parse_text("model", json)
    }

    /// An untrained model, with validated parameters.
    pub fn build(&self) -> Result<Budgeted> {
        Budgeted::new(self.kernel.clone(), self.learner.clone())
    }
}
