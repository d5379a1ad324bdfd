//! Kernel ridge regression on the nearest rows: for few columns, where a target is smooth between rows that are dense.
//!
//! A dictionary of about a hundred points, or trees, blur a landscape of a hundred thousand rows; what is next to a row tells it
//! precisely. The kernel is that of Matern with smoothness 3/2, with four times the distance of the fourth row as its scale.

use faer::linalg::solvers::{Llt, Solve as _};
use faer::{Mat, Side};
use ndarray::{Array1, ArrayViewMut2};

use super::neighbours::{Near, Neighbours};
use crate::error::{Error, Result};
use crate::online::reservoir::Rows as Reservoir;
use crate::online::winsorizer::{WinsorizerParams, tamed_values};
use crate::persist::{Reader, Writer};

/// Experts: nearest rows, and regularization.
const VARIANTS: [(usize, f64); 2] = [(16, 1e-4), (24, 0.1)];
pub(super) const NEAREST: usize = VARIANTS.len();

/// The row whose distance is the unit, and the scale of the kernel.
const UNIT_ROW: usize = 4;
const SCALE: f64 = 4.0;

/// Most numbers that a search reads on average: about 40 microseconds. If it reads more, half of the rows are searched, again
/// and again, as judged by this many searches.
const NUMBERS: usize = 1 << 15;
const SEARCHES: usize = 16;

/// The nearest of the stored rows, by columns in units of their deviations, times their importance.
#[derive(Clone, Debug)]
pub(super) struct Nearest {
    /// Factor of each column; 0 for one that is constant.
    scales: Vec<f64>,
    /// Places of the reservoir that are searched: the first ones, a random sample like all.
    places: usize,
    rows: Neighbours,
}

impl Nearest {
    /// Searches stored rows, in whose first numbers the columns are; `None` if more than `most` of them vary. `importance` of a
    /// column is relative.
    pub fn new(
        rows: &Reservoir,
        (features, width): (usize, usize),
        most: usize,
        winsorizer: &WinsorizerParams,
        importance: impl Fn(usize) -> f64,
    ) -> Option<Self> {
        let column = |k: usize| rows.values.chunks_exact(width).map(move |row| row[k]).collect::<Vec<f64>>();
        let mut scales = vec![0.0; features];
        let mut varying = 0;
        for (k, scale) in scales.iter_mut().enumerate() {
            let deviation = Array1::from(tamed_values(column(k), 1, winsorizer)).std(0.0);
            if deviation > 0.0 && deviation.is_finite() {
                varying += 1;
                *scale = importance(k) / deviation;
            }
            if varying > most {
                return None;
            }
        }
        if varying == 0 {
            return None;
        }
        let mut places = usize::MAX;
        loop {
            let new = Self::of(scales.clone(), places, rows, width);
            if varying * new.read_by_a_search(&rows.numbers) <= NUMBERS {
                return Some(new);
            }
            places = places.min(rows.numbers.len()) / 2;
        }
    }

    /// Rows that a search for a stored one reads on average.
    fn read_by_a_search(&self, numbers: &[u64]) -> usize {
        let mut near = Vec::new();
        let rows = self.rows.len();
        let read = |i: usize| {
            let point = self.rows.point(i * rows / SEARCHES);
            self.rows.find(point, numbers, VARIANTS[NEAREST - 1].0, &mut near)
        };
        (0..SEARCHES).map(read).sum::<usize>() / SEARCHES
    }

    fn of(scales: Vec<f64>, places: usize, rows: &Reservoir, width: usize) -> Self {
        let columns = scales.iter().filter(|scale| **scale > 0.0).count();
        let mut points = Vec::new();
        for row in rows.values.chunks_exact(width).take(places) {
            points.extend(scaled(&scales, row));
        }
        Self { scales, places, rows: Neighbours::new(columns, points) }
    }

    /// Follows the stored rows, of which one is new at this place.
    pub fn put(&mut self, place: usize, row: &[f64]) {
        if place < self.places {
            let point: Vec<f64> = scaled(&self.scales, row).collect();
            self.rows.put(place, &point);
        }
    }

    /// Predictions of the targets, which are in the numbers of the stored rows from `first` on: output, expert and value go to
    /// `say`.
    pub fn predict(
        &self,
        x: &[f64],
        stored: &Reservoir,
        (width, first, outputs): (usize, usize, usize),
        mut say: impl FnMut(usize, usize, f64),
    ) {
        let near = self.find(x, stored);
        let target = |row: &Near, c: usize| stored.values[row.place * width + first + c];
        for (variant, (most, ridge)) in VARIANTS.into_iter().enumerate() {
            let near = &near[..near.len().min(most)];
            let weights = self.weights(near, ridge);
            for c in 0..outputs {
                let mean = near.iter().map(|row| target(row, c)).sum::<f64>() / near.len() as f64;
                let off: f64 =
                    near.iter().zip(&weights).map(|(row, weight)| weight * (target(row, c) - mean)).sum();
                say(c, variant, mean + off);
            }
        }
    }

    /// The nearest rows for all experts.
    fn find(&self, x: &[f64], stored: &Reservoir) -> Vec<Near> {
        let point: Vec<f64> = scaled(&self.scales, x).collect();
        let mut near = Vec::new();
        self.rows.find(&point, &stored.numbers, VARIANTS[NEAREST - 1].0, &mut near);
        near
    }

    /// The row whose distance is the unit, and its square; none where all are equal.
    fn unit(near: &[Near]) -> Option<(&Near, f64)> {
        let fourth = &near[UNIT_ROW.min(near.len()) - 1];
        let row = if fourth.square > 0.0 { fourth } else { &near[near.len() - 1] };
        (row.square > 0.0 && row.square.is_finite()).then_some((row, row.square))
    }

    fn square_between(&self, near: &[Near], i: usize, j: usize) -> f64 {
        let points = self.rows.point(near[i].place).iter().zip(self.rows.point(near[j].place));
        points.map(|(a, b)| (a - b) * (a - b)).sum()
    }

    /// Factor of the kernel matrix of these rows.
    fn factor(&self, near: &[Near], unit: f64, ridge: f64) -> Option<Llt<f64>> {
        let n = near.len();
        let kernel = |i, j| kernel(self.square_between(near, i, j) / unit) + if i == j { ridge } else { 0.0 };
        let gram = Mat::from_fn(n, n, |i, j| if i < j { 0.0 } else { kernel(i, j) });
        gram.llt(Side::Lower).ok()
    }

    /// Weights of the targets' differences from their mean.
    fn weights(&self, near: &[Near], ridge: f64) -> Vec<f64> {
        let Some((_, unit)) = Self::unit(near) else { return vec![0.0; near.len()] };
        let to = Mat::from_fn(near.len(), 1, |i, _| kernel(near[i].square / unit));
        self.factor(near, unit, ridge)
            .map_or_else(|| vec![0.0; near.len()], |factor| factor.solve(&to).col_as_slice(0).to_vec())
    }

    /// Adds the gradients of the predictions with these weights of output and expert to those of all outputs.
    pub fn add_gradient(
        &self,
        x: &[f64],
        stored: &Reservoir,
        (width, first): (usize, usize),
        weight: impl Fn(usize, usize) -> f64,
        mut out: ArrayViewMut2<'_, f64>,
    ) {
        let near = self.find(x, stored);
        let point: Vec<f64> = scaled(&self.scales, x).collect();
        let columns: Vec<usize> = (0..self.scales.len()).filter(|k| self.scales[*k] > 0.0).collect();
        for (variant, (most, ridge)) in VARIANTS.into_iter().enumerate() {
            let near = &near[..near.len().min(most)];
            let Some((unit_row, unit)) = Self::unit(near) else { continue };
            let Some(factor) = self.factor(near, unit, ridge) else { continue };
            let n = near.len();
            let to = factor.solve(&Mat::from_fn(n, 1, |i, _| kernel(near[i].square / unit)));
            for (c, mut out) in out.outer_iter_mut().enumerate() {
                let target = |i: usize| stored.values[near[i].place * width + first + c];
                let mean = (0..n).map(target).sum::<f64>() / n as f64;
                let a = factor.solve(&Mat::from_fn(n, 1, |i, _| target(i) - mean));
                // Through the distances, and through their unit, on which the kernel matrix depends, too.
                let by_unit: f64 = (0..n)
                    .map(|i| {
                        let of_rows = |j| {
                            let q = self.square_between(near, i, j) / unit;
                            bend(q) * q / unit * to[(j, 0)]
                        };
                        let q = near[i].square / unit;
                        a[(i, 0)] * ((0..n).map(of_rows).sum::<f64>() - bend(q) * q / unit)
                    })
                    .sum();
                for (place, k) in columns.iter().enumerate() {
                    let away = |row: &Near| 2.0 * (point[place] - self.rows.point(row.place)[place]);
                    let direct = |i: usize| a[(i, 0)] * bend(near[i].square / unit) * away(&near[i]) / unit;
                    let slope = (0..n).map(direct).sum::<f64>() + by_unit * away(unit_row);
                    out[*k] += weight(c, variant) * self.scales[*k] * slope;
                }
            }
        }
    }

    pub fn write(&self, out: &mut Writer) {
        out.vector("trees.nearest", &self.scales);
        out.counts("trees.nearest.places", &[self.places as u64]);
    }

    pub fn read(features: usize, rows: &Reservoir, width: usize, from: &Reader<'_>) -> Result<Self> {
        let scales = from.vector("trees.nearest", features)?;
        if !scales.iter().all(|scale| *scale >= 0.0)
            || scales.iter().all(|scale| *scale <= 0.0)
            || rows.numbers.is_empty()
        {
            return Err(Error::file("trees.nearest are no scales of columns"));
        }
        let [places] = from.counts("trees.nearest.places")?;
        if places == 0 {
            return Err(Error::file("trees.nearest.places are none"));
        }
        Ok(Self::of(scales, usize::try_from(places).unwrap_or(usize::MAX), rows, width))
    }
}

/// The kernel at a squared distance in units of that of the fourth row.
fn kernel(square: f64) -> f64 {
    let far = 3.0_f64.sqrt() / SCALE * square.sqrt();
    (1.0 + far) * (-far).exp()
}

/// Its derivative with respect to that.
fn bend(square: f64) -> f64 {
    let far = 3.0_f64.sqrt() / SCALE;
    -0.5 * far * far * (-far * square.sqrt()).exp()
}

/// The columns that vary, in their units.
fn scaled<'a>(scales: &'a [f64], row: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    scales.iter().zip(row).filter(|(scale, _)| **scale > 0.0).map(|(scale, x)| scale * x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// Rows of three columns, the second constant, and two targets.
    fn stored(n: usize) -> Reservoir {
        let row = |i: usize| {
            let at = |k: usize| normal(9, (3 * i + k) as u64);
            [at(0), 7.0, 100.0 * at(1), (3.0 * at(0)).sin() + at(1), at(0) * at(1)]
        };
        Reservoir { values: (0..n).flat_map(row).collect(), numbers: (0..n as u64).collect() }
    }

    fn nearest(rows: &Reservoir) -> Nearest {
        Nearest::new(rows, (3, 5), 2, &WinsorizerParams::default(), |k| 1.0 + k as f64).unwrap()
    }

    #[test]
    fn predictions_are_those_of_explicit_matrices() {
        let rows = stored(200);
        let nearest = nearest(&rows);
        let deviation = |k: usize| {
            let mean = rows.values.chunks(5).map(|row| row[k]).sum::<f64>() / 200.0;
            (rows.values.chunks(5).map(|row| (row[k] - mean).powi(2)).sum::<f64>() / 200.0).sqrt()
        };
        let units = [deviation(0), 3.0_f64.recip() * deviation(2)];
        let distance = |a: &[f64], b: &[f64]| ((a[0] - b[0]) / units[0]).hypot((a[2] - b[2]) / units[1]);
        for x in [[0.3, 7.0, -20.0], [5.0, 7.0, 900.0], [-0.1, 7.0, 0.0]] {
            let mut order: Vec<&[f64]> = rows.values.chunks(5).collect();
            order.sort_by(|a, b| distance(a, &x).total_cmp(&distance(b, &x)));
            let mut found = [[0.0; NEAREST]; 2];
            nearest.predict(&x, &rows, (5, 3, 2), |c, expert, value| found[c][expert] = value);
            for (expert, (most, ridge)) in VARIANTS.into_iter().enumerate() {
                let near = &order[..most];
                let unit = 4.0 * distance(near[3], &x);
                let kernel =
                    |r: f64| (1.0 + 3.0_f64.sqrt() * r / unit) * (-(3.0_f64.sqrt()) * r / unit).exp();
                let gram = Mat::from_fn(most, most, |i, j| {
                    kernel(distance(near[i], near[j])) + if i == j { ridge } else { 0.0 }
                });
                for c in 0..2 {
                    let mean = near.iter().map(|row| row[3 + c]).sum::<f64>() / most as f64;
                    let a = gram.partial_piv_lu().solve(&Mat::from_fn(most, 1, |i, _| near[i][3 + c] - mean));
                    let by_hand =
                        mean + (0..most).map(|i| a[(i, 0)] * kernel(distance(near[i], &x))).sum::<f64>();
                    assert!((found[c][expert] - by_hand).abs() < 1e-9, "{found:?} {by_hand}");
                }
            }
        }
    }

    #[test]
    fn equal_rows_give_their_mean_and_far_ones_a_number() {
        let mut rows = stored(100);
        for row in rows.values.chunks_mut(5).take(50) {
            row[..3].copy_from_slice(&[0.25, 7.0, 4.0]);
        }
        let nearest = nearest(&rows);
        let mean = rows.values.chunks(5).take(24).map(|row| row[4]).sum::<f64>() / 24.0;
        nearest.predict(&[0.25, 7.0, 4.0], &rows, (5, 3, 2), |c, expert, value| {
            assert!(c == 0 || expert == 0 || (value - mean).abs() < 1e-12);
        });
        for x in [[1e300, 7.0, 0.0], [0.25, 7.0, f64::MAX], [0.25, -1e9, 4.0]] {
            nearest.predict(&x, &rows, (5, 3, 2), |_, _, value| assert!(value.is_finite()));
        }
    }

    #[test]
    fn columns_that_vary_are_few_or_there_are_none() {
        let rows = stored(100);
        let new =
            |rows: &Reservoir, most| Nearest::new(rows, (3, 5), most, &WinsorizerParams::default(), |_| 1.0);
        assert!(new(&rows, 2).is_some() && new(&rows, 1).is_none());
        let mut constant = rows.clone();
        constant.values.chunks_mut(5).for_each(|row| row[..3].fill(2.0));
        assert!(new(&constant, 2).is_none());
    }
}
