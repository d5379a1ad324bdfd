//! The stored states, in one dictionary or in two.

use ndarray::Array2;

use super::{DictionariesSpec, HilbertSchmidt};
use crate::basis::{Basis, Nested, NestedFeatures};
use crate::error::Result;
use crate::kernel::{KernelSpec, PointSet};

/// Nested features of inputs and of outputs.
#[derive(Clone, Debug)]
pub(super) enum Dictionaries {
    /// One for both.
    Shared(Box<Nested>),
    /// One each; admission is by pairs.
    Separate(Box<Separate>),
}

#[derive(Clone, Debug)]
pub(super) struct Separate {
    pub inputs: NestedFeatures,
    pub outputs: NestedFeatures,
    pub rule: HilbertSchmidt,
    pub paired: bool,
}

impl Dictionaries {
    pub fn new(spec: &DictionariesSpec, kernel: &KernelSpec, width: usize) -> Result<Self> {
        let (rule, paired) = match spec {
            DictionariesSpec::Shared(basis) => {
                let mut nested = basis.nested(kernel)?;
                nested.begin(width)?;
                return Ok(Self::Shared(Box::new(nested)));
            }
            DictionariesSpec::Separate(rule) => (rule.build()?, false),
            DictionariesSpec::Paired(rule) => (rule.build()?, true),
        };
        let empty = NestedFeatures::new(kernel.resolve(width)?, width);
        Ok(Self::Separate(Box::new(Separate { inputs: empty.clone(), outputs: empty, rule, paired })))
    }

    pub fn inputs(&self) -> &NestedFeatures {
        match self {
            Self::Shared(nested) => {
                nested.features().unwrap_or_else(|| unreachable!("the width is known since it was made"))
            }
            Self::Separate(pair) => &pair.inputs,
        }
    }

    pub fn outputs(&self) -> &NestedFeatures {
        match self {
            Self::Shared(_) => self.inputs(),
            Self::Separate(pair) => &pair.outputs,
        }
    }

    pub fn width(&self) -> usize {
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
        }
    }
}

/// Points as rows of an array.
pub(super) fn rows_of(points: &PointSet) -> Array2<f64> {
    let panel = points.panel();
    Array2::from_shape_fn((panel.rows(), panel.cols()), |(i, j)| panel.get(i, j))
}
