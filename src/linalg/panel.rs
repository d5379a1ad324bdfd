//! Growing column-major storage.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::lanes::Lanes;
use super::loops::{self, LANES, padded};

/// A matrix that grows by rows and by columns, stored by columns.
///
/// Columns are contiguous and padded with zeros to a multiple of [`LANES`], and so is their
/// number, so that loops need no remainders. Appending a row or a column costs its own length,
/// amortised: storage grows geometrically, up to what is expected, and nothing is copied between growths.
#[derive(Clone, Default)]
pub struct Panel {
    data: Lanes,
    rows: usize,
    cols: usize,
    /// Distance between columns: room for the rows to come.
    stride: usize,
    /// Expected number of rows, and of columns if the matrix is square; 0 if unknown.
    most: usize,
}

impl std::fmt::Debug for Panel {
    /// Its size, not its entries.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Panel({} x {})", self.rows, self.cols)
    }
}

impl Panel {
    /// An empty panel of `rows` by `cols` zeros.
    #[must_use]
    pub fn zeros(rows: usize, cols: usize) -> Self {
        let stride = Self::roomy(rows);
        Self { data: Lanes::zeros(stride * padded(cols)), rows, cols, stride, most: 0 }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Distance between columns in memory.
    #[must_use]
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// The whole storage, column after column, `stride` apart.
    pub(crate) fn data(&self) -> &[f64] {
        &self.data
    }

    /// The whole storage, column after column, `stride` apart.
    pub(crate) fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// A distance between columns with room for `rows`, that is no power of two: columns at such a
    /// distance would fall on the same cache lines.
    fn roomy(rows: usize) -> usize {
        let room = padded(rows);
        if room >= 128 && room.is_multiple_of(64) { room + LANES } else { room }
    }

    /// Column `j`, padded with zeros.
    #[must_use]
    pub fn col(&self, j: usize) -> &[f64] {
        let start = j * self.stride;
        &self.data[start..start + padded(self.rows)]
    }

    /// Column `j`, padded with zeros, which must stay zero.
    pub(crate) fn col_mut(&mut self, j: usize) -> &mut [f64] {
        let start = j * self.stride;
        &mut self.data[start..start + padded(self.rows)]
    }

    /// Entry in row `i` and column `j`.
    ///
    /// # Panics
    ///
    /// If there is no such entry.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        assert!(i < self.rows && j < self.cols, "entry outside the panel");
        self.data[j * self.stride + i]
    }

    /// Writes the entry in row `i` and column `j`.
    ///
    /// # Panics
    ///
    /// If there is no such entry.
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        assert!(i < self.rows && j < self.cols, "entry outside the panel");
        self.data[j * self.stride + i] = value;
    }

    /// Writes row `i`, from its first column on.
    ///
    /// # Panics
    ///
    /// If there is no such row, or there are more values than columns.
    pub fn set_row(&mut self, i: usize, values: &[f64]) {
        assert!(i < self.rows && values.len() <= self.cols, "row outside the panel");
        for (column, value) in self.data.chunks_exact_mut(self.stride.max(1)).zip(values) {
            column[i] = *value;
        }
    }

    /// Row `i`.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn row(&self, i: usize) -> impl Iterator<Item = f64> {
        self.data.chunks_exact(self.stride.max(1)).take(self.cols).map(move |column| column[i])
    }

    /// Announces the largest number of rows, and of columns. Storage that would grow to more than a quarter of it is
    /// reserved at once, which halves copying and saves a quarter of the final memory.
    pub(crate) fn expect_square(&mut self, most: usize) {
        self.most = most;
    }

    /// Reserves memory for `rows` rows: the only method that copies.
    fn reserve_rows(&mut self, rows: usize) {
        if rows <= self.stride {
            return;
        }
        let near = (rows..=4 * rows).contains(&self.most);
        let stride = Self::roomy(if near { self.most } else { rows.max(2 * self.rows) });
        let columns = if near { self.most } else { self.cols };
        let mut data = Lanes::with_capacity(stride * padded(columns));
        data.resize(stride * padded(self.cols));
        for j in 0..self.cols {
            data[j * stride..j * stride + self.rows]
                .copy_from_slice(&self.data[j * self.stride..j * self.stride + self.rows]);
        }
        self.data = data;
        self.stride = stride;
    }

    /// Appends rows of zeros until there are `rows`.
    pub fn grow_rows(&mut self, rows: usize) {
        self.reserve_rows(rows);
        self.rows = self.rows.max(rows);
    }

    /// Appends columns of zeros until there are `cols`.
    pub fn grow_cols(&mut self, cols: usize) {
        if cols > self.cols {
            self.cols = cols;
            self.data.resize(self.stride * padded(cols));
        }
    }

    /// Appends one row.
    pub fn push_row(&mut self, row: impl IntoIterator<Item = f64>) {
        let i = self.rows;
        self.grow_rows(i + 1);
        for (j, value) in row.into_iter().take(self.cols).enumerate() {
            self.data[j * self.stride + i] = value;
        }
    }

    /// Drops all rows beyond the first `rows`, and all columns beyond the first `cols`.
    pub fn truncate(&mut self, rows: usize, cols: usize) {
        let rows = rows.min(self.rows);
        let cols = cols.min(self.cols);
        for j in 0..self.cols {
            let start = j * self.stride;
            let kept = if j < cols { rows } else { 0 };
            self.data[start + kept..start + self.rows].fill(0.0);
        }
        self.rows = rows;
        self.cols = cols;
    }

    /// A matrix of zeros of another size, in the same memory if that is enough.
    pub fn reset(&mut self, rows: usize, cols: usize) {
        (self.rows, self.cols, self.stride) = (rows, cols, padded(rows));
        self.data.clear();
        self.data.resize(self.stride * padded(cols));
    }

    /// A matrix of another size, in the same memory if that is enough. Its entries are any of those before, and are yet
    /// to be written: see [`set_row`](Self::set_row).
    pub fn reshape(&mut self, rows: usize, cols: usize) {
        (self.rows, self.cols, self.stride) = (rows, cols, padded(rows));
        self.data.resize(self.stride * padded(cols));
        self.clear_padding();
    }

    /// Sets entries beyond the rows and the columns to zero, after padded columns were written
    /// whole.
    pub(crate) fn clear_padding(&mut self) {
        let (rows, end) = (self.rows, self.cols * self.stride);
        if rows < padded(rows) {
            let stride = self.stride;
            self.data[..end].chunks_exact_mut(stride).for_each(|column| column[rows..padded(rows)].fill(0.0));
        }
        self.data[end..].fill(0.0);
    }

    /// Writes the transposed matrix to `out`.
    pub(crate) fn transpose_into(&self, out: &mut Self) {
        out.reshape(self.cols, self.rows);
        loops::transpose(&self.data[..padded(self.cols) * self.stride], self.stride, &mut out.data);
        out.clear_padding();
    }

    /// The squared norm of each row.
    pub(crate) fn squared_norms_of_rows(&self) -> Vec<f64> {
        let mut out = vec![0.0; padded(self.rows)];
        loops::add_squares_of_columns(&self.data[..self.cols * self.stride], self.stride, &mut out);
        out.truncate(self.rows);
        out
    }

    /// Mirrors the lower triangle of the diagonal blocks of a square matrix.
    pub(crate) fn mirror_squares(&mut self) {
        let whole = padded(self.cols) * self.stride;
        loops::mirror_squares(&mut self.data[..whole], self.stride, self.rows);
    }

    /// Mirrors the blocks below the diagonal blocks of a square matrix.
    pub(crate) fn mirror_below(&mut self) {
        let whole = padded(self.cols) * self.stride;
        loops::mirror_below(&mut self.data[..whole], self.stride, self.rows);
    }

    /// Multiplies every entry by `factor`; nothing is written if that is 1.
    pub fn scale(&mut self, factor: f64) {
        if factor.to_bits() != 1.0_f64.to_bits() {
            for j in 0..self.cols {
                for value in self.col_mut(j) {
                    *value *= factor;
                }
            }
        }
    }

    /// Sets every entry to zero.
    pub fn clear(&mut self) {
        self.data.fill(0.0);
    }

    /// The matrix as a view of `faer`, without the padding.
    #[must_use]
    pub fn as_faer(&self) -> MatRef<'_, f64> {
        if self.stride == 0 {
            return MatRef::from_column_major_slice(&[], 0, self.cols);
        }
        let total = self.data.len() / self.stride;
        MatRef::from_column_major_slice_with_stride(&self.data, self.stride, total, self.stride)
            .submatrix(0, 0, self.rows, self.cols)
    }

    /// The matrix as a view of `faer`, without the padding.
    pub fn as_faer_mut(&mut self) -> MatMut<'_, f64> {
        let (rows, cols, stride) = (self.rows, self.cols, self.stride);
        if stride == 0 {
            return MatMut::from_column_major_slice_mut(&mut [], 0, cols);
        }
        let total = self.data.len() / stride;
        MatMut::from_column_major_slice_with_stride_mut(&mut self.data, stride, total, stride)
            .submatrix_mut(0, 0, rows, cols)
    }

    /// The matrix times `map` (columns, new columns), into `out`.
    pub(crate) fn times(&self, map: MatRef<'_, f64>, out: &mut Self) {
        out.reshape(self.rows, map.ncols());
        matmul(out.as_faer_mut(), Accum::Replace, self.as_faer(), map, 1.0, Par::Seq);
    }

    /// `map` (new rows, rows) times the matrix.
    pub(crate) fn mapped(&self, map: MatRef<'_, f64>) -> Self {
        let mut out = Self::zeros(map.nrows(), self.cols);
        if self.cols > 0 {
            matmul(out.as_faer_mut(), Accum::Replace, map, self.as_faer(), 1.0, Par::Seq);
        }
        out
    }

    /// The entries in row-major order.
    #[must_use]
    pub fn to_row_major(&self) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.rows * self.cols);
        for i in 0..self.rows {
            out.extend((0..self.cols).map(|j| self.data[j * self.stride + i]));
        }
        out
    }

    /// The panel with these entries, in row-major order.
    ///
    /// # Panics
    ///
    /// If there are not `rows * cols` entries.
    #[must_use]
    pub fn from_row_major(entries: &[f64], rows: usize, cols: usize) -> Self {
        assert_eq!(entries.len(), rows * cols, "entries do not fill the panel");
        let mut panel = Self::zeros(rows, cols);
        for (k, &value) in entries.iter().enumerate() {
            panel.data[(k % cols.max(1)) * panel.stride + k / cols.max(1)] = value;
        }
        panel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_by_rows_and_columns_and_keeps_what_it_holds() {
        let mut panel = Panel::default();
        let mut plain: Vec<Vec<f64>> = Vec::new();
        for n in 0..300_usize {
            panel.grow_cols(n + 1);
            for row in &mut plain {
                row.push(0.0);
            }
            let row: Vec<f64> = (0..=n).map(|j| (n * 1000 + j) as f64).collect();
            panel.push_row(row.iter().copied());
            plain.push(row);
        }
        let flat: Vec<f64> = plain.concat();
        assert_eq!(panel.to_row_major(), flat);
        assert_eq!(panel.as_faer()[(7, 3)].to_bits(), panel.get(7, 3).to_bits());
        let again = Panel::from_row_major(&flat, 300, 300);
        assert_eq!(again.to_row_major(), flat);

        panel.truncate(10, 10);
        panel.grow_rows(12);
        panel.grow_cols(12);
        for (i, row) in plain[..12].iter().enumerate() {
            for (j, &value) in row[..12].iter().enumerate() {
                let expected = if i < 10 && j < 10 { value } else { 0.0 };
                assert_eq!(panel.get(i, j).to_bits(), expected.to_bits());
            }
        }
    }

    #[test]
    fn an_empty_panel_is_ordinary() {
        let panel = Panel::default();
        assert_eq!((panel.as_faer().nrows(), panel.as_faer().ncols()), (0, 0));
        assert!(panel.to_row_major().is_empty());
    }
}
