//! One dictionary over both states of every pair.

use super::kind::{Kind, RoundScratch, features_of};
use super::states::{BlockPanels, BlockStates, rows};
use crate::basis::{
    Basis as _, BasisFile as _, BasisGrowth as _, BasisSpec, MergeBasis as _, Nested, NestedFeatures,
};
use crate::error::{Result, in_range};
use crate::kernel::KernelSpec;
use crate::koopman::operator::Operator;
use crate::koopman::sums::Weights;
use crate::linalg::Coordinates;
use crate::persist::{Reader, Writer};

/// One dictionary, filled point by point. `x` is projected before `x+`, and counts as zero in the
/// coordinate that `x+` adds.
#[derive(Clone, Debug)]
pub(in crate::koopman) struct Shared {
    nested: Nested,
    recent: Recent,
    round: RoundScratch,
    block: BlockStates,
    panels: BlockPanels,
}

/// The state `x+` of the latest pair, which is the `x` of the next one along a trajectory: its
/// coordinates are not computed again.
#[derive(Clone, Debug, Default)]
struct Recent {
    point: Vec<f64>,
    /// Coordinates of `point`; valid if they are as many as there are now.
    coordinates: Coordinates,
    valid: bool,
}

impl Recent {
    fn is(&self, x: &[f64]) -> bool {
        self.valid && same(&self.point, x)
    }

    fn set_point(&mut self, point: &[f64]) {
        self.point.clear();
        self.point.extend_from_slice(point);
        self.valid = true;
    }
}

impl Shared {
    pub fn new(basis: &BasisSpec, kernel: &KernelSpec, width: usize) -> Result<Self> {
        begun(basis, kernel, width).map(Self::of)
    }

    /// With states that are already stored.
    pub fn of(nested: Nested) -> Self {
        Self {
            nested,
            recent: Recent::default(),
            round: RoundScratch::default(),
            block: BlockStates::default(),
            panels: BlockPanels::default(),
        }
    }

    pub fn nested(&self) -> &Nested {
        &self.nested
    }

    /// Stores no further state.
    pub fn freeze(&mut self) -> Result<()> {
        self.recent = Recent::default();
        self.nested.freeze()
    }
}

/// A dictionary of points of this width that is filled point by point.
pub(in crate::koopman) fn begun(basis: &BasisSpec, kernel: &KernelSpec, width: usize) -> Result<Nested> {
    let mut nested = basis.nested(kernel)?;
    let loss_driven = nested.loss_driven();
    in_range("loss_driven", loss_driven, !loss_driven, "False for an operator, which has no labels")?;
    nested.begin(width)?;
    Ok(nested)
}

impl Kind for Shared {
    fn dictionary(&self) -> &NestedFeatures {
        features_of(&self.nested)
    }

    fn dictionary_next(&self) -> &NestedFeatures {
        features_of(&self.nested)
    }

    fn learn_pair(&mut self, operator: &mut Operator, x: &[f64], next: &[f64], weight: f64) -> Result<()> {
        let Self { nested, recent, round, .. } = self;
        if recent.is(x) {
            // Along a trajectory: x was projected last, so its coordinates are complete.
            round.z.set(recent.coordinates.as_slice().iter().copied());
        } else {
            nested.take(x, &mut round.z)?;
        }
        nested.take(next, &mut round.s)?;
        if round.z.len() < nested.dim() {
            // x+ became a coordinate, in which x counts as zero, as all earlier states: its small
            // value there, with a small ridge, would make the new weights too large.
            round.z.push(0.0);
        }
        round.set_target(next);
        operator.grow(nested.dim(), round.target.len());
        operator.learn(&round.z, &round.s, &round.target, weight, &mut round.prediction)?;
        recent.set_point(next);
        std::mem::swap(&mut round.s, &mut recent.coordinates);
        Ok(())
    }

    fn learn_block(&mut self, operator: &mut Operator, pairs: &[f64], weights: Weights<'_>) -> Result<bool> {
        if !operator.learns_blocks() {
            return Ok(false);
        }
        let Self { nested, recent, block, panels: BlockPanels { z, target, turned }, .. } = self;
        let features = features_of(nested);
        let (before, width) = (features.dim(), features.points().width());
        // Each state once: along a trajectory x is the previous x+.
        let mut states: Vec<f64> = Vec::with_capacity(pairs.len());
        let mut place = Vec::with_capacity(pairs.len() / width);
        for state in pairs.chunks_exact(width) {
            let known =
                states.len() >= width && same(&states[states.len() - width..], state) && place.len() % 2 == 0;
            if !known {
                states.extend_from_slice(state);
            }
            place.push(states.len() / width - 1);
        }
        if !block.begin(features, rows(&states, width)) {
            return Ok(false);
        }
        block.store_novel(nested);
        let from: Vec<usize> = place.iter().step_by(2).copied().collect();
        let to: Vec<usize> = place.iter().skip(1).step_by(2).copied().collect();
        block.targets(&to, [z, turned, target]);
        block.matrix(&from, z);
        operator.grow(block.dim(), target.rows());
        if !operator.learn_block(z.as_faer(), target.as_faer(), weights) {
            operator.shrink(before, width + before);
            nested.rollback(before);
            return Ok(false);
        }
        if let Some(&last) = to.last() {
            recent.set_point(&states[last * width..(last + 1) * width]);
            recent.coordinates.set(block.coordinates(last));
        }
        Ok(true)
    }

    fn truncate(&mut self, (size, _): (usize, usize)) {
        self.nested.rollback(size);
    }

    fn write(&self, out: &mut Writer) {
        self.nested.write(out);
        if self.recent.valid {
            out.vector("recent.point", &self.recent.point);
            out.vector("recent.coordinates", self.recent.coordinates.as_slice());
        }
    }

    fn read(&mut self, from: &Reader<'_>, _joint: &KernelSpec, _states: &KernelSpec) -> Result<()> {
        self.nested.read(from)?;
        if from.has("recent.point") {
            let (width, size) = (self.dictionary().points().width(), self.dictionary().dim());
            self.recent.set_point(&from.vector("recent.point", width)?);
            self.recent.coordinates.set(from.vector("recent.coordinates", size)?);
        }
        Ok(())
    }
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
