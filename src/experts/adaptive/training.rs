//! How the experts of a refit are selected and trained.

use std::sync::Arc;

use ndarray::{ArrayView1, ArrayView2};

use super::AdaptiveSpec;
use super::agop::Gradients;
use super::buffer::Sample;
use super::member::{Member, MemberShape};
use super::odds_stage::Line;
use super::params::{Mechanism, RefitParams};
use super::preprocessing::Views;
use super::selection::{Setting, linear_setting, rough_setting, select, without_selection};
use super::spec::of_loss;
use crate::error::{Error, Result};
use crate::experts::answers::Answers;
use crate::random::permutation;
use crate::threads::ask_each_block;

/// Most numbers (rows times columns) per step of learning, unless one row has more. Interrupts are checked between
/// steps.
const NUMBERS_AT_ONCE: usize = 1 << 17;

/// Coordinates of a linear expert, at most, in sizes of another: a row of 1,000 columns would cost ten times as much.
const LINEAR_SIZES: usize = 2;

/// What the experts of a refit are made of.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub sample: Sample,
    pub gradients: Option<Gradients>,
    /// Whether drift is assumed.
    pub drifts: bool,
    /// Rows since the last change at the refit, and those of a block.
    pub age: u64,
    pub latest: usize,
    /// Number of the refit.
    pub number: u64,
    pub spec: Arc<AdaptiveSpec>,
}

/// An expert that has learned the sample of a refit.
#[derive(Clone, Debug)]
pub(super) struct Trained {
    pub member: Member,
    /// Its predictions of the shuffled sample, which only those without forgetting learn.
    pub shuffled: Option<Answers>,
    /// Predictions of the sample in its order, by an equal expert that learned it so; only in the first `cell_rows` rows.
    pub in_order: Option<Answers>,
}

/// Experts of a refit that have learned its sample.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub members: Vec<Trained>,
    /// The sample shuffled, and in the first `cell_rows` rows in its order.
    pub sample: Sample,
    pub in_order: Option<Sample>,
    /// Whether there is an exact one.
    pub has_exact: bool,
    /// For labels, logistic regression on the sample.
    pub line: Option<Line>,
}

impl Task {
    /// Selects settings and trains experts; none if the sample is too small.
    pub fn prepare(&self) -> Result<Prepared> {
        let Self { sample, gradients, spec, .. } = self;
        let settings = unless_interrupted(select(sample, gradients.as_ref(), spec))?;
        let Some(settings) = settings else {
            let sample = sample.selected(&[]);
            return Ok(Prepared {
                members: Vec::new(),
                sample,
                in_order: None,
                has_exact: false,
                line: None,
            });
        };
        let of_latest = self.settings_of_latest()?;
        let others = self.other_experts(settings.first());
        let mut chosen = members(self.age, spec, &settings);
        let params = &spec.params.refits;
        let forgetful = |setting| forgetful(setting, spec.size, params, params.forgetting.len());
        chosen.extend(of_latest.iter().flat_map(forgetful));
        chosen.extend(others.iter().map(|(setting, shape)| (setting, *shape)));
        let has_exact = others.iter().any(|(_, shape)| shape.exact);
        self.train(chosen, has_exact)
    }

    /// Settings of the latest rows for more experts with forgetting: selected ones under drift, and without selection then
    /// and in the first `cell_rows` rows, which cannot show whether the relation drifts.
    fn settings_of_latest(&self) -> Result<Vec<Setting>> {
        let Self { sample, drifts, spec, .. } = self;
        let params = &spec.params.refits;
        let mut of_latest = Vec::new();
        let forgets = spec.params.without != Some(Mechanism::Forgetting);
        if forgets && (*drifts || self.age < params.cell_rows) {
            let latest = sample.latest(self.latest);
            if *drifts {
                let best = unless_interrupted(select(&latest, None, spec))?;
                of_latest.extend(best.into_iter().flatten().take(params.recent_settings));
            }
            of_latest.extend(without_selection(&latest, &spec.params).into_iter().flatten());
        }
        Ok(of_latest)
    }

    /// The exact, the linear and the constant expert, each with a setting of its own: those that there are. `best`: the best
    /// setting selected.
    fn other_experts(&self, best: Option<&Setting>) -> Vec<(Setting, MemberShape)> {
        let Self { sample, spec, .. } = self;
        let params = &spec.params;
        let exact = self.has_exact().then(|| rough_setting(sample, params).ok()).flatten();
        let exact = exact.map(|setting| {
            let size = params.refits.exact_points * spec.size;
            (setting, MemberShape { cells: 1, size, forgetting: 1.0, exact: true })
        });
        // As many points as columns, and one, span all linear functions.
        let size = 1 + sample.x.ncols();
        let is_there = size <= LINEAR_SIZES * spec.size && params.without != Some(Mechanism::Linear);
        let linear = is_there.then(|| linear_setting(sample, params).ok()).flatten();
        let linear =
            linear.map(|setting| (setting, MemberShape { cells: 1, size, forgetting: 1.0, exact: false }));
        let constant = best.map(|setting| {
            let forgetting = params.members.constant_forgetting;
            let shape = MemberShape { cells: 1, size: 1, forgetting, exact: false };
            (setting.constant(&params.selection), shape)
        });
        [exact, linear, constant].into_iter().flatten().collect()
    }

    /// Experts with these settings and shapes, which learn the sample.
    fn train(&self, chosen: Vec<(&Setting, MemberShape)>, has_exact: bool) -> Result<Prepared> {
        let Self { sample, spec, number, .. } = self;
        let views = Views::asked(chosen.iter().map(|(setting, _)| &setting.preprocessing), sample.x.view())?;
        let new = chosen
            .into_iter()
            .filter_map(|(setting, shape)| Member::new(setting, shape, spec, &views, *number).ok());
        let (steady, forgetful): (Vec<Member>, Vec<Member>) =
            new.partition(|member| member.forgetting() >= 1.0);
        // Experts without forgetting learn the sample shuffled, so that stored points do not depend on its order.
        let order = permutation(sample.x.nrows(), *number);
        let shuffled = sample.selected(&order);
        // A mean of all experts would be worse than most of them, and few rows are to come until the next refit.
        let is_early = self.age < spec.params.refits.cell_rows;
        let in_order = if is_early {
            learned(steady.clone(), &views, sample)?
                .into_iter()
                .map(|each| each.map(|(_, made)| made))
                .collect()
        } else {
            vec![None; steady.len()]
        };
        let steady = learned(steady, &views.select(&order), &shuffled)?.into_iter().zip(in_order);
        let steady = steady.filter_map(|(each, in_order)| {
            each.map(|(member, made)| Trained { member, shuffled: Some(made), in_order })
        });
        let forgetful = learned(forgetful, &views, sample)?.into_iter().flatten();
        let forgetful =
            forgetful.map(|(member, made)| Trained { member, shuffled: None, in_order: Some(made) });
        let members = steady.chain(forgetful).collect();
        let in_order = is_early.then(|| sample.clone());
        let fits_line = spec.loss.is_margin() && spec.params.without != Some(Mechanism::Linear);
        let line =
            if fits_line { unless_interrupted(Line::fit(&shuffled, &spec.params))?.flatten() } else { None };
        Ok(Prepared { members, sample: shuffled, in_order, has_exact, line })
    }

    /// Whether it adds an exact expert: for labels, in the first `cell_rows` rows. That stays until two refits later, unless
    /// it has no weight or is full.
    fn has_exact(&self) -> bool {
        let AdaptiveSpec { loss, params, .. } = &*self.spec;
        loss.is_margin() && self.age < params.refits.cell_rows && params.without != Some(Mechanism::Exact)
    }
}

impl Prepared {
    /// Learns further rows. An expert that fails is dropped.
    pub fn learn(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, weights: ArrayView1<'_, f64>) {
        let views = Views::of(self.members.iter().map(|each| each.member.preprocessing()), x);
        self.members.retain_mut(|each| each.member.learn(&views, y, Some(weights)).is_ok());
        if let Some(line) = &mut self.line {
            line.learn(x, y, weights);
        }
    }
}

/// Experts of a refit after `rows` rows: selected settings with shapes.
fn members<'a>(rows: u64, spec: &AdaptiveSpec, settings: &'a [Setting]) -> Vec<(&'a Setting, MemberShape)> {
    let (size, params) = (spec.size, &spec.params.refits);
    let steady = |cells: usize, size: usize| MemberShape { cells, size, forgetting: 1.0, exact: false };
    let without = |mechanism| spec.params.without == Some(mechanism);
    let shapes = if rows < params.cell_rows || without(Mechanism::Cells) {
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
    let with_setting =
        |(rank, shape): (usize, MemberShape)| settings.get(rank).map(|setting| (setting, shape));
    let mut all: Vec<_> = shapes.into_iter().filter_map(with_setting).collect();
    if !without(Mechanism::Forgetting) {
        all.extend(settings.first().into_iter().flat_map(|best| forgetful(best, size, params, 3)));
    }
    all
}

/// Trains experts on a sample. Returns each with its prequential predictions, `None` for one that fails.
fn learned(
    mut members: Vec<Member>,
    views: &Views,
    sample: &Sample,
) -> Result<Vec<Option<(Member, Answers)>>> {
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
        // Wide rows are learned in parts, with checks for interrupts between them.
        for start in (0..n).step_by(part) {
            let rows: Vec<usize> = (start..n.min(start + part)).collect();
            learn(&views.select(&rows), &sample.selected(&rows), &mut members, &mut made, &rows)?;
        }
    }
    Ok(members.into_iter().zip(made).map(|(member, made)| made.map(|made| (member, made))).collect())
}

/// `None` for errors, except for an interrupt, which is returned.
pub(super) fn unless_interrupted<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(_) => Ok(None),
    }
}

/// Experts of one setting with the first `count` forgetting factors.
fn forgetful<'a>(
    setting: &'a Setting,
    size: usize,
    params: &RefitParams,
    count: usize,
) -> impl Iterator<Item = (&'a Setting, MemberShape)> + use<'a> {
    let shape = move |(forgetting, share): (f64, usize)| MemberShape {
        cells: 1,
        size: size.div_ceil(share),
        forgetting,
        exact: false,
    };
    let all = params.forgetting.into_iter().zip(params.forgetting_points).take(count);
    all.map(move |each| (setting, shape(each)))
}

/// Most rows per step of learning: see [`NUMBERS_AT_ONCE`].
pub(super) fn rows_of_width(columns: usize) -> usize {
    (NUMBERS_AT_ONCE / columns.max(1)).max(1)
}
