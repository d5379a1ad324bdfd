//! A dictionary of states `x` and one of states `x+`, filled by pairs (Hou et al., Algorithm 1, in nested
//! coordinates).

use faer::{Mat, MatRef};

use super::kind::{FILED, Kind, RoundScratch};
use super::states::{BlockPanels, BlockStates, apart, rows};
use crate::basis::NestedFeatures;
use crate::error::{Error, Result};
use crate::kernel::KernelSpec;
use crate::koopman::admission::{Candidate, HilbertSchmidt};
use crate::koopman::operator::Operator;
use crate::koopman::products::product;
use crate::koopman::sums::Weights;
use crate::learner::{Gradient, Learner as _, Rounds};
use crate::linalg::{Coordinates, Panel, loops};
use crate::persist::{Reader, Writer};

/// Each state of a pair may be stored without the other, unless they are `paired`.
#[derive(Clone, Debug)]
pub(in crate::koopman) struct Separate {
    dictionary: NestedFeatures,
    dictionary_next: NestedFeatures,
    admission: HilbertSchmidt,
    paired: bool,
    round: RoundScratch,
    block: BlockScratch,
}

/// Scratch of a block, kept between blocks. Not part of copies of a model.
#[derive(Debug, Default)]
struct BlockScratch {
    states: [BlockStates; 2],
    panels: BlockPanels,
    /// Predictions at `x` by the weights before the block, one per column.
    predictions: Panel,
    /// Inner products of the coordinates before the block.
    within: Panel,
    rounds: Rounds,
}

impl Clone for BlockScratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Separate {
    pub fn new(
        dictionary: NestedFeatures,
        dictionary_next: NestedFeatures,
        admission: HilbertSchmidt,
        paired: bool,
    ) -> Self {
        let (round, block) = (RoundScratch::default(), BlockScratch::default());
        Self { dictionary, dictionary_next, admission, paired, round, block }
    }
}

impl Kind for Separate {
    fn dictionary(&self) -> &NestedFeatures {
        &self.dictionary
    }

    fn dictionary_next(&self) -> &NestedFeatures {
        &self.dictionary_next
    }

    fn learn_pair(&mut self, operator: &mut Operator, x: &[f64], next: &[f64], _weight: f64) -> Result<()> {
        let Self { dictionary, dictionary_next, admission, paired, round, .. } = self;
        let here = dictionary.project(x, &mut round.z);
        let there = dictionary_next.project(next, &mut round.s);
        here.check_bound(round.z.as_slice().iter().copied())?;
        there.check_bound(round.s.as_slice().iter().copied())?;
        round.set_target(next);
        let RoundScratch { z, s, target, prediction } = round;
        operator.apply(z, prediction);
        let error = s.as_slice().iter().zip(&prediction[next.len()..]).map(|(s, f)| (s - f) * (s - f)).sum();
        let candidate = Candidate {
            step: operator.step(),
            within: z.squared_norm(),
            error,
            here,
            n_stored: dictionary.dim(),
            there,
            n_stored_next: dictionary_next.dim(),
        };
        let (store, store_next) = admission.decide(&candidate, *paired);
        if store {
            dictionary.append(x, z, &here);
        }
        if store_next {
            target.push(dictionary_next.own_coordinate(&there));
            dictionary_next.append(next, s, &there);
            prediction.push(0.0);
        }
        operator.grow(dictionary.dim(), target.len());
        operator.learn_from(z, target, prediction)
    }

    fn learn_block(&mut self, operator: &mut Operator, pairs: &[f64], _weights: Weights<'_>) -> Result<bool> {
        let Some(gradient) = operator.descent_mut() else { return Ok(false) };
        let Self { dictionary, dictionary_next, admission, paired, block, .. } = self;
        let BlockScratch { states: [here, there], panels, predictions, within, rounds } = block;
        let BlockPanels { z, target, turned } = panels;
        let (mut made, mut wanted, mut slopes) = (Coordinates::default(), Vec::new(), Vec::new());
        let (joint, width) = (dictionary.points().width(), dictionary_next.points().width());
        let (from, to) = apart(pairs, joint, width);
        if !here.begin(dictionary, rows(&from, joint)) || !there.begin(dictionary_next, rows(&to, width)) {
            return Ok(false);
        }
        Gradient::begin(gradient, rounds);
        let every: Vec<usize> = (0..here.states.len()).collect();
        there.targets(&every, [z, turned, target]);
        here.old.times(here.old.as_faer().transpose(), within);
        here.old.times(gradient.weights().as_faer(), turned);
        turned.transpose_into(predictions);
        for &t in &every {
            wanted.clear();
            wanted.extend_from_slice(&target.col(t)[..target.rows()]);
            wanted.extend(there.fresh.iter().map(|row| row[t]));
            made.set(predictions.col(t)[..predictions.rows()].iter().copied());
            there.fresh.iter().for_each(|_| made.push(0.0));
            let inner =
                |i: usize| within.get(i, t) + here.fresh.iter().map(|row| row[i] * row[t]).sum::<f64>();
            rounds.predict(&mut made, inner);
            let mut squared = inner(t);
            slopes.clear();
            slopes
                .extend(made.as_slice().iter().zip(&wanted).skip(width).map(|(made, wanted)| wanted - made));
            let candidate = Candidate {
                step: gradient.gain_after(rounds),
                within: squared,
                error: loops::dot(&slopes, &slopes),
                here: here.projections[t],
                n_stored: here.dim(),
                there: there.projections[t],
                n_stored_next: there.dim(),
            };
            let (store, store_next) = admission.decide(&candidate, *paired);
            if store {
                squared += dictionary.own_coordinate(&candidate.here).powi(2);
                here.store(dictionary, t);
            }
            if store_next {
                made.push(0.0);
                wanted.push(dictionary_next.own_coordinate(&candidate.there));
                there.store(dictionary_next, t);
            }
            slopes.resize(wanted.len(), 0.0);
            gradient
                .take(rounds, &wanted, 1.0, made.as_slice(), squared, &mut slopes)
                .map_err(|error| error.shifted(t))?;
        }
        here.matrix(&every, z);
        gradient.grow(here.dim());
        gradient.grow_outputs(width + there.dim());
        gradient.carry_out(z.as_faer(), rounds);
        Ok(true)
    }

    fn truncate(&mut self, (size, size_next): (usize, usize)) {
        self.dictionary.truncate(size);
        self.dictionary_next.truncate(size_next);
    }

    fn matrix(&self, weights: MatRef<'_, f64>) -> Mat<f64> {
        // Positions of the stored x in the span of the stored x+: the map from the end of a pair to
        // the beginning of the next.
        let mut across = self.dictionary_next.coordinates(self.dictionary.points().panel().to_array().view());
        self.dictionary.factor().solve_block(across.as_faer_mut());
        product(weights, across.as_faer().transpose())
    }

    fn write(&self, out: &mut Writer) {
        self.dictionary.write(out, FILED[0]);
        self.dictionary_next.write(out, FILED[1]);
    }

    fn read(&mut self, from: &Reader<'_>, joint: &KernelSpec, states: &KernelSpec) -> Result<()> {
        self.dictionary = NestedFeatures::read(from, FILED[0], joint, 0.0)?;
        self.dictionary_next = NestedFeatures::read(from, FILED[1], states, 0.0)?;
        let (size, next) = self.sizes();
        if self.admission.max_size.is_some_and(|most| size.max(next) > most) {
            return Err(Error::file("its dictionaries hold more states than their size allows"));
        }
        Ok(())
    }
}
