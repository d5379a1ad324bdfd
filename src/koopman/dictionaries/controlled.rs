//! A dictionary of states with inputs and one of states, each filled point by point.

use super::kind::{FILED, Kind, RoundScratch, features_of};
use super::shared::begun;
use super::states::{BlockPanels, BlockStates, apart, rows};
use crate::basis::{Basis as _, BasisSpec, MergeBasis as _, Nested, NestedFeatures};
use crate::error::Result;
use crate::kernel::KernelSpec;
use crate::koopman::operator::Operator;
use crate::koopman::sums::Weights;
use crate::persist::{Reader, Writer};

/// Each state `x` followed by its input in one dictionary, each `x+` in the other.
#[derive(Clone, Debug)]
pub(in crate::koopman) struct Controlled {
    dictionary: Nested,
    dictionary_next: Nested,
    round: RoundScratch,
    blocks: [BlockStates; 2],
    panels: BlockPanels,
}

impl Controlled {
    /// For states with inputs and for states, each with their kernel and width.
    pub fn new(basis: &BasisSpec, joint: (&KernelSpec, usize), states: (&KernelSpec, usize)) -> Result<Self> {
        Ok(Self::of(begun(basis, joint.0, joint.1)?, begun(basis, states.0, states.1)?))
    }

    /// With states that are already stored.
    pub fn of(dictionary: Nested, dictionary_next: Nested) -> Self {
        Self {
            dictionary,
            dictionary_next,
            round: RoundScratch::default(),
            blocks: Default::default(),
            panels: BlockPanels::default(),
        }
    }

    pub fn nested(&self) -> [&Nested; 2] {
        [&self.dictionary, &self.dictionary_next]
    }

    /// Stores no further state.
    pub fn freeze(&mut self) -> Result<()> {
        self.dictionary.freeze()?;
        self.dictionary_next.freeze()
    }
}

impl Kind for Controlled {
    fn dictionary(&self) -> &NestedFeatures {
        features_of(&self.dictionary)
    }

    fn dictionary_next(&self) -> &NestedFeatures {
        features_of(&self.dictionary_next)
    }

    fn learn_pair(&mut self, operator: &mut Operator, x: &[f64], next: &[f64], weight: f64) -> Result<()> {
        let Self { dictionary, dictionary_next, round, .. } = self;
        dictionary.take(x, &mut round.z)?;
        dictionary_next.take(next, &mut round.s)?;
        round.set_target(next);
        operator.grow(dictionary.dim(), round.target.len());
        operator.learn(&round.z, &round.s, &round.target, weight, &mut round.prediction)
    }

    fn learn_block(&mut self, operator: &mut Operator, pairs: &[f64], weights: Weights<'_>) -> Result<bool> {
        if !operator.learns_blocks() {
            return Ok(false);
        }
        let before = self.sizes();
        let Self { dictionary, dictionary_next, blocks: [block, block_next], panels, .. } = self;
        let BlockPanels { z, target, turned } = panels;
        let (features, features_next) = (features_of(dictionary), features_of(dictionary_next));
        let (joint, width) = (features.points().width(), features_next.points().width());
        let (from, to) = apart(pairs, joint, width);
        if !block.begin(features, rows(&from, joint)) || !block_next.begin(features_next, rows(&to, width)) {
            return Ok(false);
        }
        block.store_novel(dictionary);
        block_next.store_novel(dictionary_next);
        let every: Vec<usize> = (0..block.states.len()).collect();
        block_next.targets(&every, [z, turned, target]);
        block.matrix(&every, z);
        operator.grow(z.cols(), target.rows());
        let learned = operator.learn_block(z.as_faer(), target.as_faer(), weights);
        if !learned {
            operator.shrink(before.0, width + before.1);
            self.truncate(before);
        }
        Ok(learned)
    }

    fn truncate(&mut self, (size, size_next): (usize, usize)) {
        self.dictionary.rollback(size);
        self.dictionary_next.rollback(size_next);
    }

    fn write(&self, out: &mut Writer) {
        self.dictionary.write_features(out, FILED[0]);
        self.dictionary_next.write_features(out, FILED[1]);
    }

    fn read(&mut self, from: &Reader<'_>, joint: &KernelSpec, states: &KernelSpec) -> Result<()> {
        for (nested, name, kernel) in
            [(&mut self.dictionary, FILED[0], joint), (&mut self.dictionary_next, FILED[1], states)]
        {
            nested.read_features(from, name, kernel)?;
        }
        Ok(())
    }
}
