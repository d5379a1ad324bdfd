//! The stored states, in one dictionary or in two.

use ndarray::Array2;

use super::{ControlSpec, DictionariesSpec, HilbertSchmidt};
use crate::basis::{Basis, Nested, NestedFeatures};
use crate::error::{Result, in_range};
use crate::kernel::{KernelSpec, PointSet};

/// Nested features of inputs and of outputs.
#[derive(Clone, Debug)]
pub(super) enum Dictionaries {
    /// One for both.
    Shared(Box<Nested>),
    /// One each; admission is by pairs.
    Separate(Box<Separate>),
    /// One for states with the inputs that act on them and one for the states that follow; admission
    /// is point by point.
    Controlled(Box<Controlled>),
}

#[derive(Clone, Debug)]
pub(super) struct Controlled {
    pub inputs: Nested,
    pub outputs: Nested,
}

#[derive(Clone, Debug)]
pub(super) struct Separate {
    pub inputs: NestedFeatures,
    pub outputs: NestedFeatures,
    pub rule: HilbertSchmidt,
    pub paired: bool,
}

impl Dictionaries {
    /// For states of this width.
    pub fn new(
        spec: &DictionariesSpec,
        kernel: &KernelSpec,
        control: Option<&ControlSpec>,
        width: usize,
    ) -> Result<Self> {
        let joint = control.map(|control| (control.joint(kernel), width + control.width));
        let (rule, paired) = match spec {
            DictionariesSpec::Shared(basis) => {
                let loss_driven = basis.nested(kernel)?.loss_driven();
                in_range(
                    "loss_driven",
                    loss_driven,
                    !loss_driven,
                    "False for an operator, which has no labels",
                )?;
                if let Some((kernel_of_both, width_of_both)) = &joint {
                    let (mut inputs, mut outputs) = (basis.nested(kernel_of_both)?, basis.nested(kernel)?);
                    inputs.begin(*width_of_both)?;
                    outputs.begin(width)?;
                    return Ok(Self::Controlled(Box::new(Controlled { inputs, outputs })));
                }
                let mut nested = basis.nested(kernel)?;
                nested.begin(width)?;
                return Ok(Self::Shared(Box::new(nested)));
            }
            DictionariesSpec::Separate(rule) => (rule.build()?, false),
            DictionariesSpec::Paired(rule) => (rule.build()?, true),
        };
        let outputs = NestedFeatures::new(kernel.resolve(width)?, width);
        let inputs = match joint {
            Some((kernel, width)) => NestedFeatures::new(kernel.resolve(width)?, width),
            None => outputs.clone(),
        };
        Ok(Self::Separate(Box::new(Separate { inputs, outputs, rule, paired })))
    }

    pub fn inputs(&self) -> &NestedFeatures {
        match self {
            Self::Shared(nested) => features_of(nested),
            Self::Separate(pair) => &pair.inputs,
            Self::Controlled(pair) => features_of(&pair.inputs),
        }
    }

    pub fn outputs(&self) -> &NestedFeatures {
        match self {
            Self::Shared(_) => self.inputs(),
            Self::Separate(pair) => &pair.outputs,
            Self::Controlled(pair) => features_of(&pair.outputs),
        }
    }

    /// Features of a state.
    pub fn width(&self) -> usize {
        self.outputs().points().width()
    }

    /// Those of a state with the inputs that act on it.
    pub fn joint_width(&self) -> usize {
        self.inputs().points().width()
    }

    /// Numbers of inputs and of outputs.
    pub fn sizes(&self) -> (usize, usize) {
        (self.inputs().dim(), self.outputs().dim())
    }

    /// Forgets what was stored beyond these sizes.
    pub fn rollback(&mut self, (inputs, outputs): (usize, usize)) {
        match self {
            Self::Shared(nested) => nested.rollback(inputs),
            Self::Separate(pair) => {
                pair.inputs.truncate(inputs);
                pair.outputs.truncate(outputs);
            }
            Self::Controlled(pair) => {
                pair.inputs.rollback(inputs);
                pair.outputs.rollback(outputs);
            }
        }
    }
}

fn features_of(nested: &Nested) -> &NestedFeatures {
    nested.dictionary().unwrap_or_else(|| unreachable!("the width is known since it was made"))
}

/// Points as rows of an array.
pub(super) fn rows_of(points: &PointSet) -> Array2<f64> {
    let panel = points.panel();
    Array2::from_shape_fn((panel.rows(), panel.cols()), |(i, j)| panel.get(i, j))
}
