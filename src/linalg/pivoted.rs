//! Which of many points span the others, by a Cholesky factorization with pivots.

use faer::linalg::matmul::matmul;
use faer::{Accum, Par};

use super::loops;
use super::nugget::{own_coordinate, resolution};
use super::panel::Panel;

/// Columns that are computed at once, by a matrix product.
const AHEAD: usize = 32;
/// A point comes next if it is not more than this much nearer to the span of the chosen ones than the farthest is:
/// always the farthest would throw most of the columns computed at once away.
const NEARLY: f64 = 0.5;

/// Points chosen one after the other, each far from the span of the earlier ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spanning {
    /// The chosen points, in this order.
    pub(crate) pivots: Vec<usize>,
    /// Squared distance of each to the span of the earlier ones.
    pub(crate) residuals: Vec<f64>,
    /// Coordinates of all points, chosen and not: `K ~ Z Z'`, a column for each chosen one.
    pub(crate) coordinates: Panel,
}

impl Spanning {
    /// Chooses among points with the Gram matrix `K`, of which `diagonal` is the diagonal and `columns` computes
    /// columns, until each point is explained but for the share `least` of its similarity to itself, or there
    /// are `most`, but never finer than can be [resolved](resolution). Ties go to the first. O(n m^2) for `m` of `n`.
    pub(crate) fn choose(
        diagonal: &[f64],
        least: f64,
        most: usize,
        mut columns: impl FnMut(&[usize], &mut Panel),
    ) -> Self {
        let mut chosen = Self { coordinates: Panel::zeros(diagonal.len(), 0), ..Self::default() };
        let mut left = diagonal.to_vec();
        let mut ahead = Panel::default();
        while chosen.pivots.len() < most {
            let least = least.max(resolution(chosen.pivots.len()));
            let mut next = farthest(&left, diagonal, least);
            if next.is_empty() {
                break;
            }
            columns(&next, &mut ahead);
            chosen.subtract_explained(&next, &mut ahead);
            let known = chosen.pivots.len();
            let mut columns: Vec<usize> = (0..next.len()).collect();
            while chosen.pivots.len() < most {
                let share = |i: usize| left[i] / diagonal[i];
                let bound = (0..left.len()).map(share).fold(0.0, f64::max) * NEARLY;
                let nearer = |a: usize, b: usize| share(a).total_cmp(&share(b)).then(b.cmp(&a));
                let Some(best) = (0..next.len()).max_by(|&a, &b| nearer(next[a], next[b])) else { break };
                if share(next[best]) <= least.max(bound).max(resolution(chosen.pivots.len())) {
                    break;
                }
                let (pivot, column) = (next.remove(best), columns.remove(best));
                chosen.append(pivot, diagonal[pivot], ahead.col_mut(column), known, &mut left);
            }
        }
        chosen
    }

    /// Subtracts the part of columns of `K` that the chosen points explain.
    fn subtract_explained(&self, points: &[usize], columns: &mut Panel) {
        let explained = self.coordinates.as_faer();
        let of_points = faer::Mat::from_fn(points.len(), explained.ncols(), |i, j| explained[(points[i], j)]);
        matmul(columns.as_faer_mut(), Accum::Add, explained, of_points.transpose(), -1.0, Par::Seq);
    }

    /// Makes a point the next one; its `column` lacks only the part that the first `known` explain.
    fn append(&mut self, pivot: usize, similarity: f64, column: &mut [f64], known: usize, left: &mut [f64]) {
        let rank = self.pivots.len();
        for j in known..rank {
            loops::add_scaled(-self.coordinates.get(pivot, j), self.coordinates.col(j), column);
        }
        let root = own_coordinate(rank, left[pivot], similarity);
        self.residuals.push(left[pivot]);
        self.coordinates.grow_cols(rank + 1);
        for (i, left) in left.iter_mut().enumerate() {
            let value = column[i] / root;
            self.coordinates.set(i, rank, value);
            *left = (*left - value * value).max(0.0);
        }
        // Zero but for rounding.
        self.pivots.iter().for_each(|&before| self.coordinates.set(before, rank, 0.0));
        self.coordinates.set(pivot, rank, root);
        left[pivot] = 0.0;
        self.pivots.push(pivot);
    }
}

/// The points of which most is left, more than `least`: at most [`AHEAD`], the farthest first.
fn farthest(left: &[f64], diagonal: &[f64], least: f64) -> Vec<usize> {
    let share = |i: usize| left[i] / diagonal[i];
    let mut points: Vec<usize> = (0..left.len()).filter(|&i| left[i] > least * diagonal[i]).collect();
    let order = |a: &usize, b: &usize| share(*b).total_cmp(&share(*a)).then(a.cmp(b));
    if points.len() > AHEAD {
        points.select_nth_unstable_by(AHEAD, order);
        points.truncate(AHEAD);
    }
    points.sort_unstable_by(order);
    points
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;
    use crate::random::uniform;

    /// A Gram matrix of this many points in the plane.
    fn gram(n: usize) -> Mat<f64> {
        let place = |i: usize| [1, 2].map(|axis| 4.0 * uniform(axis, i as u64));
        Mat::from_fn(n, n, |i, j| {
            let ([a, b], [c, d]) = (place(i), place(j));
            (-(a - c) * (a - c) - (b - d) * (b - d)).exp()
        })
    }

    fn chosen(gram: &Mat<f64>, least: f64, most: usize) -> Spanning {
        Spanning::choose(&vec![1.0; gram.nrows()], least, most, |points, columns| {
            columns.reset(gram.nrows(), points.len());
            for (j, point) in points.iter().enumerate() {
                (0..gram.nrows()).for_each(|i| columns.set(i, j, gram[(i, *point)]));
            }
        })
    }

    #[test]
    fn coordinates_explain_all_points_but_for_what_is_left() {
        let gram = gram(150);
        for least in [1e-2, 1e-6] {
            let found = chosen(&gram, least, usize::MAX);
            assert!(found.pivots.len() > 40 && found.residuals.iter().all(|left| *left > least));
            let z = found.coordinates.as_faer();
            let missing = &gram - z * z.transpose();
            assert!((0..150).all(|i| missing[(i, i)] <= least));
            assert!((0..150).all(|i| found.pivots.iter().all(|j| missing[(i, *j)].abs() < 1e-12)));
        }
    }

    #[test]
    fn each_is_half_as_far_as_the_farthest_at_least() {
        let gram = gram(150);
        let found = chosen(&gram, 1e-6, 60);
        assert_eq!(found.pivots.len(), 60);
        for rank in 0..60 {
            let left = |i: usize| 1.0 - (0..rank).map(|k| found.coordinates.get(i, k).powi(2)).sum::<f64>();
            let farthest = (0..150).map(left).fold(0.0, f64::max);
            assert!(found.residuals[rank] > (NEARLY - 1e-9) * farthest);
        }
    }
}
