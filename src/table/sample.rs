//! A bounded sample of the rows after the warm-up, for the detection of columns that left their
//! scale.

use std::collections::BTreeSet;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};

use crate::error::{Error, Result};
use crate::online::reservoir::Rows;
use crate::online::warm_up::WarmUp;
use crate::persist::{Reader, Writer};
use crate::random;

/// Rows of the sample, unless they are wide.
const ROWS: usize = 2048;

/// Most numbers of the sample, unless the warm-up has more: 16 MB.
const NUMBERS: usize = 1 << 21;

/// Inverse of the share of the latest rows in the sample.
const LATEST: usize = 4;

/// Longest stream: sums and doublings of counts up to it do not overflow.
const MOST_ROWS: u64 = 1 << 53;

/// A sample of the rows so far: a reservoir with equal probabilities (Vitter's algorithm R, 1985),
/// and the latest rows. Rows of weight 0 are left out.
#[derive(Clone)]
pub(super) struct Sample<M> {
    /// A model that has learned nothing.
    pub fresh: M,
    cells: usize,
    width: usize,
    capacity: usize,
    reservoir: Rows,
    latest: Rows,
    /// Rows offered.
    n_counted: u64,
    /// Rows that the model had seen and learned at its last refit, if any.
    pub refitted: Option<[u64; 2]>,
    /// Columns that have left their scale.
    pub moved: BTreeSet<usize>,
}

/// Cells, targets and weights, in the order of the stream.
pub(super) struct Ordered {
    pub x: Array2<f64>,
    pub y: Array2<f64>,
    pub weights: Array1<f64>,
}

impl Ordered {
    /// The rows in random order.
    pub fn shuffled(&self, seed: u64) -> Self {
        let order = random::permutation(self.x.nrows(), seed);
        let of = |rows: &Array2<f64>| rows.select(Axis(0), &order);
        Self { x: of(&self.x), y: of(&self.y), weights: self.weights.select(Axis(0), &order) }
    }
}

impl<M> Sample<M> {
    /// The sample at the end of a warm-up.
    pub fn of(warm_up: &WarmUp<M>) -> Self
    where
        M: Clone,
    {
        let cells = warm_up.rows().0.ncols();
        let width = cells + warm_up.rows().1.ncols() + 1;
        let mut sample = Self::empty(warm_up.fresh.clone(), cells, width, warm_up.n_counted());
        let (x, y, weights) = warm_up.rows();
        sample.add(x, y, Some(weights));
        sample
    }

    fn empty(fresh: M, cells: usize, width: usize, warm_up: usize) -> Self {
        let capacity = (NUMBERS / width).clamp(1, ROWS).max(warm_up);
        let (reservoir, latest) = (Rows::default(), Rows::default());
        let (refitted, moved) = (None, BTreeSet::new());
        Self { fresh, cells, width, capacity, reservoir, latest, n_counted: 0, refitted, moved }
    }

    /// Number of counted rows at the next turn: the warm-up times 1.25, 1.5, 1.75, 2, and these
    /// times 2, 4, 8, ...
    fn turn(&self, warm_up: usize) -> u64 {
        let mut whole = warm_up.max(1) as u64;
        while whole.saturating_mul(2) <= self.n_counted {
            whole = whole.saturating_mul(2);
        }
        let parts = (5..=8).map(|part| (whole.saturating_mul(part)).div_ceil(4));
        parts.into_iter().find(|turn| *turn > self.n_counted).unwrap_or(u64::MAX)
    }

    /// Whether columns are compared with their scale at this turn: the rows are the warm-up times
    /// 2, 4, 8, ...
    pub fn compares(&self, warm_up: usize) -> bool {
        let warm_up = warm_up.max(1) as u64;
        self.n_counted.is_multiple_of(warm_up) && (self.n_counted / warm_up).is_power_of_two()
    }

    /// Rows offered.
    pub fn n_counted(&self) -> u64 {
        self.n_counted
    }

    /// How many of the next `n` rows remain until the next turn.
    pub fn rows_to_turn(&self, warm_up: usize, n: usize, weights: Option<ArrayView1<'_, f64>>) -> usize {
        let missing = usize::try_from(self.turn(warm_up) - self.n_counted).unwrap_or(usize::MAX);
        match weights {
            None => n.min(missing),
            Some(_) if missing > n => n,
            Some(weights) => {
                let mut counted = (0..n).filter(|row| weights[*row] > 0.0);
                counted.nth(missing - 1).map_or(n, |row| row + 1)
            }
        }
    }

    /// Whether the next `n` counted rows reach a turn.
    pub fn turns_within(&self, warm_up: usize, n: usize) -> bool {
        self.n_counted + n as u64 >= self.turn(warm_up)
    }

    /// Adds rows; returns whether a turn is reached.
    pub fn keep(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        warm_up: usize,
    ) -> bool {
        let turn = self.turn(warm_up);
        self.add(x, y, weights);
        self.n_counted >= turn
    }

    fn add(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, weights: Option<ArrayView1<'_, f64>>) {
        let latest = (self.capacity / LATEST).max(1);
        for (i, (x, y)) in x.rows().into_iter().zip(y.rows()).enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[i]);
            if weight > 0.0 {
                let number = self.n_counted;
                let row = || x.iter().chain(y.iter()).copied().chain([weight]);
                self.reservoir.sample(number, self.capacity, number, row(), self.width);
                self.latest.follow(latest, number, row(), self.width);
                self.n_counted += 1;
            }
        }
    }

    /// Its rows in the order of the stream, each once; without the latest rows, so that all rows
    /// have equal weight, or with them.
    pub fn ordered(&self, with_latest: bool) -> Ordered {
        let rows = |rows: &Rows| -> Vec<(u64, Vec<f64>)> {
            let each = rows.numbers.iter().zip(rows.values.chunks_exact(self.width));
            each.map(|(number, row)| (*number, row.to_vec())).collect()
        };
        let mut all = rows(&self.reservoir);
        if with_latest {
            all.extend(rows(&self.latest));
        }
        all.sort_by_key(|(number, _)| *number);
        all.dedup_by_key(|(number, _)| *number);
        let values: Vec<f64> = all.iter().flat_map(|(_, row)| row).copied().collect();
        let all = ArrayView2::from_shape((all.len(), self.width), &values)
            .unwrap_or_else(|_| unreachable!("rows were kept whole"));
        Ordered {
            x: all.slice(s![.., ..self.cells]).to_owned(),
            y: all.slice(s![.., self.cells..self.width - 1]).to_owned(),
            weights: all.column(self.width - 1).to_owned(),
        }
    }

    /// Writes it, with gaps apart.
    pub fn write(&self, out: &mut Writer) {
        let moved: Vec<u64> = self.moved.iter().map(|column| *column as u64).collect();
        out.counts("sample.moved", &moved);
        out.counts("sample.refitted", self.refitted.as_ref().map_or(&[][..], |counts| &counts[..]));
        out.counts("sample.counted", &[self.n_counted]);
        for (name, rows) in [("reservoir", &self.reservoir), ("latest", &self.latest)] {
            let names = (format!("sample.{name}"), format!("sample.{name}.gaps"));
            out.counts(&format!("sample.{name}.numbers"), &rows.numbers);
            out.matrix_with_gaps((&names.0, &names.1), rows.numbers.len(), self.width, &rows.values);
        }
    }

    /// Reads what [`write`](Self::write) wrote, for rows of this many cells and targets.
    pub fn read(
        fresh: M,
        from: &Reader<'_>,
        (cells, targets): (usize, usize),
        warm_up: usize,
    ) -> Result<Self> {
        let width = cells + targets + 1;
        let mut sample = Self::empty(fresh, cells, width, warm_up);
        let moved = from.all_counts("sample.moved")?;
        sample.moved = moved.into_iter().filter_map(|column| usize::try_from(column).ok()).collect();
        if sample.moved.iter().any(|column| *column >= cells) {
            return Err(Error::file("sample.moved names a column that is not there"));
        }
        sample.refitted = match from.all_counts("sample.refitted")?[..] {
            [] => None,
            [seen, learned] if learned <= seen => Some([seen, learned]),
            _ => return Err(Error::file("sample.refitted are not two counts")),
        };
        [sample.n_counted] = from.counts("sample.counted")?;
        let [seen, _] = sample.refitted.unwrap_or_default();
        if seen.max(sample.n_counted) > MOST_ROWS {
            return Err(Error::file("sample.counted are more rows than a stream has"));
        }
        let latest = (sample.capacity / LATEST).max(1);
        let n_counted = sample.n_counted;
        let places = [("reservoir", sample.capacity), ("latest", latest)];
        for ((name, capacity), rows) in places.into_iter().zip([&mut sample.reservoir, &mut sample.latest]) {
            rows.numbers = from.all_counts(&format!("sample.{name}.numbers"))?;
            let n = rows.numbers.len();
            let kept = usize::try_from(n_counted).unwrap_or(usize::MAX).min(capacity);
            if n != kept || rows.numbers.iter().any(|number| *number >= n_counted) {
                return Err(Error::file(format!("sample.{name} has other rows than its counts say")));
            }
            let names = (format!("sample.{name}"), format!("sample.{name}.gaps"));
            rows.values = from.matrix_with_gaps((&names.0, &names.1), n, width)?;
        }
        Ok(sample)
    }
}
