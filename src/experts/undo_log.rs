//! Undo log for single rows.

use ndarray::{ArrayView1, ArrayView2};

use super::{Experts, Member, Mixture};
use crate::experts::Expert;
use crate::uncertainty::{Calibration, Prequential};
use crate::validate::one_row;

/// Rows between two copies: enough for a copy to cost little beside them.
const MOST: usize = 256;

/// A copy of the experts, and the rows learned one at a time since, which can be learned again.
///
/// A row that one expert refuses must leave all of them unchanged, also those that have learned it.
/// A copy for each row would cost many times as much as learning it.
#[derive(Clone)]
pub(super) struct UndoLog<M> {
    before: Option<(Vec<Member<M>>, Vec<Mixture>, Calibration)>,
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
}

impl<M> UndoLog<M> {
    pub(super) fn new() -> Self {
        Self { before: None, x: Vec::new(), y: Vec::new(), weights: Vec::new() }
    }
}

impl<M: Expert> Experts<M> {
    /// Prepares for a row that may have to be undone.
    pub(super) fn open_undo_log(&mut self) {
        let undo_log = &mut self.undo_log;
        if undo_log.before.is_none() || undo_log.weights.len() == MOST {
            undo_log.before = Some((self.members.clone(), self.mixtures.clone(), self.calibration.clone()));
            undo_log.x.clear();
            undo_log.y.clear();
            undo_log.weights.clear();
        }
    }

    /// Records a learned row.
    pub(super) fn note(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) {
        self.undo_log.x.extend(x);
        self.undo_log.y.extend(y);
        self.undo_log.weights.push(weights.map_or(1.0, |weights| weights[0]));
    }

    /// Restores the state before the latest row.
    pub(super) fn take_back(&mut self) {
        let UndoLog { before, x, y, weights } = std::mem::replace(&mut self.undo_log, UndoLog::new());
        let Some((members, mixtures, calibration)) = before else { return };
        (self.members, self.mixtures, self.calibration) = (members, mixtures, calibration);
        let (width, outputs) = (x.len() / weights.len().max(1), y.len() / weights.len().max(1));
        for (i, weight) in weights.iter().enumerate() {
            let (x, y) = (&x[i * width..(i + 1) * width], &y[i * outputs..(i + 1) * outputs]);
            let weights = ArrayView1::from(std::slice::from_ref(weight));
            // What was learned once can be learned again.
            let _ = self.learn_part(one_row(x), one_row(y), Some(weights), Prequential::default());
        }
    }
}
