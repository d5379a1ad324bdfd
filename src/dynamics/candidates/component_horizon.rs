//! Forecasts of one component over one horizon, and their errors.

use std::collections::VecDeque;

use super::direct::Direct;
use super::intervals::Widths;
use super::numbers::{Numbers, Pass, pass_all};
use super::parameters::{CandidateParams, independent};
use super::weights::{Span, WAYS, Weights};

/// Pending forecasts from one row, of all kinds.
#[derive(Clone, Debug, Default)]
pub struct PendingKinds {
    /// Index of the target's row.
    pub target: usize,
    pub kinds: Vec<f64>,
    pub mixed: f64,
    /// Mixtures by each way of weighting.
    pub ways: Vec<f64>,
    /// Error scales when the forecasts were issued: absolute, and relative to the forecast.
    pub sizes: [f64; 2],
    /// Forecasts of all smoothing constants, on values and on logarithms.
    pub smoothed: [Vec<f64>; 2],
}

#[derive(Clone, Debug, Default)]
pub struct ComponentHorizon {
    pub weights: Weights,
    pub widths: [Widths; 2],
    /// On values, on logarithms, and on the latest row alone.
    pub direct: [Direct; 3],
    waiting: VecDeque<PendingKinds>,
    /// Sum of recent differences of log likelihoods: that of errors in proportion to the forecast less that of errors of
    /// one scale.
    proportional: f64,
    /// Mean squared errors of all smoothing constants.
    smoothed: [Vec<f64>; 2],
}

/// Decay of the weight of a smoothing loss per loss.
const KEEP: f64 = 0.98;

/// The same of a difference of log likelihoods, and its largest size: one error decides little.
const REMEMBER: f64 = 0.99;
const FARTHEST: f64 = 3.0;

/// Difference of log likelihoods, of forecasts that do not overlap, from which errors are of one scale.
const DOUBT: f64 = 2.0;

impl ComponentHorizon {
    pub fn new(kinds: usize) -> Self {
        Self { weights: Weights::new(kinds), widths: [Widths::new(), Widths::new()], ..Self::default() }
    }

    /// The pending forecasts of this row.
    pub fn due(&mut self, now: usize) -> Option<PendingKinds> {
        while self.waiting.front().is_some_and(|made| made.target < now) {
            self.waiting.pop_front();
        }
        if self.waiting.front().is_none_or(|made| made.target > now) {
            None
        } else {
            self.waiting.pop_front()
        }
    }

    /// Compares forecasts with the value of their row. `spare`: place of the one that is used only where others are lacking.
    pub fn judge(
        &mut self,
        made: &PendingKinds,
        spare: usize,
        truth: f64,
        span: Span,
        parameters: &CandidateParams,
    ) {
        self.weights.learn((&made.kinds, spare), (made.mixed, &made.ways), truth, span, parameters);
        let error = truth - made.mixed;
        // Laplace's distribution, whose scale is the mean absolute error.
        let unlikely = |scale: f64| scale.ln() + (error / scale).abs();
        let gain = unlikely(made.sizes[0]) - unlikely(made.sizes[1] * made.mixed.abs());
        if gain.is_finite() {
            self.proportional = REMEMBER * self.proportional + gain.clamp(-FARTHEST, FARTHEST);
        }
        self.widths[0].learn(error, made.sizes[0], span.0, parameters);
        if made.mixed != 0.0 {
            self.widths[1].learn(error / made.mixed, made.sizes[1], span.0, parameters);
        }
        for (losses, made) in self.smoothed.iter_mut().zip(&made.smoothed) {
            // In the first rows of a trajectory there are none.
            if made.is_empty() {
                continue;
            }
            if losses.len() != made.len() {
                *losses = vec![f64::NAN; made.len()];
            }
            for (loss, made) in losses.iter_mut().zip(made) {
                let error = (made - truth).powi(2);
                if error.is_nan() {
                    continue;
                }
                *loss = if loss.is_nan() { error } else { KEEP * *loss + (1.0 - KEEP) * error };
            }
        }
    }

    /// Whether errors so far may be in proportion to the forecast; else they are clearly of one scale. Errors of forecasts
    /// over `rows` rows that overlap count in part.
    pub fn is_proportional(&self, rows: usize) -> bool {
        independent(self.proportional, rows) >= -DOUBT
    }

    /// Index of the smoothing constants with the least loss over the horizon.
    pub fn best_smoothing(&self, logs: bool, count: usize) -> Option<usize> {
        let losses = &self.smoothed[usize::from(logs)];
        let known = losses.iter().enumerate().filter(|(_, loss)| loss.is_finite());
        let best = known.min_by(|a, b| a.1.total_cmp(b.1)).map(|(place, _)| place);
        best.filter(|_| losses.len() == count)
    }

    pub fn wait(&mut self, made: PendingKinds) {
        self.waiting.push_back(made);
    }

    /// Drops pending forecasts: another trajectory begins.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Takes the losses of a kind, and its forecasts that wait for their targets, from another of the same rows.
    pub fn keep(&mut self, kind: usize, from: &Self) {
        self.weights.keep(kind, &from.weights);
        for made in &mut self.waiting {
            if let Some(other) = from.waiting.iter().find(|other| other.target == made.target) {
                made.kinds[kind] = other.kinds[kind];
            }
        }
    }

    /// Makes room for as many kinds in a file of fewer; the others have made no forecasts.
    pub fn resize(&mut self, former: usize, kinds: usize) {
        let are_former = self.waiting.iter().all(|made| made.kinds.len() == former);
        if are_former && self.weights.has_kinds(former) {
            self.weights.resize(kinds);
            self.waiting.iter_mut().for_each(|made| made.kinds.resize(kinds, f64::NAN));
        }
    }

    pub fn is_sound(&self, kinds: usize) -> bool {
        self.weights.is_sound(kinds)
            && self.proportional.is_finite()
            && self.widths.iter().all(Widths::is_sound)
            && self.direct.iter().all(Direct::is_sound)
            && self.waiting.iter().all(|made| made.kinds.len() == kinds && made.ways.len() == WAYS)
    }
}

impl Numbers for PendingKinds {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.count(&mut self.target);
        pass.list(&mut self.kinds);
        pass.number(&mut self.mixed);
        pass.list(&mut self.ways);
        self.sizes.iter_mut().for_each(|size| pass.number(size));
        self.smoothed.iter_mut().for_each(|made| pass.list(made));
    }
}

impl Numbers for ComponentHorizon {
    fn pass(&mut self, pass: &mut dyn Pass) {
        self.weights.pass(pass);
        self.widths.iter_mut().for_each(|widths| widths.pass(pass));
        self.direct.iter_mut().for_each(|direct| direct.pass(pass));
        pass.number(&mut self.proportional);
        self.smoothed.iter_mut().for_each(|losses| pass.list(losses));
        let mut waiting: Vec<PendingKinds> = std::mem::take(&mut self.waiting).into();
        pass_all(&mut waiting, pass);
        self.waiting = waiting.into();
    }
}
