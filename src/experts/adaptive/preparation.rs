//! Experts of a refit: how they are made, and how those of a scheduled one are made ahead of it.
//!
//! Selection and training take as long as a thousand rows. When a scheduled refit is due is known, so that both begin some
//! rows before, on a thread of their own, with the sample of that time. The new experts then learn the rows since, some
//! with each row of the stream, and replace the others at the row of the refit. All of it depends on the rows
//! alone, not on the time that the thread takes: a row waits for it if it has to.

use std::sync::Arc;
use std::time::Duration;

use ndarray::{Array2, Array3, ArrayView1, ArrayView2, s};

use super::AdaptiveSpec;
use super::agop::Gradients;
use super::buffer::Sample;
use super::member::{Member, Shape};
use super::params::{AdaptiveParams, Mechanism, RefitParams};
use super::preprocessing::{Transform, Views};
use super::refit::{next_after, rows_of_width};
use super::selection::{Setting, rough_setting, select, without_selection};
use super::spec::of_loss;
use super::state::State;
use crate::error::{Error, Result};
use crate::experts::answers::Answers;
use crate::persist::{Reader, Writer};
use crate::random::permutation;
use crate::threads::{Background, ask_each_block};

/// Rows by which it begins before the refit: this part of all, and no more than so many rows or numbers. Fewer than some do
/// not pay.
const LEAD_PART: u64 = 6;
const LEAD_ROWS: u64 = 512;
const LEAD_NUMBERS: u64 = 1 << 19;
const FEWEST: u64 = 16;

/// The part of these rows in which the new experts catch up.
const CATCH_UP_PART: u64 = 4;

/// Rows that they learn at once, whatever the calls, so that a saved model continues to the bit.
const CATCH_UP_ROWS: usize = 16;

/// Rows before the result is needed that wait for the thread, and for how long each: single rows may come faster than the
/// thread needs.
const WAITING_ROWS: u64 = 128;
const WAIT: Duration = Duration::from_millis(3);

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
    pub spec: AdaptiveSpec,
}

/// Experts of a refit that have learned its sample.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    /// Those without forgetting, and their predictions of the shuffled sample.
    pub steady: Vec<Member>,
    pub made: Vec<Answers>,
    pub sample: Sample,
    pub forgetful: Vec<Member>,
    /// Whether there is an exact one.
    pub has_exact: bool,
}

impl Task {
    /// Selects settings and trains experts; none if the sample is too small.
    pub fn prepare(&self) -> Result<Prepared> {
        let Self { sample, gradients, drifts, spec, number, .. } = self;
        let params = &spec.params.refits;
        let settings = unless_interrupted(select(sample, gradients.as_ref(), spec))?;
        let Some(settings) = settings else { return Ok(Prepared::of_none(sample)) };
        let mut chosen = members(self.age, spec, &settings);
        let mut of_latest = Vec::new();
        // A few rows cannot show whether the relation drifts.
        let forgets = spec.params.without != Some(Mechanism::Forgetting);
        if forgets && (*drifts || self.age < params.cell_rows) {
            let latest = sample.latest(self.latest);
            if *drifts {
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
        let rough = self.has_exact().then(|| rough_setting(sample, &spec.params).ok()).flatten();
        let shape = Shape { cells: 1, size: params.exact_points * spec.size, forgetting: 1.0, exact: true };
        chosen.extend(rough.iter().map(|setting| (setting, shape)));
        let constant = settings.first().map(|setting| setting.constant(&spec.params.selection));
        let shape =
            Shape { cells: 1, size: 1, forgetting: spec.params.members.constant_forgetting, exact: false };
        chosen.extend(constant.iter().map(|setting| (setting, shape)));
        let views = Views::asked(chosen.iter().map(|(setting, _)| &setting.preprocessing), sample.x.view())?;
        let new = chosen
            .into_iter()
            .filter_map(|(setting, shape)| Member::new(setting, shape, spec, &views, *number).ok());
        let (steady, forgetful): (Vec<Member>, Vec<Member>) =
            new.partition(|member| member.forgetting() >= 1.0);
        // Experts without forgetting learn the sample shuffled, so that stored points do not depend on its order.
        let order = permutation(sample.x.nrows(), *number);
        let shuffled = sample.selected(&order);
        let (steady, made) = learned(steady, &views.select(&order), &shuffled)?.into_iter().unzip();
        let forgetful = learned(forgetful, &views, sample)?.into_iter().map(|(member, _)| member).collect();
        Ok(Prepared { steady, made, sample: shuffled, forgetful, has_exact: rough.is_some() })
    }

    /// Whether it adds an exact expert: for labels, in the first `cell_rows` rows. That stays until two refits later, unless
    /// it has no weight or is full.
    fn has_exact(&self) -> bool {
        let Self { age, spec: AdaptiveSpec { loss, params, .. }, .. } = self;
        loss.is_margin() && *age < params.refits.cell_rows && params.without != Some(Mechanism::Exact)
    }
}

impl Prepared {
    fn of_none(sample: &Sample) -> Self {
        let (steady, made, forgetful) = (Vec::new(), Vec::new(), Vec::new());
        Self { steady, made, sample: sample.selected(&[]), forgetful, has_exact: false }
    }

    /// Learns further rows. An expert that fails is dropped.
    fn learn(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, weights: ArrayView1<'_, f64>) {
        let all = self.steady.iter().chain(&self.forgetful);
        let views = Views::of(all.map(Member::preprocessing), x);
        let steady = std::mem::take(&mut self.steady).into_iter().zip(std::mem::take(&mut self.made));
        let mut all: Vec<_> = steady.map(|(member, made)| (member, Some(made))).collect();
        all.extend(std::mem::take(&mut self.forgetful).into_iter().map(|member| (member, None)));
        for (mut member, made) in all {
            if member.learn(&views, y, Some(weights)).is_ok() {
                match made {
                    Some(made) => {
                        self.steady.push(member);
                        self.made.push(made);
                    }
                    None => self.forgetful.push(member),
                }
            }
        }
    }
}

/// Experts of a refit after `rows` rows: selected settings with shapes.
fn members<'a>(rows: u64, spec: &AdaptiveSpec, settings: &'a [Setting]) -> Vec<(&'a Setting, Shape)> {
    let (size, params) = (spec.size, &spec.params.refits);
    let steady = |cells: usize, size: usize| Shape { cells, size, forgetting: 1.0, exact: false };
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
    let with_setting = |(rank, shape): (usize, Shape)| settings.get(rank).map(|setting| (setting, shape));
    let mut all: Vec<_> = shapes.into_iter().filter_map(with_setting).collect();
    if !without(Mechanism::Forgetting) {
        all.extend(settings.first().into_iter().flat_map(|best| forgetful(best, size, params, 3)));
    }
    all
}

/// Trains experts on a sample. Returns those that did not fail, each with its prequential predictions.
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
        // Wide rows are learned in parts, with checks for interrupts between them.
        for start in (0..n).step_by(part) {
            let rows: Vec<usize> = (start..n.min(start + part)).collect();
            learn(&views.select(&rows), &sample.selected(&rows), &mut members, &mut made, &rows)?;
        }
    }
    Ok(members.into_iter().zip(made).filter_map(|(member, made)| made.map(|made| (member, made))).collect())
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

/// A scheduled refit that is prepared.
#[derive(Debug)]
pub(super) struct Preparation {
    /// What it is made of. The sample is of the time when it began.
    task: Arc<Task>,
    progress: Progress,
    /// Rows since it began: columns, targets and weight of each.
    rows: Vec<f64>,
    /// How many of them the new experts have learned.
    caught_up: usize,
}

#[derive(Debug)]
enum Progress {
    /// Nothing is made: it was read from a file, or is a copy.
    Waiting,
    Working(Background<Prepared>),
    Made(Box<Prepared>),
}

/// Another one like it, which does its work again unless that is done.
impl Clone for Preparation {
    fn clone(&self) -> Self {
        let progress = match &self.progress {
            Progress::Made(made) => Progress::Made(made.clone()),
            _ => Progress::Waiting,
        };
        Self { task: Arc::clone(&self.task), progress, rows: self.rows.clone(), caught_up: self.caught_up }
    }
}

/// Rows by which a refit that is due after `due` rows is prepared ahead; 0 if it is not.
fn lead(due: u64, row_width: usize, params: &AdaptiveParams) -> u64 {
    let rows = (due / LEAD_PART).min(LEAD_ROWS).min(LEAD_NUMBERS / row_width as u64);
    // Below this number of rows, gradients are not used.
    let with_gradients = due.checked_sub(params.metrics.min_rows as u64).unwrap_or(rows);
    let rows = rows.min(with_gradients);
    if rows < FEWEST { 0 } else { rows }
}

impl Preparation {
    fn new(task: Task) -> Self {
        let new = Self { task: Arc::new(task), progress: Progress::Waiting, rows: Vec::new(), caught_up: 0 };
        new.begun()
    }

    /// With its work begun, unless it is.
    fn begun(mut self) -> Self {
        if matches!(self.progress, Progress::Waiting) {
            let task = Arc::clone(&self.task);
            self.progress = Progress::Working(Background::new(move || task.prepare()));
        }
        self
    }

    fn row_width(&self) -> usize {
        self.task.sample.x.ncols() + self.task.sample.y.ncols() + 1
    }

    /// Rows in which the new experts catch up, and all by which it is ahead.
    fn leads(&self) -> (u64, u64) {
        let all = lead(self.task.age, self.row_width(), &self.task.spec.params);
        (all.div_ceil(CATCH_UP_PART), all)
    }

    /// Rows, after `age` of them, until the experts are needed, or are to have caught up.
    fn rows_left(&self, age: u64) -> u64 {
        let (catch_up, _) = self.leads();
        let left = self.task.age.saturating_sub(age).max(1);
        if left > catch_up { left - catch_up } else { left }
    }

    /// Adds a row of the stream, with the targets that experts learn.
    fn add(&mut self, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>, weight: f64) {
        self.rows.extend(x.iter().chain(y.iter()).copied().chain([weight]));
    }

    /// Waits for the thread, at most so long unless its result is due after `age` rows, or catches up.
    fn follow(&mut self, age: u64, wait: Duration) -> Result<()> {
        let (catch_up, all) = self.leads();
        let left = self.task.age.saturating_sub(age);
        if let Progress::Working(work) = &self.progress {
            if left > catch_up {
                if left - catch_up <= WAITING_ROWS {
                    work.wait(wait);
                }
                return Ok(());
            }
            self.progress = Progress::Made(Box::new(work.take()?));
        }
        if left <= catch_up
            && let Progress::Made(made) = &mut self.progress
        {
            let width = self.task.sample.x.ncols();
            let row_width = width + self.task.sample.y.ncols() + 1;
            let due = usize::try_from(all * (catch_up - left) / catch_up).unwrap_or(usize::MAX);
            while self.caught_up + CATCH_UP_ROWS <= due || left == 0 && self.caught_up < due {
                let end = due.min(self.caught_up + CATCH_UP_ROWS);
                let rows = &self.rows[self.caught_up * row_width..end * row_width];
                if let Ok(rows) = ArrayView2::from_shape((end - self.caught_up, row_width), rows) {
                    let (x, y) = (rows.slice(s![.., ..width]), rows.slice(s![.., width..row_width - 1]));
                    made.learn(x, y, rows.column(row_width - 1));
                }
                self.caught_up = end;
            }
        }
        Ok(())
    }

    /// The experts, if this is the refit they are for.
    pub fn finished(self, age: u64) -> Option<Prepared> {
        match self.progress {
            Progress::Made(made) if self.task.age == age => Some(*made),
            _ => None,
        }
    }
}

impl State {
    /// Rows until the preparation of the refit that is `due` begins, ends or has to be waited for, or until that refit.
    pub fn rows_to_preparation(&self, due: u64) -> u64 {
        let age = self.buffer.age();
        let Some(preparation) = &self.preparation else {
            let begin = due - lead(due, self.buffer.width(), &self.params);
            return if begin > age { begin - age } else { due - age };
        };
        preparation.rows_left(age)
    }

    /// Adds a row to a preparation.
    pub fn prepare_with(&mut self, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>, weight: f64) {
        if let Some(preparation) = &mut self.preparation {
            preparation.add(x, y, weight);
        }
    }

    /// Continues a preparation, after a row or, before the next, after an interrupt.
    pub fn follow_preparation(&mut self, is_after_row: bool) -> Result<()> {
        let age = self.buffer.age();
        if let Some(preparation) = self.preparation.take() {
            let mut preparation = preparation.begun();
            let outcome = preparation.follow(age, if is_after_row { WAIT } else { Duration::ZERO });
            self.preparation = Some(preparation);
            outcome?;
        }
        Ok(())
    }

    /// Begins to prepare the next scheduled refit, if that is due: not while the relation drifts or rows come in an order.
    pub fn prepare_next(&mut self, spec: &AdaptiveSpec) -> Result<()> {
        let age = self.buffer.age();
        let due = next_after(age, &spec.params.refits);
        let ahead = lead(due, self.buffer.width(), &spec.params);
        let is_due = ahead > 0 && age + ahead == due && self.preparation.is_none();
        if is_due && self.is_far(due) && !self.members.is_empty() && self.ordered == 0 && !self.drifts() {
            let task = self.task(self.sample(spec), false, due, spec)?;
            self.preparation = Some(Preparation::new(task));
        }
        Ok(())
    }
}

impl Preparation {
    /// Writes what it is made of, and the rows since. The work is done again where it is read.
    pub fn write(&self, out: &mut Writer) {
        let Task { sample, gradients, age, .. } = &*self.task;
        let matrix = |out: &mut Writer, name: &str, values: &Array2<f64>| {
            let (rows, cols) = values.dim();
            let values: Vec<f64> = values.iter().copied().collect();
            out.matrix(name, rows, cols, &values);
        };
        out.counts("preparation.counts", &[*age]);
        matrix(out, "preparation.x", &sample.x);
        matrix(out, "preparation.y", &sample.y);
        out.vector("preparation.weights", &sample.weights.to_vec());
        out.matrix("preparation.rows", self.rows.len() / self.row_width(), self.row_width(), &self.rows);
        if let Some(Gradients { x, slopes, leading }) = gradients {
            matrix(out, "preparation.gradients.x", x);
            let values: Vec<f64> = slopes.iter().copied().collect();
            out.vector("preparation.gradients.slopes", &values);
            let leading = leading.and_then(|own| Transform::ALL.into_iter().position(|other| other == own));
            out.counts("preparation.gradients.leading", &[leading.map_or(0, |place| 1 + place as u64)]);
        }
    }

    /// What [`write`](Self::write) wrote, where `number` is that of the refit and `age` that of the buffer.
    pub fn read(
        (features, outputs): (usize, usize),
        (number, age): (u64, u64),
        spec: &AdaptiveSpec,
        from: &Reader<'_>,
    ) -> Result<Option<Self>> {
        if !from.has("preparation.counts") {
            return Ok(None);
        }
        let wrong = || Error::file("preparation.counts are not those of its rows");
        let [due] = from.counts("preparation.counts")?;
        let width = features + outputs + 1;
        let ahead = lead(due, width, &spec.params);
        let since = (age + ahead).checked_sub(due).filter(|since| *since < ahead).ok_or_else(wrong)?;
        if due != next_after(age, &spec.params.refits) {
            return Err(wrong());
        }
        let shaped = |name: &str, cols: usize| -> Result<Array2<f64>> {
            let (rows, found, values) = from.matrix(name)?;
            if found != cols {
                return Err(Error::file(format!("{name} has {found} columns, where {cols} are needed")));
            }
            Array2::from_shape_vec((rows, cols), values).map_err(|e| Error::file(e.to_string()))
        };
        let (x, y) = (shaped("preparation.x", features)?, shaped("preparation.y", outputs)?);
        let weights = from.vector("preparation.weights", x.nrows())?;
        let since = usize::try_from(since).map_err(|_| wrong())?;
        let rows = from.matrix_of("preparation.rows", since, width)?;
        let are_weights = weights.iter().all(|weight| *weight >= 0.0)
            && rows.chunks_exact(width).all(|row| row[width - 1] >= 0.0);
        if y.nrows() != x.nrows() || !are_weights {
            return Err(wrong());
        }
        let gradients = if from.has("preparation.gradients.x") {
            let x = shaped("preparation.gradients.x", features)?;
            let shape = (x.nrows(), outputs, features);
            let slopes = from.vector("preparation.gradients.slopes", x.nrows() * outputs * features)?;
            let slopes = Array3::from_shape_vec(shape, slopes).map_err(|e| Error::file(e.to_string()))?;
            let [leading] = from.counts("preparation.gradients.leading")?;
            let leading = match usize::try_from(leading) {
                Ok(0) => None,
                Ok(place) if place <= Transform::ALL.len() => Some(Transform::ALL[place - 1]),
                _ => return Err(Error::file("preparation.gradients.leading is no transform")),
            };
            Some(Gradients { x, slopes, leading })
        } else {
            None
        };
        let task = Task {
            sample: Sample { x, y, weights: weights.into() },
            gradients,
            drifts: false,
            age: due,
            latest: usize::try_from(spec.params.drift.block_rows).unwrap_or(usize::MAX),
            number,
            spec: spec.clone(),
        };
        let progress = Progress::Waiting;
        Ok(Some(Self { task: Arc::new(task), progress, rows, caught_up: 0 }))
    }
}
