//! Sparse sketches of matrices whose rows and columns arrive one at a time.
//!
//! A sketch `S'A` of a matrix of `n` rows has few rows however large `n` is. [`SparseSketch`] mixes all
//! rows (the sparse Johnson-Lindenstrauss transform), [`sample`] picks some. Both are decided by a
//! hash of the row's number and a seed, so nothing is stored for a row and none must be known
//! beforehand. [`GramSketch`] keeps both sketches of a Gram matrix that is bordered point by point.
//!
//! Sources: Kane and Nelson, "Sparser Johnson-Lindenstrauss transforms", 2014; Wang, Luo and Zhang,
//! "SPSD matrix approximation via column selection", 2016; Wen et al., "Fast second-order online
//! kernel learning through incremental matrix sketching and decomposition", 2024, section 2.2 and
//! appendix B.1.

use faer::{Mat, MatRef};
use ndarray::{Array2, ArrayView2};

use super::arrays::from_array;
use crate::error::{Error, Result, in_range};
use crate::random::bits;

/// A sparse Johnson-Lindenstrauss transform: a matrix `S` (n, width) for any `n`, made of `blocks`
/// blocks of columns, each with one entry `1 / sqrt(blocks)` or `-1 / sqrt(blocks)` in every row,
/// placed and signed by hashes.
///
/// `E[S S'] = I`: sketched vectors keep their inner products on average. More blocks make the error
/// smaller and cost more: a row of `S` has `blocks` entries, and is computed again whenever it is
/// asked for.
///
/// ```
/// use kernelstream::linalg::SparseSketch;
///
/// let sketch = SparseSketch::new(8, 2, 0).unwrap();
/// let mut total = [0.0; 8];
/// for (i, value) in [0.5, -1.0, 2.0].into_iter().enumerate() {
///     sketch.add_row(i, value, &mut total); // S'a, one entry of `a` at a time
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseSketch {
    width: usize,
    blocks: usize,
    seed: u64,
}

impl SparseSketch {
    /// `width` columns in `blocks` blocks of one size: `blocks` must divide `width`.
    pub fn new(width: usize, blocks: usize, seed: u64) -> Result<Self> {
        in_range("width", width, width > 0, "1 or more")?;
        in_range("blocks", blocks, blocks > 0 && width.is_multiple_of(blocks), "a divisor of the width")?;
        Ok(Self { width, blocks, seed })
    }

    /// Columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Entries of row `i` that are not zero: their columns and values.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + use<> {
        let Self { width, blocks, seed } = *self;
        let size = width / blocks;
        let value = (blocks as f64).sqrt().recip();
        (0..blocks).map(move |block| {
            let drawn = bits(seed, (i as u64).wrapping_mul(blocks as u64).wrapping_add(block as u64));
            // The upper bits place, the lowest one signs.
            let place = usize::try_from((u128::from(drawn) * size as u128) >> 64).unwrap_or(0);
            (block * size + place, if drawn & 1 == 0 { value } else { -value })
        })
    }

    /// `out += factor s_i` for row `i` of `S`; `out` holds `width` numbers.
    pub fn add_row(&self, i: usize, factor: f64, out: &mut [f64]) {
        for (column, value) in self.row(i) {
            out[column] += factor * value;
        }
    }

    /// `S'A` (width, d) for `a` (n, d).
    #[must_use]
    pub fn apply(&self, a: ArrayView2<'_, f64>) -> Array2<f64> {
        self.apply_from(0, a)
    }

    /// The same for rows of which the first has number `start`: what later rows add to the sketch.
    #[must_use]
    pub fn apply_from(&self, start: usize, a: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut out = Array2::zeros((self.width, a.ncols()));
        for (i, row) in a.rows().into_iter().enumerate() {
            for (column, value) in self.row(start + i) {
                out.row_mut(column).scaled_add(value, &row);
            }
        }
        out
    }
}

/// `size` of the numbers below `n`, without repetition, each set as likely; in order. What a seed
/// picks of `n` differs from what it picks of `n + 1` by one number at most.
pub fn sample(n: usize, size: usize, seed: u64) -> Result<Vec<usize>> {
    in_range("size", size, size <= n, "at most the number of columns to choose from")?;
    let mut by_hash: Vec<(u64, usize)> = (0..n).map(|i| (bits(seed, i as u64), i)).collect();
    by_hash.sort_unstable();
    let mut chosen: Vec<usize> = by_hash[..size].iter().map(|&(_, i)| i).collect();
    chosen.sort_unstable();
    Ok(chosen)
}

/// The sketches `S'KS` and `S'KT` of a Gram matrix `K` that is bordered by one point after the other,
/// where `S` is a [`SparseSketch`] and `T` picks columns, the landmarks.
///
/// The landmarks stay those of the beginning. (The printed update lets a new point be one, by *adding*
/// its column to that of an old landmark; then no feature map belongs to the sketch.) Of `S'KS` only
/// the beginning and the changes are given out, for [`TruncatedEigen`](super::TruncatedEigen) or
/// whatever follows it. A new point costs `O(t blocks + width landmarks)` for the `t` points so far.
#[derive(Clone, Debug)]
pub struct GramSketch {
    sketch: SparseSketch,
    landmarks: Vec<usize>,
    points: usize,
    /// `S'KT` (width, landmarks)
    mixed: Mat<f64>,
    row: Vec<f64>,
    column: Vec<f64>,
}

impl GramSketch {
    /// Sketch of the Gram matrix (n, n) of the first points; `landmarks` are numbers below `n`.
    pub fn new(sketch: SparseSketch, gram: ArrayView2<'_, f64>, landmarks: &[usize]) -> Result<Self> {
        let n = gram.nrows();
        if gram.ncols() != n {
            let why = "as many columns as rows";
            return Err(Error::Shape { what: "the Gram matrix", found: gram.dim(), needed: (n, n), why });
        }
        in_range("landmarks", landmarks, landmarks.iter().all(|&i| i < n), "numbers of points")?;
        let columns = Array2::from_shape_fn((n, landmarks.len()), |(i, j)| gram[(i, landmarks[j])]);
        let mixed = sketch.apply(columns.view());
        Ok(Self::holding(sketch, landmarks, n, from_array(mixed.view())))
    }

    fn holding(sketch: SparseSketch, landmarks: &[usize], points: usize, mixed: Mat<f64>) -> Self {
        let zeros = vec![0.0; sketch.width];
        Self { sketch, landmarks: landmarks.to_vec(), points, mixed, row: zeros.clone(), column: zeros }
    }

    /// One that was taken apart.
    pub fn from_parts(
        sketch: SparseSketch,
        landmarks: &[usize],
        points: usize,
        mixed: ArrayView2<'_, f64>,
    ) -> Result<Self> {
        let needed = (sketch.width, landmarks.len());
        if mixed.dim() != needed {
            let why = "a row for each column of the sketch, a column for each landmark";
            return Err(Error::Shape { what: "S'KT", found: mixed.dim(), needed, why });
        }
        in_range("landmarks", landmarks, landmarks.iter().all(|&i| i < points), "numbers of points")?;
        Ok(Self::holding(sketch, landmarks, points, from_array(mixed)))
    }

    /// Points so far.
    #[must_use]
    pub fn points(&self) -> usize {
        self.points
    }

    /// Numbers of the points whose columns were picked.
    #[must_use]
    pub fn landmarks(&self) -> &[usize] {
        &self.landmarks
    }

    /// `S'KT` (width, landmarks)
    #[must_use]
    pub fn mixed(&self) -> MatRef<'_, f64> {
        self.mixed.as_ref()
    }

    /// `S'KS` (width, width) of a Gram matrix.
    #[must_use]
    pub fn square(&self, gram: ArrayView2<'_, f64>) -> Array2<f64> {
        let half = self.sketch.apply(gram);
        self.sketch.apply(half.t())
    }

    /// Takes in a point, given its similarities to all points so far; returns `s`, its row of `S`, and
    /// `u`, the sketch of its column: with its similarity `kappa` to itself `S'KS` changes by
    /// `s u' + u s' + kappa s s'`, and `S'KT` did by `s psi'`, `psi` being its similarities to the
    /// landmarks.
    pub fn push(&mut self, similarities: &[f64]) -> Result<(&[f64], &[f64])> {
        let given = similarities.len();
        in_range("similarities", given, given == self.points, "one for each point so far")?;
        self.column.fill(0.0);
        for (i, &similarity) in similarities.iter().enumerate() {
            self.sketch.add_row(i, similarity, &mut self.column);
        }
        self.row.fill(0.0);
        self.sketch.add_row(self.points, 1.0, &mut self.row);
        for (column, value) in self.sketch.row(self.points) {
            for (j, &landmark) in self.landmarks.iter().enumerate() {
                self.mixed[(column, j)] += value * similarities[landmark];
            }
        }
        self.points += 1;
        Ok((&self.row, &self.column))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array, s};

    use super::*;

    /// `S` as a plain matrix.
    fn dense(sketch: SparseSketch, n: usize) -> Array2<f64> {
        sketch.apply(Array2::eye(n).view()).reversed_axes()
    }

    fn gram(n: usize) -> Array2<f64> {
        let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.618).fract() * 4.0).collect();
        Array2::from_shape_fn((n, n), |(i, j)| (-(x[i] - x[j]).powi(2)).exp())
    }

    #[test]
    fn every_row_has_one_entry_in_each_block() {
        for (width, blocks) in [(1, 1), (7, 7), (12, 3), (50, 1)] {
            let sketch = SparseSketch::new(width, blocks, 3).unwrap();
            for i in 0..200 {
                let entries: Vec<_> = sketch.row(i).collect();
                assert_eq!(entries.len(), blocks);
                for (block, (column, value)) in entries.into_iter().enumerate() {
                    assert_eq!(column / (width / blocks), block);
                    assert!((value * value * blocks as f64 - 1.0).abs() < 1e-15);
                }
            }
        }
        assert!(SparseSketch::new(10, 3, 0).is_err());
        assert!(SparseSketch::new(10, 0, 0).is_err());
        assert!(SparseSketch::new(0, 1, 0).is_err());
    }

    #[test]
    fn inner_products_are_kept_on_average_and_better_with_a_wider_sketch() {
        let a = array![[1.0, 0.3], [-0.5, 2.0], [0.7, -1.0], [0.2, 0.9], [1.5, 0.4], [-1.1, 0.6]];
        let exact = a.t().dot(&a);
        let mut errors = Vec::new();
        for width in [4, 64] {
            let (mut mean, mut error) = (Array2::<f64>::zeros((2, 2)), 0.0);
            for seed in 0..4000 {
                let small = SparseSketch::new(width, 2, seed).unwrap().apply(a.view());
                let product = small.t().dot(&small);
                error += (&product - &exact).mapv(|v| v * v).sum() / 4000.0;
                mean += &(product / 4000.0);
            }
            assert!((mean - &exact).iter().all(|v| v.abs() < 0.15));
            errors.push(error);
        }
        assert!(errors[1] < 0.1 * errors[0], "{errors:?}");
    }

    #[test]
    fn samples_are_distinct_uniform_and_stable() {
        let mut counts = [0_i32; 10];
        for seed in 0..5000 {
            let chosen = sample(10, 3, seed).unwrap();
            assert!(chosen.is_sorted_by(|a, b| a < b) && chosen.len() == 3);
            let next = sample(11, 3, seed).unwrap();
            assert!(next.iter().filter(|i| !chosen.contains(i)).count() <= 1);
            for i in chosen {
                counts[i] += 1;
            }
        }
        assert!(counts.iter().all(|c| (c - 1500).abs() < 150), "{counts:?}");
        assert!(sample(3, 4, 0).is_err());
        assert!(sample(0, 0, 0).unwrap().is_empty());
    }

    #[test]
    fn a_bordered_gram_matrix_keeps_its_sketches() {
        let (first, all) = (12, 40);
        let k = gram(all);
        let sketch = SparseSketch::new(8, 2, 5).unwrap();
        let landmarks = sample(first, 4, 1).unwrap();
        let start = k.slice(s![..first, ..first]);
        let mut kept = GramSketch::new(sketch, start, &landmarks).unwrap();
        let mut square = kept.square(start);
        for t in first..all {
            let similarities: Vec<f64> = k.slice(s![t, ..t]).to_vec();
            let (row, column) = kept.push(&similarities).unwrap();
            for i in 0..8 {
                for j in 0..8 {
                    square[(i, j)] += row[i] * column[j] + column[i] * row[j] + k[(t, t)] * row[i] * row[j];
                }
            }
        }
        let s_all = dense(sketch, all);
        let exact = s_all.t().dot(&k).dot(&s_all);
        assert!((&square - &exact).iter().all(|v| v.abs() < 1e-12));
        let columns = Array2::from_shape_fn((all, 4), |(i, j)| k[(i, landmarks[j])]);
        let mixed = s_all.t().dot(&columns);
        for i in 0..8 {
            for j in 0..4 {
                assert!((kept.mixed()[(i, j)] - mixed[(i, j)]).abs() < 1e-12);
            }
        }
        assert!(kept.push(&[1.0]).is_err());
        assert_eq!(kept.points(), all);
    }
}
