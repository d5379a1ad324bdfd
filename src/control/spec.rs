//! Specifications of controllers, for model files and Python.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, in_range, not_negative};
use crate::koopman::{Koopman, KoopmanSpec};
use crate::validate::{check_rows, check_width};

/// Specification of a controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerSpec {
    /// Specification of the operator, which has inputs.
    pub model: KoopmanSpec,
    /// The actions, at least one.
    pub actions: Vec<Vec<f64>>,
    /// Factor on costs per step, from 0 to below 1.
    pub discount: f64,
    /// Most sweeps of value iteration in one improvement, from 1 to 1,000,000.
    pub sweeps: usize,
    /// Sweeps end when no value changes by more than this share of the largest possible value.
    pub tolerance: f64,
}

impl ControllerSpec {
    /// These actions, and defaults otherwise; its model has inputs.
    #[must_use]
    pub fn new(actions: Vec<Vec<f64>>) -> Self {
        let width = actions.first().map_or(1, Vec::len);
        let control =
            Some(crate::koopman::ControlSpec { width, kernel: crate::kernel::KernelSpec::default() });
        let model = KoopmanSpec { control, ..KoopmanSpec::default() };
        Self { model, actions, discount: 0.95, sweeps: 150, tolerance: 1e-5 }
    }

    /// The actions as an array, after validation.
    pub(super) fn check(&self, model: &Koopman) -> Result<Array2<f64>> {
        in_range("discount", self.discount, (0.0..1.0).contains(&self.discount), "from 0 to below 1")?;
        in_range("sweeps", self.sweeps, (1..=1_000_000).contains(&self.sweeps), "from 1 to 1,000,000")?;
        not_negative("tolerance", self.tolerance)?;
        in_range("actions", self.actions.len(), !self.actions.is_empty(), "at least one")?;
        let Some(control) = &model.spec().control else {
            return Err(Error::InvalidParameter {
                name: "n_inputs of the model",
                value: "0".to_owned(),
                requirement: "the width of an action",
            });
        };
        for action in &self.actions {
            check_width("actions", Some(control.width), action.len())?;
        }
        let actions = Array2::from_shape_fn((self.actions.len(), control.width), |(i, j)| self.actions[i][j]);
        check_rows(&control.kernel.resolve(control.width)?, "actions", actions.view())?;
        Ok(actions)
    }
}
