//! What it takes to take a single row back.

use ndarray::{ArrayView1, ArrayView2};

use super::{Experts, Member, Mixture};
use crate::model::AsModel;
use crate::uncertainty::{Calibration, Prequential};
use crate::validate::one_row;

/// Rows after which the copy is made anew: enough for it to cost little beside them.
const MOST: usize = 256;

/// A copy of the experts, and the rows they learned one at a time since, each of which can be learned again.
///
/// A row that one expert refuses must leave all of them as they were, also those that have learned it. A copy
/// for each row would cost many times what learning it does.
#[derive(Clone)]
pub(super) struct Journal<M> {
    before: Option<(Vec<Member<M>>, Vec<Mixture>, Calibration)>,
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
}

impl<M> Journal<M> {
    pub(super) fn new() -> Self {
        Self { before: None, x: Vec::new(), y: Vec::new(), weights: Vec::new() }
    }
}

impl<M: AsModel> Experts<M> {
    /// Gets ready to learn a row that may have to be taken back.
    pub(super) fn open_journal(&mut self) {
        let journal = &mut self.journal;
        if journal.before.is_none() || journal.weights.len() == MOST {
            journal.before = Some((self.members.clone(), self.mixtures.clone(), self.calibration.clone()));
            journal.x.clear();
            journal.y.clear();
            journal.weights.clear();
        }
    }

    /// Takes down a row that was learned.
    pub(super) fn note(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) {
        self.journal.x.extend(x);
        self.journal.y.extend(y);
        self.journal.weights.push(weights.map_or(1.0, |weights| weights[0]));
    }

    /// Goes back to where the latest row was not learned.
    pub(super) fn take_back(&mut self) {
        let Journal { before, x, y, weights } = std::mem::replace(&mut self.journal, Journal::new());
        let Some((members, mixtures, calibration)) = before else { return };
        (self.members, self.mixtures, self.calibration) = (members, mixtures, calibration);
        let (width, outputs) = (x.len() / weights.len().max(1), y.len() / weights.len().max(1));
        for (i, weight) in weights.iter().enumerate() {
            let (x, y) = (&x[i * width..(i + 1) * width], &y[i * outputs..(i + 1) * outputs]);
            let weights = ArrayView1::from(std::slice::from_ref(weight));
            // What was learned once is learned again.
            let _ = self.learn_part(one_row(x), one_row(y), Some(weights), Prequential::default());
        }
    }
}
