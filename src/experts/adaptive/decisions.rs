//! Decisions after rows and blocks of rows: whether to refit, on which rows, and which experts to drop.

use std::cell::LazyCell;

use ndarray::Array2;

use super::buffer::Sample;
use super::member::Member;
use super::order::{differ, distance, hardly_varied};
use super::params::{OrderParams, RefitParams};
use super::state::{Pending, State};
use super::training::rows_of_width;
use crate::error::Result;
use crate::interrupt::unwatched;
use crate::online::drift::{Drift, Verdict};

/// Most rows per step while trees are made, of which each row does a part.
const ROWS_WITH_TREES: usize = 32;

/// Rows between checks whether a target or a column that has been the same in all rows varies.
const ROWS_TO_FIRST: u64 = 32;

/// Rows since the latest refit, of all so far.
#[derive(Clone, Copy)]
struct RowsSince {
    rows: u64,
    since: u64,
    /// Fewest rows between two refits.
    least: u64,
}

impl RowsSince {
    /// Whether they are at least one in `share` of all rows.
    fn are_share(self, share: u64) -> bool {
        self.since >= self.least.max(self.rows / share)
    }
}

impl State {
    /// Most rows that are learned in one step.
    pub(super) fn rows_of_step(&self) -> usize {
        let most = if self.trees.are_made() { ROWS_WITH_TREES } else { usize::MAX };
        self.rows_to_turn().min(rows_of_width(self.buffer.n_features())).min(most)
    }

    /// Rows until the next [decision](Self::turn), if none has weight 0.
    fn rows_to_turn(&self) -> usize {
        let block = self.rows_of_check() - self.met % self.rows_of_check();
        let age = self.buffer.age();
        usize::try_from(block.min(self.rows_to_preparation(self.spec.params.refits.next_after(age))))
            .unwrap_or(usize::MAX)
    }

    /// Rows between checks: a block, or less while a target or a column has been the same in all rows.
    fn rows_of_check(&self) -> u64 {
        let constant = self.movement.has_constant();
        if constant { self.block().min(ROWS_TO_FIRST) } else { self.block() }
    }

    /// Whether a column that was constant in all rows of the latest refit is no more, which experts cannot tell apart.
    fn has_new_column(&self) -> bool {
        self.movement.has_new_column(self.buffer.n_features())
            && RowsSince { least: ROWS_TO_FIRST, ..self.rows_since_refit() }
                .are_share(2 * self.spec.params.refits.growth)
    }

    /// Rows of a block.
    pub(super) fn block(&self) -> u64 {
        self.spec.params.drift.block_rows
    }

    /// Refits or drops experts if this is due; `more` rows are to come in this call. A refit that is
    /// [interrupted](crate::interrupt) is [repeated](Self::resume) before the next row.
    pub(super) fn turn(&mut self, more: usize) -> Result<()> {
        let age = self.buffer.age();
        if self.spec.params.refits.next_after(age - 1) == age && self.is_far(age) {
            // The new experts catch up with this row, which cannot be interrupted.
            self.follow_preparation(true, more)?;
            self.begin(Pending::Scheduled)?;
        }
        self.look_at_block()?;
        self.prepare_next();
        // At the end: what is interrupted is repeated with the same experts.
        self.follow_preparation(true, more)
    }

    /// Whether the latest refit is far enough from a scheduled one: the buffer keeps few wide rows, whose number would
    /// triple again within a few rows.
    pub(super) fn is_far(&self, due: u64) -> bool {
        let since = self.met - self.began + (due - self.buffer.age());
        since >= due.min(self.spec.params.refits.min_rows) / 2
    }

    /// Repeats an interrupted refit, then continues with the decisions after it.
    pub(super) fn resume(&mut self, more: usize) -> Result<()> {
        self.follow_preparation(false, more)?;
        match self.pending {
            None => {}
            Some(Pending::OfBlock) => self.begin(Pending::OfBlock)?,
            Some(Pending::Scheduled) => {
                self.begin(Pending::Scheduled)?;
                self.look_at_block()?;
            }
        }
        self.prepare_next();
        Ok(())
    }

    /// Decisions at the end of a block of rows.
    fn look_at_block(&mut self) -> Result<()> {
        let (n_seen, block) = (self.met, self.block());
        let columns = self.buffer.n_features();
        if !n_seen.is_multiple_of(block) {
            // A label that no expert knows is not for the rest of the block that of nearly all rows, nor a category.
            let first = n_seen.is_multiple_of(self.rows_of_check())
                && (self.movement.first_varies(columns) || self.has_new_column());
            return if first { self.begin(Pending::OfBlock) } else { Ok(()) };
        }
        let verdict = self.verdict_of_block();
        let ordered = self.look_for_order();
        if ordered && !self.buffer.is_whole() {
            // The apparent change was due to the order of the rows.
            self.preparation = None;
            self.buffer.restore();
            return self.begin(Pending::OfBlock);
        }
        if self.changed > 0 && n_seen == self.changed + block && !self.buffer.is_whole() {
            // The block in which the change was detected also had rows from before it.
            return self.begin_of_latest();
        }
        let OrderParams { blocks_kept, movement, .. } = self.spec.params.order;
        if !self.buffer.is_whole() && n_seen - self.changed >= 2 * blocks_kept * block {
            self.confirm_change();
        }
        let RefitParams { min_rows, growth, .. } = self.spec.params.refits;
        let soon = self.movement.first_varies(columns)
            || self.spec.loss.is_margin() && self.movement.has_rare(columns, self.began);
        let moved = (soon || self.rows_since_refit().are_share(growth)) && self.movement.exceeds(movement);
        match verdict {
            Verdict::Errors if ordered || self.hardly_varied() => {
                self.ordered = blocks_kept;
                if n_seen - self.began >= block { self.begin(Pending::OfBlock) } else { Ok(()) }
            }
            Verdict::Errors if n_seen - self.changed >= min_rows => {
                self.changed = n_seen;
                self.begin_of_latest()
            }
            Verdict::Ranges => self.begin(Pending::OfBlock),
            _ if moved => self.begin(Pending::OfBlock),
            _ => {
                self.retire();
                Ok(())
            }
        }
    }

    /// What the errors of the block, and columns that left their ranges, show.
    fn verdict_of_block(&mut self) -> Verdict {
        let (buffer, params) = (&self.buffer, &self.spec.params);
        let clocks = LazyCell::new(|| buffer.clocks(params));
        let since = self.rows_since_refit();
        let growth = params.refits.growth;
        let counts = |k: usize| since.are_share(2 * growth) && (since.are_share(growth) || !clocks[k]);
        // Where drift was assumed, some more is no news.
        self.drift.end(if self.follows { f64::INFINITY } else { params.drift.ratio }, counts)
    }

    fn rows_since_refit(&self) -> RowsSince {
        RowsSince { rows: self.met, since: self.met - self.began, least: self.spec.params.refits.min_rows }
    }

    /// Whether rows come in an order, which is then taken to continue for some blocks.
    fn look_for_order(&mut self) -> bool {
        // Numbers near to the latest ones may have moved to another scale, which labels cannot.
        let in_runs = self.spec.loss.is_margin() && self.latest_targets_lead();
        let params = &self.spec.params.order;
        let ordered = in_runs || unwatched(|| self.come_in_an_order(params)).unwrap_or(false);
        self.ordered = if ordered { params.blocks_kept } else { self.ordered.saturating_sub(1) };
        ordered
    }

    /// Whether rows come in an order: see [`OrderParams`]. Either half of the block, of which every other row is taken, is
    /// compared with the rows of all time, since rows that are sorted again and again may end anywhere in the order.
    fn come_in_an_order(&self, parameters: &OrderParams) -> Result<bool> {
        if !self.has_lasting() {
            return Ok(false);
        }
        let rows = usize::try_from(self.block()).unwrap_or(usize::MAX);
        let (block, history) = self.buffer.latest_and_history(rows, 2 * parameters.latest);
        let rows: Vec<usize> = (0..block.x.nrows()).collect();
        let parts: Vec<Sample> = (rows.chunks_exact(parameters.latest.max(1)))
            .map(|rows| block.selected(rows))
            .filter(|part| differ(part, &history, parameters.difference))
            .collect();
        if parts.is_empty() {
            return Ok(false);
        }
        let of_history = self.predict_by_both(history.x.view())?;
        for part in &parts {
            let of_part = self.predict_by_both(part.x.view())?;
            let apart = |c: usize| distance(of_part[1].column(c), of_history[1].column(c));
            if (0..self.outputs()).map(apart).fold(0.0, f64::max) <= parameters.distance {
                continue;
            }
            let loss = |of: usize| self.loss_of(part, &of_part[of]) + self.loss_of(&history, &of_history[of]);
            if loss(1) < parameters.loss_ratio * loss(0) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sum of the losses of predictions, of targets in deviations.
    fn loss_of(&self, sample: &Sample, made: &Array2<f64>) -> f64 {
        let unit = |c: usize| {
            if self.spec.loss.is_margin() {
                1.0
            } else {
                self.targets.absolute_deviations[c].max(f64::MIN_POSITIVE)
            }
        };
        let each = |((i, c), target): ((usize, usize), &f64)| {
            self.spec.loss.value(made[(i, c)] / unit(c), target / unit(c))
        };
        sample.y.indexed_iter().map(each).sum()
    }

    /// Whether a target, or a label of which nearly no row was known, first varies in the latest block. Numbers may have
    /// changed their scale.
    fn hardly_varied(&self) -> bool {
        let share = if self.spec.loss.is_margin() { self.spec.params.order.variance } else { 0.0 };
        let block = usize::try_from(self.block()).unwrap_or(usize::MAX);
        hardly_varied(&self.buffer.sample().y, block, share)
    }

    /// Whether the relation drifts: experts with short memory have most of the weight.
    pub(super) fn drifts(&self) -> bool {
        let (drifting_share, limit) =
            (self.spec.params.refits.drifting_share, self.spec.params.members.short_memory);
        let short = |(_, member): &(usize, &Member)| member.forgetting() < limit && !member.is_constant();
        let members = self.members.iter().enumerate().filter(short);
        let shares = members.flat_map(|(e, _)| (0..self.outputs()).map(move |c| self.weight(e, c)));
        self.buffer.age() > self.block() && shares.sum::<f64>() > drifting_share * self.outputs() as f64
    }

    /// Drops the rows before a change; experts that learned them are no longer lasting.
    fn confirm_change(&mut self) {
        self.preparation = None;
        self.buffer.forget_history();
        for member in &mut self.members {
            member.lasts = !member.lasts && member.forgetting() >= 1.0;
        }
        self.lasting = self.new_mixtures(self.mixtures.len());
        self.ordered = 0;
    }

    /// Refits on the latest block alone.
    fn begin_of_latest(&mut self) -> Result<()> {
        self.buffer.forget_before(self.met - self.block());
        self.trees.forget_before(self.met - self.block());
        self.limits.forget();
        self.drift = Drift::new(self.buffer.n_features(), self.spec.params.drift);
        self.begin(Pending::OfBlock)
    }

    /// Drops experts that had no weight for `idle_blocks` blocks, and those that are full. Experts with forgetting stay:
    /// while none of them has weight, those with slow forgetting [skip blocks](Member::rests).
    fn retire(&mut self) {
        let idle = |e: usize| !self.is_weighed(e, self.spec.params.refits.min_weight);
        let idle: Vec<bool> = (0..self.members.len()).map(idle).collect();
        let forgetful = |member: &Member| member.forgetting() < 1.0;
        let drifting = |(member, idle): (&Member, &bool)| forgetful(member) && !member.is_constant() && !idle;
        let drifts = self.members.iter().zip(&idle).any(drifting);
        for (member, idle) in self.members.iter_mut().zip(idle) {
            member.idle = if idle && !(drifts && forgetful(member)) { member.idle + 1 } else { 0 };
        }
        let limit = self.spec.params.members.idle_blocks;
        let active = |member: &Member| member.idle < limit && !member.is_complete();
        let kept: Vec<bool> = self.members.iter().map(|member| active(member) || forgetful(member)).collect();
        if kept.contains(&true) && kept.contains(&false) {
            self.keep(&kept);
        }
    }
}
