//! When a generation begins, with whom, and who leaves.

use ndarray::Axis;

use super::buffer::{Sample, spread};
use super::drift::{BLOCK, Drift, Verdict};
use super::member::{Member, Shape};
use super::race::{GRADIENTS, Gradients, race};
use super::{AdaptiveSpec, State, learn};
use crate::error::{Error, Result};
use crate::experts::mixture::Mixture;

/// Rows since the last change with which the first generation begins, and how many times as many it takes for the next.
const FIRST: u64 = 12;
const GROWTH: u64 = 3;

/// Fewest rows from one generation to the next, where the stream asks for one.
const APART: u64 = 512;

/// Rows from which the predictions of a generation tell more of a metric than a race does.
const LEARNED: usize = 1000;

/// Rows of a cell, at least, when its generation begins.
const ROWS_OF_A_CELL: u64 = 512;

/// Most cells of a member.
const MOST_CELLS: u64 = 16;

/// Forgetting of the members that forget, and how many points they have for one of the others.
const FORGETTING: [(f64, usize); 3] = [(0.998, 2), (0.99, 2), (0.97, 4)];

/// A share in the mixture below this is none.
const NOTHING: f64 = 1e-3;

/// Blocks without a share after which a member leaves.
const PATIENCE: u64 = 4;

/// The members of a generation: which of the race's settings, and how large, after as many rows.
fn members(rows: u64, size: usize) -> Vec<(usize, Shape)> {
    let cells = usize::try_from((rows / ROWS_OF_A_CELL).clamp(1, MOST_CELLS)).unwrap_or(1);
    let steady = |cells: usize, size: usize| Shape { cells, size, forgetting: 1.0 };
    let mut all = if rows < 2 * ROWS_OF_A_CELL {
        (0..4).map(|rank| (rank, steady(1, size))).collect()
    } else {
        vec![
            (0, steady(1, size + size / 2)),
            (1, steady(1, size)),
            (0, steady(cells, size)),
            (1, steady(cells, size)),
            (2, steady(cells, size)),
        ]
    };
    let forgetful =
        |(forgetting, share): (f64, usize)| Shape { cells: 1, size: size.div_ceil(share), forgetting };
    all.extend(FORGETTING.map(|each| (0, forgetful(each))));
    all
}

/// The number of rows, more than these, with which the next generation is due.
fn next_after(rows: u64) -> u64 {
    let mut next = FIRST;
    while next <= rows {
        next = next.saturating_mul(GROWTH);
    }
    next
}

impl State {
    /// Rows until something may have to be decided.
    pub(super) fn rows_to_turn(&self, n_seen: u64) -> usize {
        let block = BLOCK as u64 - n_seen % BLOCK as u64;
        let age = self.buffer.age();
        usize::try_from(block.min(next_after(age) - age)).unwrap_or(BLOCK)
    }

    /// Decides, where it is time to, what becomes of the members.
    pub(super) fn turn(&mut self, n_seen: u64, spec: &AdaptiveSpec) {
        let age = self.buffer.age();
        if next_after(age - 1) == age {
            self.begin(n_seen, spec);
        }
        if !n_seen.is_multiple_of(BLOCK as u64) {
            return;
        }
        let verdict = self.drift.end();
        let since = n_seen - self.began;
        match verdict {
            Verdict::Errors if since >= APART => {
                self.buffer.forget_before(n_seen - BLOCK as u64);
                self.begin(n_seen, spec);
            }
            Verdict::Ranges if since >= APART.max(n_seen / 8) => self.begin(n_seen, spec),
            _ => self.retire(),
        }
    }

    /// Begins a generation.
    fn begin(&mut self, n_seen: u64, spec: &AdaptiveSpec) {
        self.drift = Drift::new(self.buffer.n_features());
        let sample = self.buffer.sample();
        let gradients = self.gradients(&sample).ok();
        let Ok(settings) = race(&sample, gradients.as_ref(), spec.size) else { return };
        let number = self.generations + 1;
        let new = members(self.buffer.age(), spec.size).into_iter().filter_map(|(rank, shape)| {
            let setting = settings.get(rank)?;
            Member::new(setting, shape, spec.loss, sample.x.view(), number).ok()
        });
        let mut new: Vec<Member> = new.collect();
        let learned = learn(&mut new, sample.x.view(), sample.y.view(), Some(sample.weights.view()));
        let new = new.into_iter().zip(learned).filter_map(|(member, learned)| learned.map(|_| member));
        let new: Vec<Member> = new.collect();
        (self.generations, self.began) = (number, n_seen);
        if new.is_empty() {
            return;
        }
        // Of those before, the ones that are believed go on beside the new ones.
        let believed = |(e, member): (usize, &Member)| {
            member.generation + 1 == number && (0..self.outputs()).any(|c| self.weight(e, c) > NOTHING)
        };
        self.keep(&self.members.iter().enumerate().map(believed).collect::<Vec<_>>());
        self.members.extend(new);
        self.mixtures = vec![Mixture::new(spec.mixture, spec.loss, self.members.len()); self.outputs()];
    }

    /// Gradients of the predictions at rows of a sample, if there are enough rows behind them.
    fn gradients(&self, sample: &Sample) -> Result<Gradients> {
        if self.members.is_empty() || sample.x.nrows() < LEARNED {
            return Err(Error::NothingLearned);
        }
        let n = sample.x.nrows();
        let x = sample.x.select(Axis(0), &spread(n.min(GRADIENTS), n));
        let mut slopes = self.gradient(x.view())?;
        for (c, deviation) in self.deviation.iter().enumerate().filter(|(_, deviation)| **deviation > 0.0) {
            slopes.index_axis_mut(Axis(1), c).mapv_inplace(|slope| slope / deviation);
        }
        Ok(Gradients { x, slopes })
    }

    /// Lets members go that have had no share for a while.
    fn retire(&mut self) {
        for e in 0..self.members.len() {
            let idle = (0..self.outputs()).all(|c| self.weight(e, c) < NOTHING);
            let member = &mut self.members[e];
            member.idle = if idle { member.idle + 1 } else { 0 };
        }
        let kept: Vec<bool> =
            self.members.iter().map(|member| member.idle < PATIENCE || member.forgets()).collect();
        if kept.contains(&true) && kept.contains(&false) {
            self.keep(&kept);
        }
    }
}
