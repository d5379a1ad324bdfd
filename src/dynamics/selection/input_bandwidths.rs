//! Bandwidths of inputs.

use ndarray::ArrayView2;

use super::settings::{Rows, Setting};
use crate::dynamics::{DynamicsSpec, Units};
use crate::error::Result;
use crate::kernel::KernelSpec;
use crate::koopman::ControlSpec;

/// Most inputs with a bandwidth each, a product of as many kernels; more have one in common.
const MOST_BANDWIDTHS: usize = 8;

/// Whether inputs have the default kernel, whose bandwidth is chosen.
pub(in crate::dynamics) fn is_chosen(control: &KernelSpec) -> bool {
    matches!(control, KernelSpec::Gaussian { bandwidth: None })
}

/// Bandwidths of inputs with the default kernel, in units of their deviations. An input without effect, or with an
/// effect that is nearly linear, has a long one: the kernel then says little of it, or is nearly linear in it.
pub(super) struct InputBandwidths {
    given: Option<ControlSpec>,
    /// One for each input, or for all; none if inputs have a kernel of their own.
    units: Vec<f64>,
    /// Those of them whose inputs vary.
    pub searched: Vec<usize>,
}

impl InputBandwidths {
    pub fn of(spec: &DynamicsSpec, inputs: ArrayView2<'_, f64>) -> Self {
        let given = spec.operator.control.clone();
        let units = match &given {
            Some(control) if is_chosen(&control.kernel) => {
                let units = Units::each(inputs);
                let own = control.width <= MOST_BANDWIDTHS;
                let root = (control.width as f64).sqrt();
                let units = if own { units.deviation() } else { vec![units.common().deviation()[0]] };
                units.into_iter().map(|deviation| root * deviation).collect()
            }
            _ => Vec::new(),
        };
        let vary = |k: usize| inputs.column(k).iter().any(|value| value.total_cmp(&inputs[(0, k)]).is_ne());
        let searched = if units.len() == inputs.ncols() {
            (0..units.len()).filter(|k| vary(*k)).collect()
        } else {
            (0..units.len()).filter(|_| (0..inputs.ncols()).any(vary)).collect()
        };
        Self { given, units, searched }
    }

    /// Inputs with these multiples of their units.
    fn with(&self, factors: &[f64]) -> Option<ControlSpec> {
        let of = |(unit, factor): (&f64, &f64)| KernelSpec::Gaussian { bandwidth: Some(unit * factor) };
        let joint = |first, second| KernelSpec::Product {
            first: Box::new(first),
            second: Box::new(second),
            second_width: Some(1),
        };
        let kernel = self.units.iter().zip(factors).map(of).reduce(joint);
        let width = self.given.as_ref()?.width;
        kernel.map(|kernel| ControlSpec { width, kernel }).or_else(|| self.given.clone())
    }

    /// Inputs before anything is selected.
    pub fn first(&self) -> Option<ControlSpec> {
        self.with(&vec![1.0; self.units.len()])
    }
}

/// The setting, or a better one with longer bandwidths of inputs: of all together, then of one after the other with
/// the bandwidth of states so far.
pub(super) fn with_longer_bandwidths(
    rows: &Rows<'_>,
    inputs: &InputBandwidths,
    mut found: Setting,
) -> Result<Setting> {
    let params = rows.params;
    let half = rows.half();
    let worth = |errors: [f64; 2], least: [f64; 2]| {
        errors.iter().zip(least).all(|(error, least)| *error < (1.0 - params.equal) * least)
    };
    let mut factors = vec![1.0; inputs.units.len()];
    let mut least = rows.projected(&half, &found)?;
    for factor in params.input_bandwidths {
        let trial = vec![factor; factors.len()];
        let Some(other) = rows.best(inputs.with(&trial))? else { continue };
        let errors = rows.projected(&half, &other)?;
        if worth(errors, least) {
            (found, factors, least) = (other, trial, errors);
        }
    }
    if inputs.searched.len() < 2 {
        return Ok(found);
    }
    let together = least;
    for &input in &inputs.searched {
        for factor in [1.0].into_iter().chain(params.input_bandwidths) {
            let mut trial = factors.clone();
            trial[input] = factor;
            let other = Setting { control: inputs.with(&trial), ..found.clone() };
            let errors = rows.projected(&half, &other)?;
            if worth(errors, least) {
                (factors, least) = (trial, errors);
            }
        }
    }
    if least[0] < together[0]
        && let Some(other) = rows.best(inputs.with(&factors))?
        && worth(rows.projected(&half, &other)?, together)
    {
        found = other;
    }
    Ok(found)
}
