//! Experts of a scheduled refit, made ahead of it.
//!
//! Selection and training take as long as a thousand rows. When a scheduled refit is due is known, so that both begin some
//! rows before, with the sample of that time: each row takes some of the gradients, the rest is done on a thread of its own.
//! The new experts then learn the rows since, some with each row of the stream, and replace the others at the row of the
//! refit. All of it depends on the rows alone, not on the time that the thread takes: a row waits for it if it has to. A
//! call with all of these rows does the work itself, with all threads.

use std::sync::Arc;
use std::time::Duration;

use ndarray::{Array2, Array3, ArrayView1, ArrayView2, s};

use super::AdaptiveSpec;
use super::agop::Gradients;
use super::buffer::Sample;
use super::params::AdaptiveParams;
use super::preprocessing::Transform;
use super::training::{Prepared, Task};
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};
use crate::threads::Background;

/// Rows by which it begins before the refit: this part of all, but no more than these rows or numbers, and none where that is
/// fewer than the last.
const LEAD_PART: u64 = 6;
const LEAD_ROWS: u64 = 512;
const LEAD_NUMBERS: u64 = 1 << 19;
const FEWEST: u64 = 16;

/// Gradients that a row takes.
const GRADIENTS_AT_ONCE: usize = 64;

/// The part of these rows in which the new experts catch up.
const CATCH_UP_PART: u64 = 4;

/// Rows that they learn at once, whatever the calls, so that a saved model continues to the bit.
const CATCH_UP_ROWS: usize = 16;

/// Rows before the result is needed that wait for the thread, and for how long each: single rows may come faster than the
/// thread needs.
const WAITING_ROWS: u64 = 256;
const WAIT: Duration = Duration::from_millis(3);

/// A scheduled refit that is prepared.
#[derive(Debug)]
pub(super) struct Preparation {
    /// What it is made of. The sample is of the time when it began.
    task: Arc<Task>,
    /// Its gradients, while they are taken.
    taken: Option<Taken>,
    progress: Progress,
    /// Rows since it began: columns, targets and weight of each.
    rows: Vec<f64>,
    /// How many of them the new experts have learned.
    caught_up: usize,
}

/// Gradients, of which those at the first `rows` rows are known.
#[derive(Clone, Debug)]
struct Taken {
    gradients: Gradients,
    rows: usize,
}

#[derive(Debug)]
enum Progress {
    /// Nothing is made: it is new, was read from a file, or is a copy.
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
        let (task, taken) = (Arc::clone(&self.task), self.taken.clone());
        Self { task, taken, progress, rows: self.rows.clone(), caught_up: self.caught_up }
    }
}

/// Rows by which a refit that is due after `due` rows is prepared ahead; 0 if it is not.
pub(super) fn lead(due: u64, row_width: usize, params: &AdaptiveParams) -> u64 {
    let rows = (due / LEAD_PART).min(LEAD_ROWS).min(LEAD_NUMBERS / row_width as u64);
    // Below this number of rows, gradients are not used.
    let with_gradients = due.checked_sub(params.metrics.min_rows as u64).unwrap_or(rows);
    let rows = rows.min(with_gradients);
    if rows < FEWEST { 0 } else { rows }
}

impl Preparation {
    /// Prepares a task whose gradients are still to be [taken](Self::take_gradients), at these rows.
    pub fn new(mut task: Task) -> Self {
        let taken = task.gradients.take().map(|gradients| Taken { gradients, rows: 0 });
        Self { task: Arc::new(task), taken, progress: Progress::Waiting, rows: Vec::new(), caught_up: 0 }
    }

    /// Takes the gradients that are due after `age` rows, by `slopes` at some rows; none of them if that fails.
    pub fn take_gradients(
        &mut self,
        age: u64,
        slopes: impl Fn(ArrayView2<'_, f64>) -> Result<Array3<f64>>,
    ) -> Result<()> {
        let (catch_up, all) = self.leads();
        // The rest at once, before they are needed.
        let is_last = self.task.age <= age + catch_up;
        let since = if is_last { u64::MAX } else { (age + all).saturating_sub(self.task.age) };
        let Some(mut taken) = self.taken.take() else { return Ok(()) };
        let Gradients { x, slopes: known, .. } = &mut taken.gradients;
        let due = usize::try_from(since).unwrap_or(usize::MAX).saturating_mul(GRADIENTS_AT_ONCE);
        while taken.rows < due.min(x.nrows()) {
            let end = x.nrows().min(taken.rows + GRADIENTS_AT_ONCE);
            let rows = s![taken.rows..end, .., ..];
            match slopes(x.slice(s![taken.rows..end, ..])) {
                Ok(made) => known.slice_mut(rows).assign(&made),
                Err(Error::Interrupted) => {
                    self.taken = Some(taken);
                    return Err(Error::Interrupted);
                }
                Err(_) => return Ok(()),
            }
            taken.rows = end;
        }
        if taken.rows == x.nrows() {
            Arc::make_mut(&mut self.task).gradients = Some(taken.gradients);
        } else {
            self.taken = Some(taken);
        }
        Ok(())
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
    pub fn rows_left(&self, age: u64) -> u64 {
        let (catch_up, _) = self.leads();
        let left = self.task.age.saturating_sub(age).max(1);
        if self.taken.is_some() {
            return 1;
        }
        if left > catch_up { left - catch_up } else { left }
    }

    /// Adds a row of the stream, with the targets that experts learn.
    pub fn add(&mut self, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>, weight: f64) {
        self.rows.extend(x.iter().chain(y.iter()).copied().chain([weight]));
    }

    /// After `age` rows, where `more` are to come in this call: begins on another thread, after a row waits for that for a
    /// short time unless its result is due, or catches up.
    pub fn follow(&mut self, age: u64, is_after_row: bool, more: usize) -> Result<()> {
        let (catch_up, all) = self.leads();
        let (width, row_width) = (self.task.sample.x.ncols(), self.row_width());
        let left = self.task.age.saturating_sub(age);
        if left > catch_up {
            let before = left - catch_up;
            match &self.progress {
                Progress::Waiting if self.taken.is_none() && (more as u64) < before => {
                    let task = Arc::clone(&self.task);
                    self.progress = Progress::Working(Background::new(move || task.prepare()));
                }
                Progress::Working(work) if is_after_row && before <= WAITING_ROWS => work.wait(WAIT),
                _ => {}
            }
            return Ok(());
        }
        match &self.progress {
            Progress::Waiting => self.progress = Progress::Made(Box::new(self.task.prepare()?)),
            Progress::Working(work) => self.progress = Progress::Made(Box::new(work.take()?)),
            Progress::Made(_) => {}
        }
        if let Progress::Made(made) = &mut self.progress {
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
        let taken = self.taken.as_ref().map(|taken| &taken.gradients);
        if let Some(Gradients { x, slopes, leading }) = taken.or(gradients.as_ref()) {
            matrix(out, "preparation.gradients.x", x);
            let values: Vec<f64> = slopes.iter().copied().collect();
            out.vector("preparation.gradients.slopes", &values);
            if let Some(taken) = &self.taken {
                out.counts("preparation.gradients.taken", &[taken.rows as u64]);
            }
            let leading = leading.and_then(|own| Transform::ALL.into_iter().position(|other| other == own));
            out.counts("preparation.gradients.leading", &[leading.map_or(0, |place| 1 + place as u64)]);
        }
    }

    /// What [`write`](Self::write) wrote, where `number` is that of the refit and `age` that of the buffer.
    pub fn read(
        (features, outputs): (usize, usize),
        (number, age): (u64, u64),
        spec: &Arc<AdaptiveSpec>,
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
        if due != spec.params.refits.next_after(age) {
            return Err(wrong());
        }
        let x = read_rows("preparation.x", features, from)?;
        let y = read_rows("preparation.y", outputs, from)?;
        let weights = from.vector("preparation.weights", x.nrows())?;
        let since = usize::try_from(since).map_err(|_| wrong())?;
        let rows = from.matrix_of("preparation.rows", since, width)?;
        let are_weights = weights.iter().all(|weight| *weight >= 0.0)
            && rows.chunks_exact(width).all(|row| row[width - 1] >= 0.0);
        if y.nrows() != x.nrows() || !are_weights {
            return Err(wrong());
        }
        let (gradients, taken) = read_gradients((features, outputs), from)?;
        let task = Task {
            sample: Sample { x, y, weights: weights.into() },
            gradients,
            drifts: false,
            age: due,
            latest: usize::try_from(spec.params.drift.block_rows).unwrap_or(usize::MAX),
            number,
            spec: Arc::clone(spec),
        };
        let progress = Progress::Waiting;
        Ok(Some(Self { task: Arc::new(task), taken, progress, rows, caught_up: 0 }))
    }
}

/// An array with this number of columns.
fn read_rows(name: &str, cols: usize, from: &Reader<'_>) -> Result<Array2<f64>> {
    let (rows, found, values) = from.matrix(name)?;
    if found != cols {
        return Err(Error::file(format!("{name} has {found} columns, where {cols} are needed")));
    }
    Array2::from_shape_vec((rows, cols), values).map_err(|e| Error::file(e.to_string()))
}

/// The gradients of a task, or those of which only some are taken; neither without any.
fn read_gradients(
    (features, outputs): (usize, usize),
    from: &Reader<'_>,
) -> Result<(Option<Gradients>, Option<Taken>)> {
    if !from.has("preparation.gradients.x") {
        return if from.has("preparation.gradients.taken") {
            Err(Error::file("preparation.gradients.x is missing"))
        } else {
            Ok((None, None))
        };
    }
    let x = read_rows("preparation.gradients.x", features, from)?;
    let shape = (x.nrows(), outputs, features);
    let slopes = from.vector("preparation.gradients.slopes", x.nrows() * outputs * features)?;
    let slopes = Array3::from_shape_vec(shape, slopes).map_err(|e| Error::file(e.to_string()))?;
    let [leading] = from.counts("preparation.gradients.leading")?;
    let leading = match usize::try_from(leading) {
        Ok(0) => None,
        Ok(place) if place <= Transform::ALL.len() => Some(Transform::ALL[place - 1]),
        _ => return Err(Error::file("preparation.gradients.leading is no transform")),
    };
    let gradients = Gradients { x, slopes, leading };
    if !from.has("preparation.gradients.taken") {
        return Ok((Some(gradients), None));
    }
    let [rows] = from.counts("preparation.gradients.taken")?;
    let rows = usize::try_from(rows).ok().filter(|rows| *rows < gradients.x.nrows());
    let rows = rows.ok_or_else(|| Error::file("preparation.gradients.taken are more rows than there are"))?;
    Ok((None, Some(Taken { gradients, rows })))
}
