//! Main effect of each column.

use ndarray::{Array2, ArrayView1, Axis};

use super::params::MetricParams;

/// Share of the targets' sum of squares that each column explains by the means of groups of rows
/// with near values, beyond chance: 0 if not significant, and for too few rows. Depends only on the
/// order of the column's values. O(n d log n).
pub(super) fn shares_alone(x: &Array2<f64>, y: &Array2<f64>, params: &MetricParams) -> Vec<f64> {
    let n = x.nrows() as f64;
    let mean = y.sum_axis(Axis(0)).mapv(|sum| sum * sum / n).sum();
    let total = y.iter().map(|y| y * y).sum::<f64>() - mean;
    let share = |column: ArrayView1<'_, f64>| {
        let (groups, explained) = between_groups(column, y, params);
        if groups < 2 {
            return 0.0;
        }
        let (freedom, explained) = ((groups - 1) as f64, explained - mean);
        // As in an analysis of variance, the residual within groups gives the expectation under
        // chance.
        let left = (total - explained).max(0.0) / (n - freedom - 1.0);
        let beyond = explained - freedom * left;
        let chance = left * (2.0 * freedom).sqrt();
        if beyond > params.effect_deviations * chance { beyond / total } else { 0.0 }
    };
    x.columns().into_iter().map(share).collect()
}

/// Groups of rows with near values, equal ones in the same, and the sum of squares that their means
/// explain.
fn between_groups(column: ArrayView1<'_, f64>, y: &Array2<f64>, params: &MetricParams) -> (usize, f64) {
    let n = column.len();
    let fewest = (n / params.groups).max(params.group_rows);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| column[*a].total_cmp(&column[*b]));
    let (mut groups, mut explained) = (0, 0.0);
    let (mut sum, mut count) = (vec![0.0; y.ncols()], 0);
    for (place, &i) in order.iter().enumerate() {
        sum.iter_mut().zip(y.row(i)).for_each(|(sum, y)| *sum += y);
        count += 1;
        let next = order.get(place + 1).map(|&next| column[next]);
        if next.is_none_or(|next| count >= fewest && next > column[i]) {
            explained += sum.iter().map(|sum| sum * sum).sum::<f64>() / count as f64;
            groups += 1;
            sum.fill(0.0);
            count = 0;
        }
    }
    (groups, explained)
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;
    use crate::random::normal;

    fn shares_of(x: &Array2<f64>, y: &Array2<f64>) -> Vec<f64> {
        shares_alone(x, y, &MetricParams::default())
    }

    fn noise(n: usize, seed: u64) -> Array1<f64> {
        Array1::from_shape_fn(n, |i| normal(seed, i as u64))
    }

    #[test]
    fn shares_are_those_of_an_analysis_of_variance() {
        // Groups of 50, computed explicitly.
        let n = 800;
        let place = |i: usize| (i * 37) % n;
        let x = Array2::from_shape_fn((n, 1), |(i, _)| place(i) as f64);
        let y = Array2::from_shape_fn((n, 1), |(i, _)| 3.0 + (x[(i, 0)] / 90.0).sin() + normal(3, i as u64));
        let all = y.mean().unwrap();
        let (mut between, mut within) = (0.0, 0.0);
        for group in 0..16 {
            let rows: Vec<f64> = (0..n).filter(|i| place(*i) / 50 == group).map(|i| y[(i, 0)]).collect();
            let mean = rows.iter().sum::<f64>() / 50.0;
            between += 50.0 * (mean - all) * (mean - all);
            within += rows.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>();
        }
        let expected = (between - 15.0 * within / (n - 16) as f64) / (between + within);
        assert!((shares_of(&x, &y)[0] - expected).abs() < 1e-12);
        assert!(expected > 0.2);
    }

    #[test]
    fn noise_rarely_counts_and_units_do_not_matter() {
        let (n, d) = (600, 200);
        let mut x = Array2::from_shape_fn((n, d), |(i, k)| normal(k as u64 + 10, i as u64));
        // An even function has no overall slope; a rare flag is a group of its own.
        let flag = noise(n, 5).mapv(|v| f64::from(v > 1.5));
        x.column_mut(1).assign(&flag);
        let y = &(x.column(0).mapv(|v| (2.0 * v).cos()) + 2.0 * &flag) + &(0.5 * &noise(n, 6));
        let y = y.insert_axis(Axis(1));
        let shares = shares_of(&x, &y);
        assert!(shares[0] > 0.2 && shares[1] > 0.15, "{:?}", &shares[..2]);
        assert!(shares[2..].iter().filter(|share| **share > 0.0).count() <= 4);
        let other = shares_of(&x.mapv(|v| 1e6 * v - 3.0), &y);
        assert_eq!(shares, other);
    }

    #[test]
    fn constants_have_no_effect() {
        let rows = Array2::from_shape_fn((300, 2), |(i, k)| if k == 0 { 1.0 } else { i as f64 });
        let y = noise(300, 1).insert_axis(Axis(1));
        assert_eq!(shares_of(&rows, &y)[0].to_bits(), 0.0_f64.to_bits());
        assert_eq!(shares_of(&rows, &Array2::zeros((300, 1))), [0.0, 0.0]);
        let few = ndarray::s![..60, ..];
        assert_eq!(shares_of(&rows.slice(few).to_owned(), &y.slice(few).to_owned()), [0.0, 0.0]);
    }
}
