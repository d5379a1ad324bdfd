//! The stored states, and the rounds of the operator.
//!
//! Each kind of dictionaries is one file with a [`Kind`]: the rounds of single pairs and of blocks.

mod controlled;
mod kind;
mod separate;
mod shared;
mod states;

use faer::{Mat, MatRef};

use super::operator::Operator;
use super::spec::{ControlSpec, DictionariesSpec};
use super::sums::Weights;
use crate::basis::{Lift, MergeBasis as _, Nested, NestedFeatures};
use crate::error::{Error, Result};
use crate::kernel::KernelSpec;
use crate::persist::{Reader, Writer};
use controlled::Controlled;
use kind::Kind;
use separate::Separate;
use shared::Shared;

/// Nested features of the states `x` and of the states `x+`.
#[derive(Clone, Debug)]
pub(super) enum Dictionaries {
    /// One for both.
    Shared(Box<Shared>),
    /// One each; admission is by pairs.
    Separate(Box<Separate>),
    /// One for states with their inputs and one for next states; admission is point by point.
    Controlled(Box<Controlled>),
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
        Ok(match (spec, &joint) {
            (DictionariesSpec::Shared(basis), None) => {
                Self::Shared(Box::new(Shared::new(basis, kernel, width)?))
            }
            (DictionariesSpec::Shared(basis), Some((joint, joint_width))) => {
                let states = (kernel, width);
                Self::Controlled(Box::new(Controlled::new(basis, (joint, *joint_width), states)?))
            }
            (DictionariesSpec::Separate(admission) | DictionariesSpec::Paired(admission), _) => {
                let paired = matches!(spec, DictionariesSpec::Paired(_));
                let (joint, joint_width) = joint.as_ref().map_or((kernel, width), |(k, w)| (k, *w));
                let dictionary = NestedFeatures::new(joint.resolve(joint_width)?, joint_width);
                let next = NestedFeatures::new(kernel.resolve(width)?, width);
                Self::Separate(Box::new(Separate::new(dictionary, next, admission.build()?, paired)))
            }
        })
    }

    fn kind(&self) -> &dyn Kind {
        match self {
            Self::Shared(kind) => &**kind,
            Self::Separate(kind) => &**kind,
            Self::Controlled(kind) => &**kind,
        }
    }

    fn kind_mut(&mut self) -> &mut dyn Kind {
        match self {
            Self::Shared(kind) => &mut **kind,
            Self::Separate(kind) => &mut **kind,
            Self::Controlled(kind) => &mut **kind,
        }
    }

    /// Features of the states `x`, each followed by its input if there are inputs.
    pub fn dictionary(&self) -> &NestedFeatures {
        self.kind().dictionary()
    }

    /// Features of the states `x+`.
    pub fn dictionary_next(&self) -> &NestedFeatures {
        self.kind().dictionary_next()
    }

    /// Whether both states of a pair have the same coordinates.
    pub fn are_one(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Features of a state.
    pub fn width(&self) -> usize {
        self.dictionary_next().points().width()
    }

    /// Features of a state with its input.
    pub fn joint_width(&self) -> usize {
        self.dictionary().points().width()
    }

    /// Numbers of points in the dictionary and in the next one.
    pub fn sizes(&self) -> (usize, usize) {
        self.kind().sizes()
    }

    /// Rounds with consecutive pairs `x, x+`. On an error in a single pair everything is as before
    /// it; after an error in a block the caller restores the state.
    pub fn learn(&mut self, operator: &mut Operator, pairs: &[f64], weights: Weights<'_>) -> Result<()> {
        let (joint, width) = (self.joint_width(), self.width());
        let kind = self.kind_mut();
        if pairs.len() > joint + width && kind.learn_block(operator, pairs, weights)? {
            return Ok(());
        }
        for (i, pair) in pairs.chunks_exact(joint + width).enumerate() {
            let (x, next) = pair.split_at(joint);
            let before = kind.sizes();
            if let Err(error) = kind.learn_pair(operator, x, next, weights.map_or(1.0, |all| all[i])) {
                kind.truncate(before);
                operator.shrink(before.0, width + before.1);
                return Err(error.shifted(i));
            }
        }
        Ok(())
    }

    /// Dictionaries for the pairs of several models, and the maps of the coordinates of `x` and of
    /// `x+` of each.
    pub fn joint(parts: &[&Self]) -> Result<(Self, Vec<(Lift, Lift)>)> {
        let Some(first) = parts.first() else { return Err(Error::NothingLearned) };
        let each = |of: fn(&Self) -> Option<[&Nested; 2]>| parts.iter().map(|part| of(part)).collect();
        let nested: Option<Vec<[&Nested; 2]>> = each(|part| match part {
            Self::Shared(kind) => Some([kind.nested(); 2]),
            Self::Controlled(kind) => Some(kind.nested()),
            Self::Separate(_) => None,
        });
        let nested = nested.ok_or_else(separate)?;
        nested.iter().try_for_each(|[x, next]| {
            nested[0][0].check_merge(x).and_then(|()| nested[0][1].check_merge(next))
        })?;
        let (dictionary, lifts) = Nested::joint(&nested.iter().map(|[x, _]| *x).collect::<Vec<_>>())?;
        if let Self::Shared(_) = first {
            let joint = Self::Shared(Box::new(Shared::of(dictionary)));
            return Ok((joint, lifts.into_iter().map(|lift| (lift.clone(), lift)).collect()));
        }
        let (next, next_lifts) = Nested::joint(&nested.iter().map(|[_, next]| *next).collect::<Vec<_>>())?;
        let joint = Self::Controlled(Box::new(Controlled::of(dictionary, next)));
        Ok((joint, lifts.into_iter().zip(next_lifts).collect()))
    }

    /// Freezes the dictionary, and forgets the latest state.
    pub fn freeze(&mut self) -> Result<()> {
        match self {
            Self::Shared(kind) => kind.freeze(),
            Self::Controlled(kind) => kind.freeze(),
            Self::Separate(_) => Err(separate()),
        }
    }

    /// The matrix that maps the coordinates of a function to those of its expectation one step
    /// later, given the weights of the coordinates of `x+`.
    pub fn matrix(&self, weights: MatRef<'_, f64>) -> Mat<f64> {
        self.kind().matrix(weights)
    }

    /// Writes the stored points.
    pub fn write(&self, out: &mut Writer) {
        self.kind().write(out);
    }

    /// Reads the output of [`write`](Self::write). The kernels, of `x` and of `x+`, are resolved
    /// for the widths found.
    pub fn read(&mut self, from: &Reader<'_>, joint: &KernelSpec, states: &KernelSpec) -> Result<()> {
        self.kind_mut().read(from, joint, states)
    }
}

fn separate() -> Error {
    Error::merge("dictionaries filled pair by pair belong to gradient descent; take a basis")
}
