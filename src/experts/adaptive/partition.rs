//! Partition of the space into k-means cells.

use ndarray::{Array2, ArrayView2, Axis};

use crate::error::{Error, Result};
use crate::kernel::PointSet;
use crate::linalg::{padded, with_scratch};
use crate::persist::{Reader, Writer};

/// Centres of the cells.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    centres: PointSet,
}

impl Partition {
    /// At most this many cells, each with some of the rows: Lloyd's algorithm.
    pub fn of(rows: ArrayView2<'_, f64>, cells: usize, rounds: usize) -> Self {
        let d = rows.ncols();
        if cells <= 1 || rows.nrows() < cells {
            return Self::with(Array2::zeros((1, d)).view());
        }
        // Initial centres are spread over the sample, since consecutive rows may be near each
        // other.
        let first: Vec<usize> = (0..cells).map(|c| c * rows.nrows() / cells).collect();
        let mut centres = rows.select(Axis(0), &first);
        for _ in 0..rounds {
            let (mut sums, mut counts) = (Array2::<f64>::zeros((cells, d)), vec![0.0_f64; cells]);
            for (row, cell) in rows.rows().into_iter().zip(Self::with(centres.view()).cells_of(rows)) {
                let mut sum = sums.row_mut(cell);
                sum += &row;
                counts[cell] += 1.0;
            }
            for (c, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
                let mean = &sums.row(c) / *count;
                centres.row_mut(c).assign(&mean);
            }
        }
        // A cell without rows would have no training data.
        let mut taken = vec![false; cells];
        Self::with(centres.view()).cells_of(rows).for_each(|cell| taken[cell] = true);
        let kept: Vec<usize> = (0..cells).filter(|c| taken[*c]).collect();
        Self::with(centres.select(Axis(0), &kept).view())
    }

    fn with(centres: ArrayView2<'_, f64>) -> Self {
        Self { centres: PointSet::gather(centres) }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.centres.len()
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.centres.width()
    }

    /// Cell of a row.
    pub fn cell_of(&self, row: &[f64]) -> usize {
        if self.len() == 1 {
            return 0;
        }
        with_scratch(|scratch| self.centres.nearest(row, scratch.prepare(self.len()).0))
    }

    fn cells_of<'a>(&'a self, rows: ArrayView2<'a, f64>) -> impl Iterator<Item = usize> + 'a {
        let (mut x, mut distances) = (Vec::with_capacity(rows.ncols()), vec![0.0; padded(self.len())]);
        (0..rows.nrows()).map(move |i| {
            x.clear();
            x.extend(rows.row(i));
            self.centres.nearest(&x, &mut distances)
        })
    }

    /// Cells with some of these rows, each with their indices.
    pub fn shared_out(&self, rows: ArrayView2<'_, f64>) -> impl Iterator<Item = (usize, Vec<usize>)> + use<> {
        let mut places = vec![Vec::new(); self.len()];
        if self.len() == 1 {
            places[0].extend(0..rows.nrows());
        } else {
            self.cells_of(rows).enumerate().for_each(|(i, cell)| places[cell].push(i));
        }
        places.into_iter().enumerate().filter(|(_, places)| !places.is_empty())
    }

    pub fn write(&self, name: &str, out: &mut Writer) {
        out.matrix(name, self.len(), self.width(), &self.centres.panel().to_row_major());
    }

    /// Reads what [`write`](Self::write) wrote, for rows of this width.
    pub fn read(name: &str, width: usize, from: &Reader<'_>) -> Result<Self> {
        let (n, cols, centres) = from.matrix(name)?;
        if n == 0 || cols != width {
            return Err(Error::file(format!("{name} do not fit its columns")));
        }
        let centres =
            Array2::from_shape_vec((n, cols), centres).unwrap_or_else(|_| unreachable!("whole rows"));
        Ok(Self::with(centres.view()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    #[test]
    fn rows_go_to_the_nearest_of_centres_that_stand_where_rows_are_dense() {
        let at = |i: usize, k: usize| f64::from(u8::from(i % 3 == k)) * 10.0 + normal(3, (7 * i + k) as u64);
        let rows = Array2::from_shape_fn((300, 3), |(i, k)| at(i, k));
        let partition = Partition::of(rows.view(), 3, 10);
        let shared: Vec<_> = partition.shared_out(rows.view()).collect();
        assert_eq!(shared.len(), 3);
        for (_, places) in &shared {
            assert_eq!(places.len(), 100);
            assert!(places.iter().all(|i| i % 3 == places[0] % 3), "one cluster a cell");
        }
        for (cell, places) in shared {
            assert!(places.iter().all(|i| partition.cell_of(&rows.row(*i).to_vec()) == cell));
        }
    }

    #[test]
    fn a_cell_without_rows_is_none() {
        let rows = Array2::from_shape_fn((40, 2), |(i, _)| (i % 2) as f64);
        assert_eq!(Partition::of(rows.view(), 8, 10).len(), 2);
        assert_eq!(Partition::of(rows.view(), 1, 10).len(), 1);
    }
}
