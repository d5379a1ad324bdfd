//! First rows of a stream, on which the model is refitted when their number has doubled, and once more at the last: all
//! refits cost about as much as twice the rows.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Array names of cells and of the gaps among them.
const CELLS: (&str, &str) = ("warm_up.x", "warm_up.gaps");

/// The rows so far, and an untrained model.
#[derive(Clone, Debug)]
pub(crate) struct WarmUp<M> {
    pub fresh: M,
    /// Cells, targets and weights, row by row.
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
    n_counted: usize,
}

impl<M> WarmUp<M> {
    pub fn new(fresh: M) -> Self {
        Self { fresh, x: Vec::new(), y: Vec::new(), weights: Vec::new(), n_counted: 0 }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Number of rows with positive weight; the others do not determine columns.
    pub fn n_counted(&self) -> usize {
        self.n_counted
    }

    /// Number of counted rows at the next refit: 2, 4, 8, ..., and the last.
    pub fn turn(&self, last: usize) -> usize {
        (self.n_counted + 1).next_power_of_two().max(2).min(last)
    }

    /// How many of the next `n` rows precede the next refit.
    pub fn rows_to_turn(&self, last: usize, n: usize, weights: Option<ArrayView1<'_, f64>>) -> usize {
        let missing = self.turn(last) - self.n_counted;
        match weights {
            None => n.min(missing),
            Some(weights) => counted(weights.slice(s![..n])).get(missing - 1).map_or(n, |row| row + 1),
        }
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
        self.n_counted += weights.map_or(x.nrows(), |weights| counted(weights).len());
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

    /// Cells of the counted rows, or of all if none is counted.
    pub fn counted_cells(&self) -> Array2<f64> {
        let (x, _, weights) = self.rows();
        if self.n_counted == 0 { x.to_owned() } else { x.select(Axis(0), &counted(weights)) }
    }

    pub fn write(&self, out: &mut Writer) {
        let (n, per_row) = (self.len(), |values: &[f64]| values.len() / self.len().max(1));
        out.matrix_with_gaps(CELLS, n, per_row(&self.x), &self.x);
        out.matrix("warm_up.y", n, per_row(&self.y), &self.y);
        out.vector("warm_up.weights", &self.weights);
    }

    /// Reads what [`write`](Self::write) wrote, if anything: `n` rows of `cells` cells.
    pub fn read(&mut self, from: &Reader<'_>, n: usize, cells: usize) -> Result<()> {
        self.x = from.matrix_with_gaps(CELLS, n, cells)?;
        let (rows, _, y) = from.matrix("warm_up.y")?;
        if rows != n {
            return Err(Error::file("warm_up.y has another number of rows than warm_up.x"));
        }
        self.y = y;
        self.weights = from.vector("warm_up.weights", n)?;
        self.n_counted = counted(ArrayView1::from(&self.weights)).len();
        Ok(())
    }
}

/// Rows of positive weight.
fn counted(weights: ArrayView1<'_, f64>) -> Vec<usize> {
    weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0).map(|(row, _)| row).collect()
}
