//! The first rows of a table, which are learned again each time that more is known of its columns.

use ndarray::{ArrayView1, ArrayView2};

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// The rows so far, and a model that has learned nothing.
#[derive(Clone)]
pub(super) struct WarmUp<M> {
    pub fresh: M,
    /// Cells, targets and weights, row after row.
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
}

impl<M> WarmUp<M> {
    pub fn new(fresh: M) -> Self {
        Self { fresh, x: Vec::new(), y: Vec::new(), weights: Vec::new() }
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Rows with which the next turn comes, at which all are learned again: 2, 4, 8, ..., and the last.
    pub fn turn(&self, last: usize) -> usize {
        (self.len() + 1).next_power_of_two().max(2).min(last)
    }

    pub fn keep(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) {
        self.x.extend(x.iter());
        self.y.extend(y.iter());
        match weights {
            Some(weights) => self.weights.extend(weights),
            None => self.weights.resize(self.weights.len() + x.nrows(), 1.0),
        }
    }

    /// Cells, targets and weights of all rows.
    pub fn rows(&self) -> (ArrayView2<'_, f64>, ArrayView2<'_, f64>, ArrayView1<'_, f64>) {
        let n = self.len();
        let matrix = |values| {
            ArrayView2::from_shape((n, <[f64]>::len(values) / n.max(1)), values)
                .unwrap_or_else(|_| unreachable!("rows were kept whole"))
        };
        (matrix(&self.x), matrix(&self.y), ArrayView1::from(&self.weights))
    }

    pub fn write(&self, out: &mut Writer) {
        let (n, per_row) = (self.len(), |values: &[f64]| values.len() / self.len().max(1));
        let gaps = self.x.iter().enumerate().filter(|(_, cell)| cell.is_nan()).map(|(place, _)| place as u64);
        let filled: Vec<f64> = self.x.iter().map(|cell| if cell.is_nan() { 0.0 } else { *cell }).collect();
        out.counts("warm_up.gaps", &gaps.collect::<Vec<_>>());
        out.matrix("warm_up.x", n, per_row(&self.x), &filled);
        out.matrix("warm_up.y", n, per_row(&self.y), &self.y);
        out.vector("warm_up.weights", &self.weights);
    }

    /// What [`write`](Self::write) wrote, or nothing; `n` rows of `cells` cells.
    pub fn read(&mut self, from: &Reader<'_>, n: usize, cells: usize) -> Result<()> {
        self.x = from.matrix_of("warm_up.x", n, cells)?;
        for gap in from.all_counts("warm_up.gaps")? {
            let place = usize::try_from(gap).ok().and_then(|gap| self.x.get_mut(gap));
            *place.ok_or_else(|| Error::file("warm_up.gaps names a cell that is not there"))? = f64::NAN;
        }
        let (rows, _, y) = from.matrix("warm_up.y")?;
        if rows != n {
            return Err(Error::file("warm_up.y has another number of rows than warm_up.x"));
        }
        self.y = y;
        self.weights = from.vector("warm_up.weights", n)?;
        Ok(())
    }
}
