//! When a generation begins, with whom, and who leaves.

use std::cell::LazyCell;

use ndarray::{Array2, Axis};

use super::AdaptiveSpec;
use super::agop::{Gradients, gradient_rows};
use super::buffer::Sample;
use super::member::{Member, Shape};
use super::order::{Movement, differ, distance, first_varies};
use super::params::{OrderParams, RefitParams};
use super::preprocessing::{Transform, Views};
use super::selection::{Setting, rough_setting, select, without_selection};
use super::spec::of_loss;
use super::state::{Pending, State};
use crate::error::{Error, Result};
use crate::experts::Mixture;
use crate::experts::answers::{Answers, Round};
use crate::online::drift::{Drift, Verdict};
use crate::random::permutation;
use crate::threads::ask_each_block;
use crate::uncertainty::{Calibration, Prequential};

/// Numbers of rows that are learned at once, or of one row that has more: an interrupt is noticed between them.
const NUMBERS_AT_ONCE: usize = 1 << 17;

/// The members of a generation after as many rows: settings of the select, and how large.
fn members<'a>(rows: u64, spec: &AdaptiveSpec, settings: &'a [Setting]) -> Vec<(&'a Setting, Shape)> {
    let (size, params) = (spec.size, &spec.params.refits);
    let steady = |cells: usize, size: usize| Shape { cells, size, forgetting: 1.0, exact: false };
    let shapes = if rows < params.cell_rows {
        (0..4).map(|rank| (rank, steady(1, size))).collect()
    } else {
        let small = usize::try_from((rows / params.small_cell_rows).min(params.max_small_cells)).unwrap_or(1);
        let most = params.max_small_cells / 4;
        let large = usize::try_from((rows / (4 * params.small_cell_rows)).min(most)).unwrap_or(1);
        let small = steady(small, (params.small_cell_sixths * size).div_ceil(6));
        let small = (0..of_loss(spec.loss, params.small_cell_settings)).map(move |rank| (rank, small));
        let whole = (0, steady(1, size));
        [whole, (0, steady(large, size))].into_iter().chain(small).collect::<Vec<_>>()
    };
    let made = |(rank, shape): (usize, Shape)| settings.get(rank).map(|setting| (setting, shape));
    let mut all: Vec<_> = shapes.into_iter().filter_map(made).collect();
    all.extend(settings.first().into_iter().flat_map(|best| forgetful(best, size, params, 3)));
    all
}

/// Members that have learned a sample, those that failed left out, and what each predicted of its rows before.
fn learned(mut members: Vec<Member>, views: &Views, sample: &Sample) -> Result<Vec<(Member, Answers)>> {
    let mut made = vec![Some(Answers::zeros(sample.y.dim())); members.len()];
    let learn = |views: &Views,
                 sample: &Sample,
                 members: &mut [Member],
                 made: &mut [Option<Answers>],
                 rows: &[usize]| {
        let (y, weights) = (sample.y.view(), Some(sample.weights.view()));
        ask_each_block(members.iter_mut().zip(made), |(member, made)| {
            match (member.learn(views, y, weights), made.as_mut()) {
                (Ok(answers), Some(made)) => made.put_all(&answers, rows),
                _ => *made = None,
            }
        })
    };
    let (n, part) = (sample.x.nrows(), rows_of_width(sample.x.ncols()));
    if part >= n {
        learn(views, sample, &mut members, &mut made, &(0..n).collect::<Vec<_>>())?;
    } else {
        // Of wide rows few, so that an interrupt is noticed soon.
        for start in (0..n).step_by(part) {
            let rows: Vec<usize> = (start..n.min(start + part)).collect();
            learn(&views.select(&rows), &sample.selected(&rows), &mut members, &mut made, &rows)?;
        }
    }
    Ok(members.into_iter().zip(made).filter_map(|(member, made)| made.map(|made| (member, made))).collect())
}

/// Nothing of what failed; an error if it was broken off.
fn unless_interrupted<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(_) => Ok(None),
    }
}

/// Rows that are learned at once, at most: fewer of wide ones.
pub(super) fn rows_of_width(columns: usize) -> usize {
    (NUMBERS_AT_ONCE / columns.max(1)).max(1)
}

/// The first members of one setting that forget.
fn forgetful<'a>(
    setting: &'a Setting,
    size: usize,
    params: &RefitParams,
    count: usize,
) -> impl Iterator<Item = (&'a Setting, Shape)> + use<'a> {
    let shape = move |(forgetting, share): (f64, usize)| Shape {
        cells: 1,
        size: size.div_ceil(share),
        forgetting,
        exact: false,
    };
    let all = params.forgetting.into_iter().zip(params.forgetting_points).take(count);
    all.map(move |each| (setting, shape(each)))
}

/// The number of rows, more than these, with which the next generation is due.
fn next_after(rows: u64, params: &RefitParams) -> u64 {
    let mut next = params.first_rows;
    while next <= rows {
        next = next.saturating_mul(params.growth.max(2));
    }
    next
}

impl State {
    /// Rows until something may have to be decided, if all of them count.
    pub(super) fn rows_to_turn(&self) -> usize {
        let block = self.block() - self.met % self.block();
        let age = self.buffer.age();
        usize::try_from(block.min(next_after(age, &self.params.refits) - age)).unwrap_or(usize::MAX)
    }

    /// Rows of a block.
    fn block(&self) -> u64 {
        self.params.drift.block_rows
    }

    /// Decides, where it is time to, what becomes of the members. [Broken off](crate::interrupt), the refit is
    /// [made](Self::resume) before the next row.
    pub(super) fn turn(&mut self, spec: &AdaptiveSpec) -> Result<()> {
        let age = self.buffer.age();
        // Of wide rows the buffer may have forgotten down to few that are soon three times as many.
        let far = self.met - self.began >= age.min(spec.params.refits.min_rows) / 2;
        if next_after(age - 1, &spec.params.refits) == age && far {
            self.begin(spec, Pending::Scheduled)?;
        }
        self.look_at_block(spec)?;
        self.grow_trees()
    }

    /// Grows the trees that are due after a block of rows.
    fn grow_trees(&mut self) -> Result<()> {
        if self.met.is_multiple_of(self.block()) { self.trees.grow(&self.deviation) } else { Ok(()) }
    }

    /// Makes the refit that was broken off, and decides what was to be decided after it.
    pub(super) fn resume(&mut self, spec: &AdaptiveSpec) -> Result<()> {
        match self.pending {
            None => {}
            Some(Pending::OfBlock) => self.begin(spec, Pending::OfBlock)?,
            Some(Pending::Scheduled) => {
                self.begin(spec, Pending::Scheduled)?;
                self.look_at_block(spec)?;
            }
        }
        self.grow_trees()
    }

    /// Decides after a block of rows.
    fn look_at_block(&mut self, spec: &AdaptiveSpec) -> Result<()> {
        let (n_seen, block) = (self.met, self.block());
        let RefitParams { min_rows, range_refits, drifting_ratio, .. } = spec.params.refits;
        if !n_seen.is_multiple_of(block) {
            return Ok(());
        }
        let since = n_seen - self.began;
        let buffer = &self.buffer;
        let clocks = LazyCell::new(|| buffer.clocks(&spec.params));
        let left = |share: u64| since >= min_rows.max(n_seen / share);
        let counts = |k: usize| left(range_refits) && (left((range_refits / 2).max(1)) || !clocks[k]);
        let verdict =
            self.drift.end(if self.follows { drifting_ratio } else { spec.params.drift.ratio }, counts);
        let parameters = &spec.params.order;
        let ordered = self.come_in_an_order(parameters).unwrap_or(false);
        self.ordered = if ordered { parameters.blocks_kept } else { self.ordered.saturating_sub(1) };
        if ordered && !self.buffer.is_whole() {
            // What looked like a change was the order of the rows.
            self.buffer.restore();
            return self.begin(spec, Pending::OfBlock);
        }
        if self.changed > 0 && n_seen == self.changed + block && !self.buffer.is_whole() {
            // The block that told of the change had rows from before it, too.
            return self.begin_of_latest(spec);
        }
        if !self.buffer.is_whole() && n_seen - self.changed >= parameters.blocks_to_confirm * block {
            self.confirm_change();
        }
        let moved = since >= min_rows.max(n_seen / spec.params.refits.growth)
            && self.movement.exceeds(parameters.movement);
        match verdict {
            Verdict::Errors
                if ordered
                    || first_varies(
                        &self.buffer.sample().y,
                        usize::try_from(block).unwrap_or(usize::MAX),
                    ) =>
            {
                self.ordered = parameters.blocks_kept;
                if since >= block { self.begin(spec, Pending::OfBlock) } else { Ok(()) }
            }
            Verdict::Errors if n_seen - self.changed >= min_rows => {
                self.changed = n_seen;
                self.begin_of_latest(spec)
            }
            Verdict::Ranges => self.begin(spec, Pending::OfBlock),
            _ if moved => self.begin(spec, Pending::OfBlock),
            _ => {
                self.retire();
                Ok(())
            }
        }
    }

    /// Whether the rows of the latest block come in an order: see [`OrderParams`].
    fn come_in_an_order(&self, parameters: &OrderParams) -> Result<bool> {
        if !self.members.iter().any(|member| member.lasts) {
            return Ok(false);
        }
        let (latest, history) = self.buffer.latest_and_history(parameters.latest, 2 * parameters.latest);
        if !differ(&latest, &history, parameters.difference) {
            return Ok(false);
        }
        let of_latest = self.predict_by_both(latest.x.view())?;
        let of_history = self.predict_by_both(history.x.view())?;
        let apart = |c: usize| distance(of_latest[1].column(c), of_history[1].column(c));
        if (0..self.outputs()).map(apart).fold(0.0, f64::max) <= parameters.distance {
            return Ok(false);
        }
        let pairs = [(&latest, &of_latest), (&history, &of_history)];
        let loss = |of: usize| -> f64 {
            let sample = |(sample, made): (&Sample, &[Array2<f64>; 2])| {
                let each = |((i, c), target): ((usize, usize), &f64)| {
                    let unit =
                        if self.loss.is_margin() { 1.0 } else { self.deviation[c].max(f64::MIN_POSITIVE) };
                    self.loss.value(made[of][(i, c)] / unit, target / unit)
                };
                sample.y.indexed_iter().map(each).sum::<f64>()
            };
            pairs.iter().map(|(one, made)| sample((one, made))).sum()
        };
        Ok(loss(1) < parameters.loss_ratio * loss(0))
    }

    /// The rows since the change are all that count: the members that remember those before leave.
    fn confirm_change(&mut self) {
        self.buffer.forget_history();
        for member in &mut self.members {
            member.lasts = !member.lasts && member.forgetting() >= 1.0;
        }
        self.lasting = self.new_mixtures(self.mixtures.len());
        self.ordered = 0;
    }

    /// Mixtures of the members, all of the same weight.
    fn new_mixtures(&self, outputs: usize) -> Vec<Mixture> {
        vec![Mixture::new(self.mixture, self.loss, self.members.len()); outputs]
    }

    /// Begins a generation of the latest block alone.
    fn begin_of_latest(&mut self, spec: &AdaptiveSpec) -> Result<()> {
        self.buffer.forget_before(self.met - self.block());
        self.trees.forget_before(self.met - self.block());
        self.limits.forget();
        self.drift = Drift::new(self.buffer.n_features(), spec.params.drift);
        self.begin(spec, Pending::OfBlock)
    }

    /// Begins a generation.
    fn begin(&mut self, spec: &AdaptiveSpec, kind: Pending) -> Result<()> {
        self.pending = Some(kind);
        self.refit(spec)?;
        self.pending = None;
        Ok(())
    }

    /// What is changed before members have learned is changed once, however often it is broken off.
    fn refit(&mut self, spec: &AdaptiveSpec) -> Result<()> {
        let params = &spec.params.refits;
        let recent_rows = usize::try_from(self.block()).unwrap_or(usize::MAX);
        self.drift.with_other_ranges();
        let drifts = self.ordered == 0 && self.drifts();
        if drifts {
            let first = self.met.saturating_sub(params.sample_rows as u64);
            self.buffer.forget_before(first);
            self.trees.forget_before(first);
        }
        let sample =
            if spec.loss.is_margin() { self.buffer.sample() } else { self.buffer.tame_sample(&spec.params) };
        if !spec.loss.is_margin() && !self.limits.are_known() {
            self.limits.restart(sample.y.view(), sample.weights.view());
            self.know(&sample);
        }
        self.movement = Movement::of(&sample, spec.params.preprocessing.clip);
        let whole = self.buffer.is_whole();
        let gradients = unless_interrupted(self.gradients(&sample))?;
        let settings = unless_interrupted(select(&sample, gradients.as_ref(), spec))?;
        let Some(settings) = settings else { return Ok(()) };
        let mut chosen = members(self.buffer.age(), spec, &settings);
        let mut of_latest = Vec::new();
        // Whether it does, few rows cannot tell.
        if drifts || self.buffer.age() < params.cell_rows {
            let latest = sample.latest(recent_rows);
            if drifts {
                let best = unless_interrupted(select(&latest, None, spec))?;
                of_latest.extend(best.into_iter().flatten().take(params.recent_settings));
            }
            of_latest.extend(without_selection(&latest, &spec.params).into_iter().flatten());
        }
        chosen.extend(
            of_latest
                .iter()
                .flat_map(|setting| forgetful(setting, spec.size, params, params.forgetting.len())),
        );
        let rough = self.begins_exact(spec).then(|| rough_setting(&sample, &spec.params).ok()).flatten();
        let shape = Shape { cells: 1, size: params.exact_points * spec.size, forgetting: 1.0, exact: true };
        chosen.extend(rough.iter().map(|setting| (setting, shape)));
        let constant = settings.first().map(|setting| setting.constant(&spec.params.selection));
        let shape =
            Shape { cells: 1, size: 1, forgetting: spec.params.members.constant_forgetting, exact: false };
        chosen.extend(constant.iter().map(|setting| (setting, shape)));
        let number = self.generations + 1;
        let views = Views::asked(chosen.iter().map(|(setting, _)| &setting.lens), sample.x.view())?;
        let new = chosen
            .into_iter()
            .filter_map(|(setting, shape)| Member::new(setting, shape, spec, &views, number).ok());
        let (steady, forgetful): (Vec<Member>, Vec<Member>) =
            new.partition(|member| member.forgetting() >= 1.0);
        // Members that never forget learn their sample shuffled, so that its order does not choose the points.
        let order = permutation(sample.x.nrows(), number);
        let shuffled = views.select(&order);
        let shuffled_sample = sample.selected(&order);
        let (mut new, made): (Vec<Member>, Vec<Answers>) =
            learned(steady, &shuffled, &shuffled_sample)?.into_iter().unzip();
        for member in &mut new {
            member.lasts = whole;
        }
        new.extend(learned(forgetful, &views, &sample)?.into_iter().map(|(member, _)| member));
        (self.generations, self.began, self.follows) = (number, self.met, drifts);
        if new.is_empty() {
            return Ok(());
        }
        // Of those before, the ones that are believed go on beside the new ones.
        let last_whole = self.members.iter().filter(|member| member.lasts).map(|m| m.generation).max();
        let believed = |(e, member): (usize, &Member)| {
            let stay = if drifts && member.forgetting() < 1.0 { params.drifting_refits } else { 1 };
            let replaced = member.is_exact() && rough.is_some();
            let recent = member.generation + stay >= number
                && (0..self.outputs()).any(|c| self.weight(e, c) > params.min_weight);
            // A sample of the latest rows alone replaces no member that remembers all.
            let share = if whole { params.min_weight } else { params.min_lasting_weight };
            let lasts = member.lasts
                && (!whole || Some(member.generation) == last_whole)
                // Members that learned rows in their order are replaced by those of a shuffled sample.
                && (!whole || self.ordered == 0)
                && self.lasting.iter().any(|mixture| mixture.weights()[e] > share);
            !replaced && (recent || lasts)
        };
        self.keep(&self.members.iter().enumerate().map(believed).collect::<Vec<_>>());
        let first = self.members.len();
        self.members.extend(new);
        self.mixtures = self.new_mixtures(self.outputs());
        self.lasting = self.new_mixtures(self.outputs());
        if whole {
            self.weigh_lasting(first, &made, &shuffled_sample);
        }
        Ok(())
    }

    /// Weighs the new members, the first of which has this number, by what they predicted of the latter half of a shuffled
    /// sample before they learned it: rows of all time, whatever order they came in.
    fn weigh_lasting(&mut self, first: usize, made: &[Answers], sample: &Sample) {
        let absent = Answers::of_none(sample.y.dim());
        let mut round = Round::default();
        self.lasting_calibration = Calibration::by_prediction(self.outputs());
        for ((i, c), target) in sample.y.indexed_iter().skip(sample.y.len() / 2) {
            let answers = (0..self.members.len()).map(|e| e.checked_sub(first).and_then(|e| made.get(e)));
            let answers = answers.map(|answers| answers.unwrap_or(&absent));
            let state = (&mut self.lasting[c], &mut self.lasting_calibration);
            let target = (*target, |_| *target, sample.weights[i]);
            round.learn((i, c), answers, target, state, &mut Prequential::default());
        }
    }

    /// Whether an exact member begins: for labels, as long as members do not share the space. The last goes on beside the next
    /// generation, unless it has no share, or no more room, before.
    fn begins_exact(&self, spec: &AdaptiveSpec) -> bool {
        spec.loss.is_margin() && self.buffer.age() < spec.params.refits.cell_rows
    }

    /// Whether the relation keeps changing: members that remember but the latest rows are right.
    fn drifts(&self) -> bool {
        let (drifting_share, limit) = (self.params.refits.drifting_share, self.params.members.short_memory);
        let short = |(_, member): &(usize, &Member)| member.forgetting() < limit && !member.is_blind();
        let members = self.members.iter().enumerate().filter(short);
        let shares = members.flat_map(|(e, _)| (0..self.outputs()).map(move |c| self.weight(e, c)));
        self.buffer.age() > self.block() && shares.sum::<f64>() > drifting_share * self.outputs() as f64
    }

    /// Gradients of the predictions at rows of a sample, if there are enough rows behind them.
    fn gradients(&self, sample: &Sample) -> Result<Gradients> {
        if self.members.is_empty() || sample.x.nrows() < self.params.metrics.min_rows {
            return Err(Error::NothingLearned);
        }
        let (n, d) = sample.x.dim();
        let x = sample.x.select(Axis(0), &gradient_rows(n, d, &self.params.metrics));
        let mut slopes = self.slopes(x.view())?;
        for (c, deviation) in self.deviation.iter().enumerate().filter(|(_, deviation)| **deviation > 0.0) {
            slopes.index_axis_mut(Axis(1), c).mapv_inplace(|slope| slope / deviation);
        }
        // Of labels the squared hinge says less: with one transform there are 5 % more mistakes on ijcnn1.
        let leading = (!self.loss.is_margin()).then(|| self.leading_transform());
        Ok(Gradients { x, slopes, leading })
    }

    /// The transform of the members that have most of the weight.
    fn leading_transform(&self) -> Transform {
        let of_scores = self.members.iter().enumerate().filter(|(_, member)| member.is_of_scores());
        let share = |(e, _)| (0..self.outputs()).map(|c| self.weight(e, c)).sum::<f64>();
        let most = of_scores.map(share).sum::<f64>() > 0.5 * self.outputs() as f64;
        if most { Transform::Scores } else { Transform::Standard }
    }

    /// Lets members go that have had no share for a while, and those that have become complete. Those that forget stay; the slow ones
    /// rest while none of them has one.
    fn retire(&mut self) {
        let idle = |e: usize| !self.is_weighed(e, self.params.refits.min_weight);
        let idle: Vec<bool> = (0..self.members.len()).map(idle).collect();
        let forgetful = |member: &Member| member.forgetting() < 1.0;
        let tells = |(member, idle): (&Member, &bool)| forgetful(member) && !member.is_blind() && !idle;
        let changes = self.members.iter().zip(&idle).any(tells);
        for (member, idle) in self.members.iter_mut().zip(idle) {
            member.idle = if idle && !(changes && forgetful(member)) { member.idle + 1 } else { 0 };
        }
        let patience = self.params.members.idle_blocks;
        let goes_on = |member: &Member| member.idle < patience && !member.is_complete();
        let kept: Vec<bool> =
            self.members.iter().map(|member| goes_on(member) || forgetful(member)).collect();
        if kept.contains(&true) && kept.contains(&false) {
            self.keep(&kept);
        }
    }
}
