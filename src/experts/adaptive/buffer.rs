//! Bounded sample of the rows so far: the latest, and a reservoir of all.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};

use super::params::AdaptiveParams;
use crate::error::{Error, Result};
use crate::online::reservoir::Rows;
use crate::online::winsorizer::tamed;
use crate::persist::{Reader, Writer};

/// Memory limits: numbers in the rows of one kind (16 MB), and rows that are kept however wide.
const MAX_NUMBERS: usize = 1 << 21;
const MIN_ROWS: usize = 256;

/// The latest rows, and a reservoir of all since the last change: each of these is in it with the same
/// probability (Vitter's algorithm R, 1985).
///
/// The reservoir before the last change is kept and continued, because rows in an order look like a
/// change: [`restore`](Buffer::restore) undoes the change.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    /// Most latest rows, and most rows of a reservoir, in which rows of all times should be as dense as in the latest.
    max_latest: usize,
    max_sampled: usize,
    /// Features, targets and outputs of a row.
    features: usize,
    outputs: usize,
    latest: Rows,
    reservoir: Rows,
    /// Rows since the last change.
    age: u64,
    /// Reservoir of all rows, and their number; `None` if there was no change.
    history: Option<(Rows, u64)>,
}

/// Rows in stream order.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub x: Array2<f64>,
    pub y: Array2<f64>,
    pub weights: Array1<f64>,
}

impl Sample {
    /// Only the latest rows.
    pub fn latest(&self, count: usize) -> Self {
        let rows = s![self.x.nrows().saturating_sub(count).., ..];
        let weights = self.weights.slice(s![self.x.nrows().saturating_sub(count)..]);
        Self {
            x: self.x.slice(rows).to_owned(),
            y: self.y.slice(rows).to_owned(),
            weights: weights.to_owned(),
        }
    }

    /// Some of the rows, in this order.
    pub fn selected(&self, rows: &[usize]) -> Self {
        let select = |values: &Array2<f64>| values.select(Axis(0), rows);
        Self { x: select(&self.x), y: select(&self.y), weights: self.weights.select(Axis(0), rows) }
    }

    /// Some of the rows, with targets of mean 0 and deviation 1.
    pub fn standardized(&self, chosen: &[usize]) -> (Array2<f64>, Array2<f64>) {
        let n = chosen.len() as f64;
        let (x, mut y) = (self.x.select(Axis(0), chosen), self.y.select(Axis(0), chosen));
        let weights: Array1<f64> = self.weights.select(Axis(0), chosen);
        let total = weights.sum();
        for mut column in y.columns_mut() {
            let mean = if total > 0.0 { column.dot(&weights) / total } else { 0.0 };
            column -= mean;
            let deviation = column.fold(0.0, |sum, v| sum + v * v / n).sqrt();
            if deviation > 0.0 {
                column /= deviation;
            }
        }
        (x, y)
    }
}

/// `count` of `n` indices, evenly spread.
pub(super) fn spread(count: usize, n: usize) -> Vec<usize> {
    (0..count).map(|i| i * n / count).collect()
}

impl Buffer {
    /// With this many latest rows, and twice as many of the reservoir; fewer wide ones.
    pub fn new(features: usize, outputs: usize, latest_rows: usize) -> Self {
        let most = |rows: usize| (MAX_NUMBERS / (features + outputs + 1)).min(rows).max(MIN_ROWS);
        Self {
            max_latest: most(latest_rows),
            max_sampled: most(2 * latest_rows),
            features,
            outputs,
            latest: Rows::default(),
            reservoir: Rows::default(),
            age: 0,
            history: None,
        }
    }

    /// Number of columns.
    pub fn n_features(&self) -> usize {
        self.features
    }

    /// Numbers of a row: columns, targets, weight.
    pub fn width(&self) -> usize {
        self.features + self.outputs + 1
    }

    /// Rows since the last change.
    pub fn age(&self) -> u64 {
        self.age
    }

    /// Adds row `number` of the stream.
    pub fn add(&mut self, number: u64, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>, weight: f64) {
        let (width, capacity) = (self.width(), self.max_sampled);
        let row = || x.iter().chain(y.iter()).copied().chain(std::iter::once(weight));
        self.latest.follow(self.max_latest, number, row(), width);
        self.reservoir.sample(self.age, capacity, number, row(), width);
        self.age += 1;
        if let Some((history, age)) = &mut self.history {
            history.sample(*age, capacity, number, row(), width);
            *age += 1;
        }
    }

    /// Whether there was no change.
    pub fn is_whole(&self) -> bool {
        self.history.is_none()
    }

    /// Reservoir of all rows, those before a change included.
    fn of_all_time(&self) -> &Rows {
        self.history.as_ref().map_or(&self.reservoir, |(history, _)| history)
    }

    /// Undoes changes: all rows count.
    pub fn restore(&mut self) {
        if let Some((history, age)) = self.history.take() {
            (self.reservoir, self.age) = (history, age);
        }
    }

    /// Confirms changes: rows before the last one are dropped.
    pub fn forget_history(&mut self) {
        self.history = None;
    }

    /// Excludes all rows before `from`, until they are [restored](Self::restore).
    pub fn forget_before(&mut self, number: u64) {
        let sample = self.ordered();
        if sample.first().is_none_or(|(first, _)| *first >= number) {
            return;
        }
        let mut new =
            Self { latest: Rows::default(), reservoir: Rows::default(), age: 0, history: None, ..*self };
        let history = self.history.clone().unwrap_or_else(|| (self.reservoir.clone(), self.age));
        for (number, row) in sample.into_iter().filter(|(other, _)| *other >= number) {
            let (x, rest) = row.split_at(self.features);
            let (y, weight) = rest.split_at(self.outputs);
            new.add(number, ArrayView1::from(x), ArrayView1::from(y), weight[0]);
        }
        new.history = Some(history);
        *self = new;
    }

    /// Columns that are monotone over nearly all consecutive rows.
    pub fn clocks(&self, params: &AdaptiveParams) -> Vec<bool> {
        let rows = self.ordered();
        let some = spread((params.order.latest + 1).min(rows.len()), rows.len());
        let continues = |k: usize| {
            let pairs = some.windows(2).map(|pair| (rows[pair[0]].1[k], rows[pair[1]].1[k]));
            let rises = pairs.clone().filter(|(value, next)| value < next).count();
            let falls = pairs.clone().filter(|(value, next)| value > next).count();
            rises.max(falls) as f64 > (1.0 - params.drift.range_share) * pairs.len() as f64
        };
        (0..self.features).map(continues).collect()
    }

    /// Rows of one kind, by number.
    fn by_number<'a>(&self, rows: &'a Rows) -> Vec<(u64, &'a [f64])> {
        let values = rows.values.chunks_exact(self.width());
        let mut all: Vec<_> = rows.numbers.iter().copied().zip(values).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all
    }

    /// All rows, each once, by number.
    fn ordered(&self) -> Vec<(u64, &[f64])> {
        let mut all: Vec<(u64, &[f64])> = Vec::new();
        for rows in [&self.latest, &self.reservoir] {
            all.extend(rows.numbers.iter().copied().zip(rows.values.chunks_exact(self.width())));
        }
        all.sort_by_key(|(number, _)| *number);
        all.dedup_by_key(|(number, _)| *number);
        all
    }

    /// All rows, in their order.
    pub fn sample(&self) -> Sample {
        self.sample_of(&self.ordered())
    }

    /// The latest `count` rows, and a sample of all, at most `most` of either, evenly spread.
    pub fn latest_and_history(&self, count: usize, most: usize) -> (Sample, Sample) {
        let some = |rows: &[(u64, &[f64])]| {
            let chosen: Vec<_> =
                spread(most.min(rows.len()), rows.len()).into_iter().map(|i| rows[i]).collect();
            self.sample_of(&chosen)
        };
        let latest = self.by_number(&self.latest);
        (some(&latest[latest.len().saturating_sub(count)..]), some(&self.by_number(self.of_all_time())))
    }

    /// Whether each of the latest `count` targets is near to the one before it, of any output: their autocorrelation about
    /// the mean of all is above this many standard errors of independent targets. Many rows of the commoner label come in a
    /// random order too, so labels must also change rarely.
    pub fn targets_come_in_runs(&self, count: u64, errors: f64, are_labels: bool) -> bool {
        let width = self.width();
        let in_order = self.by_number(&self.latest);
        let end = in_order.last().map_or(0, |(number, _)| number + 1);
        let latest = &in_order[in_order.partition_point(|(number, _)| number + count < end)..];
        let history = self.of_all_time();
        (self.features..width - 1).any(|at| {
            let all = || history.values.chunks_exact(width).map(|row| row[at]);
            let n = history.numbers.len() as f64;
            let mean = all().sum::<f64>() / n;
            let [products, squares] = products_of_neighbours(latest.iter().map(|(_, row)| row[at]), mean);
            let varies = all().any(|y| y.to_bits() != mean.to_bits());
            varies
                && products * (latest.len() as f64).sqrt() > errors * squares
                && (!are_labels || self.changes_rarely(at, &in_order))
        })
    }

    /// Whether a label, at this place of a row, changes less than half as often in these rows as in a random order.
    fn changes_rarely(&self, at: usize, rows: &[(u64, &[f64])]) -> bool {
        // The latest rows may all have one label.
        let all = self.of_all_time().values.chunks_exact(self.width());
        let share = all.clone().filter(|row| row[at] > 0.0).count() as f64 / all.len().max(1) as f64;
        let changes = rows.windows(2).filter(|pair| pair[0].1[at].to_bits() != pair[1].1[at].to_bits());
        (changes.count() as f64) < share * (1.0 - share) * rows.len() as f64
    }

    /// Whether most of these rows have a column out of the range of the latest rows since the last change, by more than this
    /// share of the range.
    pub fn are_out_of_range(&self, x: ArrayView2<'_, f64>, margin: f64) -> bool {
        let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); self.features];
        for row in self.latest.values.chunks_exact(self.width()) {
            ranges.iter_mut().zip(row).for_each(|(range, v)| *range = (range.0.min(*v), range.1.max(*v)));
        }
        let far = |(x, (low, high)): (&f64, &(f64, f64))| (low - x).max(x - high) > margin * (high - low);
        let rows = x.rows().into_iter().filter(|x| x.iter().zip(&ranges).any(far)).count();
        2 * rows > x.nrows()
    }

    fn sample_of(&self, rows: &[(u64, &[f64])]) -> Sample {
        let at = |i: usize, k: usize| rows[i].1[k];
        Sample {
            x: Array2::from_shape_fn((rows.len(), self.features), |(i, k)| at(i, k)),
            y: Array2::from_shape_fn((rows.len(), self.outputs), |(i, c)| at(i, self.features + c)),
            weights: Array1::from_shape_fn(rows.len(), |i| at(i, self.features + self.outputs)),
        }
    }

    /// All rows, in stream order, with winsorized targets.
    pub fn tame_sample(&self, params: &AdaptiveParams) -> Sample {
        let sample = self.sample();
        Sample { y: tamed(&sample.y, &params.winsorizer), ..sample }
    }

    pub fn write(&self, out: &mut Writer) {
        out.counts("buffer.age", &[self.age]);
        for (name, rows) in [("latest", &self.latest), ("reservoir", &self.reservoir)] {
            out.counts(&format!("buffer.{name}.numbers"), &rows.numbers);
            out.table(&format!("buffer.{name}.rows"), rows.numbers.len(), self.width(), &rows.values);
        }
        if let Some((rows, age)) = &self.history {
            out.counts("buffer.history.age", &[*age]);
            out.counts("buffer.history.numbers", &rows.numbers);
            out.table("buffer.history.rows", rows.numbers.len(), self.width(), &rows.values);
        }
    }

    /// Reads what [`write`](Self::write) wrote, for a stream of `n_seen` rows.
    pub fn read(
        (features, outputs): (usize, usize),
        n_seen: u64,
        latest_rows: usize,
        from: &Reader<'_>,
    ) -> Result<Self> {
        let mut new = Self::new(features, outputs, latest_rows);
        let width = new.width();
        [new.age] = from.counts("buffer.age")?;
        let mut history = (Rows::default(), 0);
        let mut kinds = vec![("latest", &mut new.latest), ("reservoir", &mut new.reservoir)];
        if from.has("buffer.history.age") {
            [history.1] = from.counts("buffer.history.age")?;
            kinds.push(("history", &mut history.0));
        }
        for (name, rows) in kinds {
            rows.numbers = from.all_counts(&format!("buffer.{name}.numbers"))?;
            rows.values = from.table(&format!("buffer.{name}.rows"), rows.numbers.len(), width)?;
            let sound = rows.numbers.iter().all(|number| *number < n_seen)
                && rows.values.chunks_exact(width).all(|row| row[width - 1] >= 0.0);
            if !sound {
                return Err(Error::file(format!("buffer.{name} holds rows that the stream has not")));
            }
        }
        // In former files the reservoir had as many rows as the latest.
        let fits = |most: usize| {
            let holds =
                |age: u64, rows: &Rows| age <= n_seen && age.min(most as u64) == rows.numbers.len() as u64;
            holds(new.age, &new.reservoir) && holds(history.1, &history.0)
        };
        let size = [new.max_sampled, new.max_latest].into_iter().find(|size| fits(*size));
        let Some(size) = size.filter(|_| new.latest.numbers.len() <= new.max_latest) else {
            return Err(Error::file("buffer.age is not that of its rows"));
        };
        new.max_sampled = size;
        new.history = (history.1 > 0).then_some(history);
        Ok(new)
    }
}

/// Sums of the products of neighbouring values, less a mean, and of their squares: the autocorrelation is their ratio.
pub(super) fn products_of_neighbours(values: impl Iterator<Item = f64>, mean: f64) -> [f64; 2] {
    let off: Vec<f64> = values.map(|value| value - mean).collect();
    let products = off.windows(2).map(|pair| pair[0] * pair[1]).sum();
    [products, off.iter().map(|off| off * off).sum()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// Whether these targets come in runs, by a buffer of at most 300 rows.
    fn in_runs(targets: impl Iterator<Item = f64>) -> bool {
        let mut buffer = Buffer::new(1, 1, 300);
        for (i, y) in targets.enumerate() {
            buffer.add(i as u64, ArrayView1::from(&[0.0]), ArrayView1::from(&[y]), 1.0);
        }
        buffer.targets_come_in_runs(256, 4.0, false)
    }

    #[test]
    fn a_former_file_with_a_smaller_reservoir_continues_with_it() {
        let rows = |buffer: &mut Buffer, numbers: std::ops::Range<u64>| {
            for t in numbers {
                buffer.add(t, ArrayView1::from(&[normal(1, t)]), ArrayView1::from(&[normal(2, t)]), 1.0);
            }
        };
        let mut former = Buffer::new(1, 1, 300);
        former.max_sampled = former.max_latest;
        rows(&mut former, 0..2000);
        let mut out = Writer::default();
        former.write(&mut out);
        let bytes = out.finish("buffer", serde_json::Value::Null, serde_json::Value::Null).unwrap();
        let read = |n_seen| Buffer::read((1, 1), n_seen, 300, &Reader::open(&bytes).unwrap());
        let mut again = read(2000).unwrap();
        assert!(read(1999).is_err());
        for buffer in [&mut former, &mut again] {
            rows(buffer, 2000..4000);
        }
        assert_eq!((again.reservoir.numbers.len(), again.sample().x), (300, former.sample().x));
    }

    #[test]
    fn runs_are_told_from_independent_targets() {
        let noise = |seed| (0..1000).map(move |i| normal(seed, i));
        assert!((0..100).all(|seed| !in_runs(noise(seed))));
        assert!((0..100).all(|seed| !in_runs(noise(seed).take(20))));
        assert!(!in_runs((0..1000).map(|i| f64::from(i % 2))));
        assert!(!in_runs([1.0; 500].into_iter()) && !in_runs(std::iter::empty()));
        assert!(in_runs((0..1000).map(f64::from)));
        // One value for longer than a block, after others.
        assert!(in_runs((0..1000).map(|i| f64::from(u8::from(i < 600)))));
        assert!(in_runs(noise(0).enumerate().map(|(i, noise)| if i % 100 < 50 {
            noise
        } else {
            noise + 3.0
        })));
    }
}
