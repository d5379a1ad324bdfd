//! Adaptive experts compared with slow versions of their parts, and their properties.

use std::sync::Arc;

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, Axis, concatenate, s};

use super::agop::agop_of;
use super::buffer::{Buffer, Sample};
use super::preprocessing::{Preprocessing, Transform, columns};
use super::selection::select;
use super::tree_stage::{Predicted, TreeStage};
use super::*;
use crate::kernel::{Kernel, Metric};
use crate::learner::Loss;
use crate::persist::Persist as _;
use crate::random::{normal, uniform};

/// `d` uniform columns in different units, of which only the first two are relevant.
fn stream(n: usize, d: usize, seed: u64) -> (Array2<f64>, Array2<f64>) {
    let unit = |k: usize| 10_f64.powi(i32::try_from(k % 7).unwrap() - 3);
    let at = |i: usize, k: usize| uniform(seed, (i * d + k) as u64);
    let x = Array2::from_shape_fn((n, d), |(i, k)| unit(k) * at(i, k));
    let y = Array2::from_shape_fn((n, 1), |(i, _)| {
        (5.0 * at(i, 0)).sin() * (1.0 + at(i, 1)) + 0.05 * normal(seed + 1, i as u64)
    });
    (x, y)
}

fn spec(size: usize, loss: Loss) -> AdaptiveSpec {
    AdaptiveSpec { size, loss, ..AdaptiveSpec::default() }
}

fn small() -> AdaptiveExperts {
    AdaptiveSpec { size: 40, ..AdaptiveSpec::default() }.build().unwrap()
}

/// Mean squared error over the variance.
fn error(predictions: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> f64 {
    let errors = &predictions - &y;
    (&errors * &errors).mean().unwrap() / y.var(0.0)
}

#[test]
fn the_outer_product_of_gradients_is_that_of_the_dense_formula() {
    let (n, d) = (40, 3);
    let x = Array2::from_shape_fn((n, d), |(i, k)| normal(3, (i * d + k) as u64));
    let y = x.map_axis(Axis(1), |x| x[0] * x[1] + x[2].sin()).insert_axis(Axis(1));
    let bandwidth = 1.3;
    let kernel = Kernel::gaussian(bandwidth).unwrap();
    let found = agop_of(&kernel, x.view(), y.view(), n, 0.1).unwrap();
    // f = sum_i a_i k(x_i, .) with (K + lambda I) a = y, and its gradient written out.
    let gram = faer::Mat::from_fn(n, n, |i, j| {
        kernel.eval(&x.row(i).to_vec(), &x.row(j).to_vec()) + if i == j { 0.1 } else { 0.0 }
    });
    let a = faer::linalg::solvers::Solve::solve(&gram.partial_piv_lu(), crate::linalg::from_array(y.view()));
    let mut dense = Array2::<f64>::zeros((d, d));
    for i in 0..n {
        let mut gradient = Array1::<f64>::zeros(d);
        for j in 0..n {
            let difference = &x.row(j) - &x.row(i);
            let similarity = (-difference.dot(&difference) / (2.0 * bandwidth * bandwidth)).exp();
            gradient.scaled_add(a[(j, 0)] * similarity / (bandwidth * bandwidth), &difference);
        }
        for k in 0..d {
            dense.row_mut(k).scaled_add(gradient[k] / n as f64, &gradient);
        }
    }
    for ((k, l), value) in dense.indexed_iter() {
        assert!((found[(k, l)] - value).abs() < 1e-9 * dense.sum().abs(), "{} {value}", found[(k, l)]);
    }
}

#[test]
fn a_function_on_some_of_the_rows_has_the_gradients_of_the_normal_equations() {
    let (n, d, m, bandwidth) = (60, 3, 20, 1.3);
    let x = Array2::from_shape_fn((n, d), |(i, k)| normal(4, (i * d + k) as u64));
    let y = x.map_axis(Axis(1), |x| x[0] * x[1] + x[2].sin()).insert_axis(Axis(1));
    let kernel = Kernel::gaussian(bandwidth).unwrap();
    let found = agop_of(&kernel, x.view(), y.view(), m, 0.1).unwrap();
    // (C'C + lambda G) a = C'y with every third row as a point.
    let point = |j: usize| x.row(3 * j);
    let similarity = |a: ArrayView1<'_, f64>, b: ArrayView1<'_, f64>| kernel.eval(&a.to_vec(), &b.to_vec());
    let across = Array2::from_shape_fn((n, m), |(i, j)| similarity(x.row(i), point(j)));
    let gram = Array2::from_shape_fn((m, m), |(i, j)| similarity(point(i), point(j)));
    let system = across.t().dot(&across) + 0.1 * &gram;
    let system = faer::Mat::from_fn(m, m, |i, j| system[(i, j)]);
    let right = crate::linalg::from_array(across.t().dot(&y).view());
    let a = faer::linalg::solvers::Solve::solve(&system.partial_piv_lu(), right);
    let mut dense = Array2::<f64>::zeros((d, d));
    for i in 0..n {
        let mut gradient = Array1::<f64>::zeros(d);
        for j in 0..m {
            let scale = a[(j, 0)] * across[(i, j)] / (bandwidth * bandwidth);
            gradient.scaled_add(scale, &(&point(j) - &x.row(i)));
        }
        for k in 0..d {
            dense.row_mut(k).scaled_add(gradient[k] / n as f64, &gradient);
        }
    }
    for ((k, l), value) in dense.indexed_iter() {
        assert!((found[(k, l)] - value).abs() < 1e-6 * dense.sum().abs(), "{} {value}", found[(k, l)]);
    }
}

#[test]
fn selection_finds_relevant_columns_in_any_units() {
    let (x, y) = stream(600, 6, 5);
    let sample = |x: &Array2<f64>| Sample { x: x.clone(), y: y.clone(), weights: Array1::ones(600) };
    let best = |settings: Vec<super::selection::Setting>| settings[0].preprocessing.metric().clone();
    let factors = |metric: &Metric| match metric {
        Metric::Diagonal(factors) => factors.clone(),
        Metric::Full(rows) => {
            (0..6).map(|k| rows.iter().map(|row| row[k] * row[k]).sum::<f64>().sqrt()).collect()
        }
    };
    let found = best(select(&sample(&x), None, &spec(100, Loss::Squared)).unwrap());
    let factor = factors(&found);
    assert!(factor[2..].iter().all(|other| *other < 0.3 * factor[0].min(factor[1])), "{factor:?}");
    let other = best(select(&sample(&(&x * 1e6)), None, &spec(100, Loss::Squared)).unwrap());
    for (one, other) in factor.iter().zip(factors(&other)) {
        assert!((one - other).abs() < 1e-6 * factor[0]);
    }
}

#[test]
fn labels_are_also_compared_by_columns_as_they_are() {
    let (x, y) = stream(600, 6, 5);
    let sample = Sample { x, y: y.mapv(f64::signum), weights: Array1::ones(600) };
    let plain = |loss, first| {
        let settings = select(&sample, None, &spec(100, loss)).unwrap();
        let is_plain = |setting: &super::selection::Setting| match setting.preprocessing.metric() {
            Metric::Diagonal(factors) => *factors == [1.0; 6],
            Metric::Full(_) => false,
        };
        settings.iter().take(first).filter(|setting| is_plain(setting)).count()
    };
    let few = plain(Loss::SquaredHinge, 5);
    assert!((1..5).contains(&few), "{few} of the first five");
    assert_eq!(plain(Loss::Squared, usize::MAX), 0);
}

#[test]
fn transforms_are_monotonous_and_have_the_slopes_of_differences() {
    let x = Array2::from_shape_fn((500, 2), |(i, k)| {
        let value = normal(9, (2 * i + k) as u64);
        if k == 0 { value.exp() } else { (3.0 * value).round() }
    });
    for transform in Transform::ALL {
        for (k, column) in columns(transform, x.view(), &PreprocessingParams::default()).iter().enumerate() {
            let mut sorted = x.column(k).to_vec();
            sorted.sort_by(f64::total_cmp);
            let seen: Vec<f64> = sorted.iter().map(|value| column.apply(*value)).collect();
            assert!(seen.windows(2).all(|pair| pair[0] <= pair[1]));
            let (mean, square) =
                (seen.iter().sum::<f64>() / 500.0, seen.iter().map(|s| s * s).sum::<f64>() / 500.0);
            assert!(mean.abs() < 0.1 && (square - 1.0).abs() < 0.3, "{transform:?} {mean} {square}");
            for at in [0.123, 0.777, 1.234] {
                let slope = (column.apply(at + 1e-7) - column.apply(at - 1e-7)) / 2e-7;
                assert!((slope - column.slope(at)).abs() < 1e-5 * (1.0 + slope.abs()), "{transform:?} {at}");
            }
            assert!(column.is_beyond(1e6, 0.1) && !column.is_beyond(sorted[250], 0.1));
            assert!(column.apply(1e300).is_finite() && column.slope(1e300).abs() < 1e-300);
        }
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let (x, y) = stream(1500, 3, 11);
    let mut model = small();
    model.learn(x.view(), y.view()).unwrap();
    let rows = x.slice(s![..20, ..]);
    let gradient = model.gradient(rows).unwrap();
    let deviation: Vec<f64> = (0..3).map(|k| x.column(k).std(0.0)).collect();
    let differences = Array2::from_shape_fn((20, 3), |(i, k)| {
        let moved = |sign: f64| {
            let mut row = rows.row(i).to_vec();
            row[k] += sign * 1e-4 * deviation[k];
            model.predict_one(&row).unwrap()[0]
        };
        (moved(1.0) - moved(-1.0)) / 2e-4
    });
    let size = differences.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let off = |((i, k), slope): ((usize, usize), &f64)| (gradient[(i, 0, k)] * deviation[k] - slope).abs();
    let mut off: Vec<f64> = differences.indexed_iter().map(off).collect();
    off.sort_by(f64::total_cmp);
    // A kernel may have a kink, and a row be at the boundary of a cell or of the range of targets.
    assert!(off[30] < 1e-3 * size && off[45] < 1e-2 * size, "{off:?} of {size}");
}

#[test]
fn chunking_does_not_matter() {
    let (x, y) = stream(1300, 3, 2);
    let mut whole = small();
    let predictions = whole.learn_and_predict(x.view(), y.view()).unwrap();
    let mut parts = small();
    let mut made = Vec::new();
    let mut at = 0;
    for (i, n) in [1, 1, 13, 1, 240, 7, 500, 300, 237].into_iter().enumerate() {
        let rows = s![at..at + n, ..];
        if i == 0 {
            parts.learn_one(&x.row(0).to_vec(), &y.row(0).to_vec()).unwrap();
            made.push(0.0);
        } else {
            made.extend(parts.learn_and_predict(x.slice(rows), y.slice(rows)).unwrap());
        }
        at += n;
    }
    assert_eq!(at, 1300);
    for (one, other) in predictions.iter().zip(made) {
        assert!((one - other).abs() < 1e-8, "{one} {other}");
    }
    assert_eq!(whole.members().len(), parts.members().len());
}

#[test]
fn a_file_resumes_to_the_bit_between_refits() {
    let (x, y) = stream(1400, 3, 8);
    for n in [0, 5, 100, 700, 1100] {
        let mut model = small();
        model.learn(x.slice(s![..n, ..]), y.slice(s![..n, ..])).unwrap();
        let bytes = model.to_bytes(serde_json::Value::Null).unwrap();
        let (mut other, _) = AdaptiveExperts::from_bytes(&bytes).unwrap();
        assert_eq!(other.to_bytes(serde_json::Value::Null).unwrap(), bytes);
        let rest = s![n.., ..];
        let one = model.learn_and_predict(x.slice(rest), y.slice(rest)).unwrap();
        assert_eq!(one, other.learn_and_predict(x.slice(rest), y.slice(rest)).unwrap());
        assert_eq!(
            model.to_bytes(serde_json::Value::Null).unwrap(),
            other.to_bytes(serde_json::Value::Null).unwrap()
        );
    }
}

#[test]
fn units_shifts_and_copies_of_columns_do_not_matter() {
    let (x, y) = stream(1500, 4, 21);
    let late = s![800.., ..];
    let run = |x: &Array2<f64>, y: &Array2<f64>| small().learn_and_predict(x.view(), y.view()).unwrap();
    let plain = run(&x, &y);
    let reference = error(plain.slice(late), y.slice(late));
    assert!(reference < 0.05, "{reference}");

    let mut scaled = x.clone();
    scaled.column_mut(0).mapv_inplace(|value| 1e6 * value);
    let difference = (&run(&scaled, &y) - &plain).mapv(f64::abs);
    assert!(difference.iter().all(|value| *value < 1e-6), "units of a column");

    let swapped = x.select(Axis(1), &[2, 0, 3, 1]);
    let swapped = error(run(&swapped, &y).slice(late), y.slice(late));
    assert!((swapped / reference - 1.0).abs() < 0.3, "order of columns: {swapped} {reference}");

    let shifted = run(&x, &(&y + 1e4)) - 1e4;
    let shifted = error(shifted.slice(late), y.slice(late));
    assert!((shifted / reference - 1.0).abs() < 0.3, "shift of targets: {shifted} {reference}");

    let doubled = x.select(Axis(1), &[0, 1, 2, 3, 0]);
    let doubled = error(run(&doubled, &y).slice(late), y.slice(late));
    assert!(doubled < 1.5 * reference, "a column twice: {doubled} {reference}");
}

#[test]
fn columns_that_say_nothing_cost_little() {
    let (x, y) = stream(3000, 80, 31);
    let late = s![1500.., ..];
    let of = |columns: usize| {
        let x = x.slice(s![.., ..columns]);
        error(small().learn_and_predict(x, y.view()).unwrap().slice(late), y.slice(late))
    };
    let few = of(2);
    for columns in [20, 80] {
        let all = of(columns);
        assert!(all < 2.0 * few, "{all} with {columns} columns, {few} without the irrelevant ones");
    }
}

#[test]
fn columns_that_matter_are_found_among_many_by_themselves_and_together() {
    let (n, d) = (3000, 40);
    let x = Array2::from_shape_fn((n, d), |(i, k)| normal(51, (i * d + k) as u64));
    let late = s![2000.., ..];
    // Fast waves have no overall slope; a direction combines columns.
    let alone = |x: ArrayView1<'_, f64>| (0..4).map(|k| (2.5 * x[k]).sin()).sum::<f64>();
    let together = |x: ArrayView1<'_, f64>| (x[0] + x[1] - x[2]).sin() + (x[1] - x[3]) * (x[0] + x[2]);
    for target in [&alone as &dyn Fn(ArrayView1<'_, f64>) -> f64, &together] {
        let y = x.map_axis(Axis(1), target).insert_axis(Axis(1));
        let of = |columns: usize| {
            let mut model = AdaptiveSpec { size: 100, ..AdaptiveSpec::default() }.build().unwrap();
            let predictions = model.learn_and_predict(x.slice(s![.., ..columns]), y.view()).unwrap();
            error(predictions.slice(late), y.slice(late))
        };
        let (few, all) = (of(4), of(d));
        assert!(all < 2.0 * few + 0.01, "{all} with all columns, {few} without the irrelevant ones");
    }
}

#[test]
fn it_recovers_from_a_change() {
    let (x, mut y) = stream(4000, 2, 41);
    y.slice_mut(s![2000.., ..]).mapv_inplace(|value| 3.0 - 2.0 * value);
    let mut model = small();
    let predictions = model.learn_and_predict(x.view(), y.view()).unwrap();
    let of = |from: usize, to: usize| error(predictions.slice(s![from..to, ..]), y.slice(s![from..to, ..]));
    assert!(of(1500, 2000) < 0.05, "{}", of(1500, 2000));
    assert!(of(3000, 4000) < 0.05, "{}", of(3000, 4000));
}

#[test]
fn a_clock_among_the_columns_causes_few_refits() {
    // With long tails, so that normal scores are selected, which are constant out of range.
    let (x, y) = stream(6000, 4, 61);
    let mut x = x / Array1::from(vec![1e-3, 1e-2, 0.1, 1.0]);
    x.mapv_inplace(|v| (6.0 * v).exp());
    let n_refits = |x: &Array2<f64>| {
        let mut model = small();
        model.learn_and_predict(x.view(), y.view()).unwrap();
        model.n_refits()
    };
    let without = n_refits(&x);
    x.column_mut(3).iter_mut().enumerate().for_each(|(t, value)| *value = 1.7e9 + 60.0 * t as f64);
    let with = n_refits(&x);
    assert!(with <= without + 4, "{with} refits, {without} without a clock");
    let mut buffer = Buffer::new(4, 1, 2048);
    let walk = (0..6000).scan(0.0, |at, t| {
        *at += normal(62, t);
        Some(*at)
    });
    for (t, at) in walk.enumerate() {
        let row = Array1::from(vec![x[(t, 3)], -x[(t, 3)], at, 1.0]);
        buffer.add(t as u64, row.view(), y.row(t), 1.0);
    }
    assert_eq!(buffer.clocks(&AdaptiveParams::default()), [true, true, false, false]);
}

#[test]
fn memory_is_bounded_and_no_member_stays_for_ever() {
    let (x, y) = stream(6000, 2, 51);
    let mut model = small();
    let mut most = 0;
    for rows in (0..6000).step_by(500) {
        let rows = s![rows..rows + 500, ..];
        model.learn(x.slice(rows), y.slice(rows)).unwrap();
        most = most.max(model.to_bytes(serde_json::Value::Null).unwrap().len());
    }
    let last = model.n_refits();
    assert!(last >= 5);
    assert!(model.members().iter().all(|member| member.refit + 1 >= last));
    assert!(most < 8_000_000, "{most}");
}

#[test]
fn signs_are_learned_by_their_margins() {
    let mistakes = |seed: u64, loss: Loss| {
        let (x, y) = stream(1600, 4, seed);
        let signs = y.mapv(|y| if y > 0.3 { 1.0 } else { -1.0 });
        let spec = AdaptiveSpec { size: 40, loss, ..AdaptiveSpec::default() };
        let made = spec.build().unwrap().learn_and_predict(x.view(), signs.view()).unwrap();
        let right = |(made, sign): (&f64, &f64)| made * sign > 0.0;
        made.iter().zip(&signs).skip(800).filter(|pair| !right(*pair)).count()
    };
    let all = |loss: Loss| (91..155).map(|seed| mistakes(seed, loss)).sum::<usize>();
    let (squared, hinge) = (all(Loss::Squared), all(Loss::SquaredHinge));
    assert!(hinge <= squared && hinge < 1000, "{hinge} mistakes of 51200, {squared} with the squared loss");
    assert!(AdaptiveSpec { loss: Loss::Absolute, ..AdaptiveSpec::default() }.build().is_err());
}

#[test]
fn labels_have_an_exact_expert_until_it_has_no_share_or_no_room() {
    let (x, y) = stream(4000, 3, 12);
    let signs = y.mapv(|y| if y > 0.3 { 1.0 } else { -1.0 });
    let spec = AdaptiveSpec { size: 40, loss: Loss::SquaredHinge, ..AdaptiveSpec::default() };
    let mut model = spec.clone().build().unwrap();
    let mut stored = Vec::new();
    for start in (0..4000).step_by(100) {
        let rows = s![start..start + 100, ..];
        model.learn(x.slice(rows), signs.slice(rows)).unwrap();
        let members = model.members();
        let exact: Vec<usize> = members.iter().filter(|m| m.exact).map(|m| m.n_stored).collect();
        assert!(exact.len() <= 1 && exact.iter().all(|n| *n <= 200), "{exact:?}");
        stored.extend(exact);
        if start == 700 {
            let bytes = model.to_bytes(serde_json::Value::Null).unwrap();
            let (mut other, _) = AdaptiveExperts::from_bytes(&bytes).unwrap();
            let rest = s![800..1300, ..];
            let one = model.clone().learn_and_predict(x.slice(rest), signs.slice(rest)).unwrap();
            assert_eq!(one, other.learn_and_predict(x.slice(rest), signs.slice(rest)).unwrap());
        }
    }
    assert!(stored[7] > 50 && stored.len() < 40, "{stored:?}");
    let mut numbers = AdaptiveSpec { size: 40, ..AdaptiveSpec::default() }.build().unwrap();
    numbers.learn(x.slice(s![..800, ..]), y.slice(s![..800, ..])).unwrap();
    assert!(numbers.members().iter().all(|member| !member.exact));
}

#[test]
fn the_exact_expert_is_ridge_regression_on_signs_of_one_and_a_half() {
    use super::member::MemberShape;
    use super::selection::rough_setting;
    let (x, y) = stream(300, 3, 13);
    let signs = y.mapv(|y| if y > 0.3 { 1.0 } else { -1.0 });
    let sample = Sample { x: x.clone(), y: signs.clone(), weights: Array1::ones(300) };
    let setting = rough_setting(&sample, &AdaptiveParams::default()).unwrap();
    let views = super::preprocessing::Views::of([&setting.preprocessing], x.view());
    let shape = MemberShape { cells: 1, size: 1000, forgetting: 1.0, exact: true };
    let mut member = Member::new(&setting, shape, &spec(300, Loss::SquaredHinge), &views, 1).unwrap();
    let made = member.learn(&views, signs.view(), None).unwrap().into_made();
    let seen = setting.preprocessing.apply(x.view());
    let similarity = |i: usize, j: usize| {
        let distance = (&seen.row(i) - &seen.row(j)).mapv(f64::abs).sum();
        (-(distance / 3.0).powf(0.75)).exp()
    };
    // Rows within 0.45 of their target are not stored.
    let mut kept: Vec<usize> = Vec::new();
    for i in 0..300 {
        let m = kept.len();
        let gram =
            faer::Mat::from_fn(m, m, |a, b| similarity(kept[a], kept[b]) + if a == b { 0.1 } else { 0.0 });
        let right = faer::Mat::from_fn(m, 1, |a, _| 1.5 * signs[(kept[a], 0)]);
        let a = faer::linalg::solvers::Solve::solve(&gram.partial_piv_lu(), right);
        let truth: f64 = (0..m).map(|j| a[(j, 0)] * similarity(kept[j], i)).sum();
        assert!((made[(i, 0)] - truth).abs() < 1e-9, "row {i}: {} {truth}", made[(i, 0)]);
        if (truth - 1.5 * signs[(i, 0)]).abs() > 0.45 {
            kept.push(i);
        }
    }
    assert_eq!(member.n_stored(), kept.len());
    assert!(kept.len() < 250, "{}", kept.len());
}

#[test]
fn extreme_rows_are_borne_and_broken_ones_refused() {
    let (x, y) = stream(600, 2, 61);
    let mut model = small();
    model.learn(x.view(), y.view()).unwrap();
    let before = model.to_bytes(serde_json::Value::Null).unwrap();
    let mut broken = x.clone();
    broken[(17, 1)] = f64::NAN;
    assert!(model.learn(broken.view(), y.view()).unwrap_err().to_string().contains("row 17"));
    assert_eq!(model.to_bytes(serde_json::Value::Null).unwrap(), before);
    let far = Array2::from_elem((3, 2), 1e45);
    model.learn(far.view(), y.slice(s![..3, ..])).unwrap();
    let constant = Array2::ones((700, 2));
    model.learn(constant.view(), Array2::zeros((700, 1)).view()).unwrap();
    assert!(model.predict(x.view()).unwrap().iter().all(|value| value.is_finite()));
    let weights = Array1::zeros(600);
    model.learn_while(x.view(), y.view(), Some(weights.view()), None, &mut |_| true).unwrap();
}

#[test]
fn a_buffer_has_the_latest_rows_and_some_of_all() {
    let mut buffer = Buffer::new(1, 1, 2048);
    for t in 0..20_000_u64 {
        let row = Array1::from_elem(1, t as f64);
        buffer.add(t, row.view(), row.view(), 1.0);
    }
    let rows = buffer.sample().x.column(0).to_vec();
    assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(rows.ends_with(&[19_998.0, 19_999.0]));
    let latest = rows.iter().filter(|t| **t >= 17_952.0).count();
    let early = rows.iter().filter(|t| **t < 10_000.0).count();
    assert_eq!(latest, 2048);
    assert!((1900..2200).contains(&early), "{early} of the first half");
    buffer.forget_before(19_900);
    assert_eq!((buffer.age(), buffer.sample().x.nrows()), (100, 100));
}

#[test]
fn what_is_seen_through_a_lens_is_read_back() {
    let (x, y) = stream(400, 3, 71);
    let sample = Sample { x: x.clone(), y, weights: Array1::ones(400) };
    for setting in select(&sample, None, &spec(40, Loss::Squared)).unwrap() {
        let mut out = crate::persist::Writer::default();
        setting.preprocessing.write_file("preprocessing", &mut out);
        let bytes = out.finish("preprocessing", serde_json::Value::Null, serde_json::Value::Null).unwrap();
        let from = crate::persist::Reader::open(&bytes).unwrap();
        let preprocessing = Preprocessing::read_file("preprocessing", 3, &from).unwrap();
        assert_eq!(preprocessing.apply(x.view()), setting.preprocessing.apply(x.view()));
    }
}

#[test]
fn rows_without_weight_change_nothing() {
    let (x, y) = stream(1500, 3, 21);
    // Between any two rows, and before the first, a wrong row of weight 0.
    let counts = |i: usize| i % 2 == 1;
    let (mut more_x, mut more_y) = (Array2::zeros((3000, 3)), Array2::from_elem((3000, 1), 1e6));
    for i in (0..3000).filter(|i| counts(*i)) {
        more_x.row_mut(i).assign(&x.row(i / 2));
        more_y.row_mut(i).assign(&y.row(i / 2));
    }
    let weights = Array1::from_shape_fn(3000, |i| if counts(i) { 1.0 } else { 0.0 });
    let (mut model, mut other) = (small(), small());
    model.learn(x.view(), y.view()).unwrap();
    other.learn_while(more_x.view(), more_y.view(), Some(weights.view()), None, &mut |_| true).unwrap();
    assert_eq!((model.n_seen(), other.n_seen()), (1500, 3000));
    assert_eq!(model.n_refits(), other.n_refits());
    let (one, two) = (model.predict(x.view()).unwrap(), other.predict(x.view()).unwrap());
    assert!((&one - &two).iter().all(|difference| difference.abs() < 1e-9));
    let bytes = other.to_bytes(serde_json::Value::Null).unwrap();
    let (mut resumed, _) = AdaptiveExperts::from_bytes(&bytes).unwrap();
    for model in [&mut other, &mut resumed] {
        model.learn(x.view(), y.view()).unwrap();
    }
    assert_eq!(resumed.predict(x.view()).unwrap(), other.predict(x.view()).unwrap());
}

#[test]
fn an_outlier_among_the_first_targets_is_winsorized() {
    let (x, mut y) = stream(12, 3, 31);
    y[(4, 0)] = 1e9;
    let made = small().learn_and_predict(x.view(), y.view()).unwrap();
    assert!(made.iter().all(|made| made.abs() < 10.0), "{made}");
}

#[test]
fn runs_of_equal_targets_are_followed_as_soon_as_they_begin() {
    // Sorted by its labels: no column indicates where one ends.
    let n = 1200;
    let x = Array2::from_shape_fn((n, 3), |(i, k)| normal(61, (3 * i + k) as u64));
    let y = Array2::from_shape_fn((n, 1), |(i, _)| if i % 400 < 200 { 1.0 } else { -1.0 });
    let spec = AdaptiveSpec { size: 40, loss: Loss::SquaredHinge, ..AdaptiveSpec::default() };
    let made = spec.build().unwrap().learn_and_predict(x.view(), y.view()).unwrap();
    let wrong = (&made * &y).iter().skip(400).filter(|product| **product <= 0.0).count();
    assert!(wrong <= 4 * 4, "{wrong} of four changes");
}

#[test]
fn numbers_are_set_by_the_specification_and_stored_only_where_they_differ() {
    let json = |params: &str| format!(r#"{{"adaptive": {{"size": 20{params}}}}}"#);
    let of = |params: &str| AdaptiveExperts::from_spec(serde_json::from_str(&json(params)).unwrap());
    let plain = of("").unwrap();
    assert!(!plain.spec_json().unwrap().to_string().contains("params"));
    let mut other = of(r#", "params": {"refits": {"first_rows": 24}, "drift": {"ratio": 3.2}}"#).unwrap();
    assert_eq!(other.spec().params.refits.first_rows, 24);
    assert_eq!(other.spec().params.refits.growth, 3);
    let (x, y) = stream(60, 3, 5);
    other.learn(x.view(), y.view()).unwrap();
    assert_eq!(other.n_refits(), 1);
    let bytes = other.to_bytes(serde_json::Value::Null).unwrap();
    let again = AdaptiveExperts::from_bytes(&bytes).unwrap().0;
    assert_eq!(again.spec(), other.spec());
    for wrong in ["block_rows\": 0", "block_rows\": 100000", "ratio\": -1.0", "ratios\": 1.6"] {
        assert!(of(&format!(r#", "params": {{"drift": {{"{}}}}}"#, wrong.replace('\\', ""))).is_err());
    }
}

/// Targets with steps, which trees follow and smooth kernels do not.
fn steps(n: usize, outputs: usize) -> (Array2<f64>, Array2<f64>) {
    let x = Array2::from_shape_fn((n, 3), |(i, k)| normal(81, (3 * i + k) as u64));
    let target = |x: &[f64], c: usize| (2.0 * x[c % 3]).floor() + if x[1] > 0.2 { 3.0 } else { 0.0 };
    let y = Array2::from_shape_fn((n, outputs), |(i, c)| target(&x.row(i).to_vec(), c));
    (x, y)
}

/// An order of rows.
fn sorted(n: usize, key: &dyn Fn(usize) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| key(*i).total_cmp(&key(*j)));
    order
}

/// Errors of experts with two values of a number, on late rows of these orders, the first as they come.
fn errors_in_orders<T: Copy>(
    (x, y): (&Array2<f64>, &Array2<f64>),
    orders: Vec<Vec<usize>>,
    (from, values): (usize, [T; 2]),
    set: impl Fn(&mut AdaptiveSpec, T),
) -> Vec<[f64; 2]> {
    let of_order = |order: Vec<usize>| {
        let (x, y) = (x.select(Axis(0), &order), y.select(Axis(0), &order));
        values.map(|value| {
            let mut spec = spec(40, Loss::Squared);
            set(&mut spec, value);
            let made = spec.build().unwrap().learn_and_predict(x.view(), y.view()).unwrap();
            error(made.slice(s![from.., ..]), y.slice(s![from.., ..]))
        })
    };
    orders.into_iter().map(of_order).collect()
}

#[test]
fn trees_follow_steps_in_any_order() {
    let n = 1000;
    let (x, y) = steps(n, 1);
    let sorted = |key: &dyn Fn(usize) -> f64| sorted(n, key);
    let by_column = sorted(&|i| x[(i, 0)]);
    let by_target = sorted(&|i| y[(i, 0)]);
    let orders = vec![(0..n).collect(), by_column, by_target];
    let set = |spec: &mut AdaptiveSpec, first| spec.params.trees.first_rows = first;
    // With 1,024 first rows there are no trees here.
    let errors = errors_in_orders((&x, &y), orders, (500, [256, 1024]), set);
    for (o, [with, without]) in errors.into_iter().enumerate() {
        // Trees follow a step later than the running mean does.
        let most = if o == 0 { 0.8 * without } else { without + 0.02 };
        assert!(with < most, "order {o}: {with} {without}");
    }
}

/// Prices: positive and skewed targets, as products of effects and of noise.
fn prices(n: usize, outputs: usize) -> (Array2<f64>, Array2<f64>) {
    let (x, y) = steps(n, outputs);
    let noise = |i: usize, c: usize| 0.03 * normal(82, (outputs * i + c) as u64);
    let y = Array2::from_shape_fn((n, outputs), |(i, c)| 100.0 * (0.15 * y[(i, c)] + noise(i, c)).exp());
    (x, y)
}

#[test]
fn skewed_positive_targets_have_experts_on_their_logarithms_in_any_order() {
    let n = 3000;
    let (x, y) = prices(n, 1);
    let sorted = |key: &dyn Fn(usize) -> f64| sorted(n, key);
    let labels = sorted(&|i| f64::from(u8::from(x[(i, 2)] > 0.0)));
    let orders = vec![(0..n).collect(), sorted(&|i| x[(i, 0)]), sorted(&|i| y[(i, 0)]), labels];
    let set = |spec: &mut AdaptiveSpec, least| spec.params.trees.log_skewness = least;
    let errors = errors_in_orders((&x, &y), orders, (1000, [0.5, 2.0]), set);
    for (o, [with, without]) in errors.into_iter().enumerate() {
        let most = if o == 0 { 0.98 * without } else { 1.02 * without + 0.001 };
        assert!(with < most, "order {o}: {with} {without}");
    }
}

/// A landscape: rough, without noise, of two columns, their sum and their difference.
fn landscape(n: usize) -> (Array2<f64>, Array2<f64>) {
    let at = |i: usize, k: usize| 10.0 * crate::random::uniform(83, (2 * i + k) as u64);
    let x = Array2::from_shape_fn((n, 4), |(i, k)| match k {
        2 => at(i, 0) + at(i, 1),
        3 => at(i, 0) - at(i, 1),
        _ => at(i, k),
    });
    let waves: Vec<[f64; 3]> = (0..60).map(|w| [0, 1, 2].map(|k| 4.0 * normal(84, 3 * w + k))).collect();
    let height = |x: &[f64]| waves.iter().map(|[a, b, c]| (a * x[0] + b * x[1] + c).sin()).sum::<f64>();
    let y = Array2::from_shape_fn((n, 1), |(i, _)| height(&x.row(i).to_vec()));
    (x, y)
}

#[test]
fn a_rough_landscape_is_known_from_the_nearest_rows_in_any_order() {
    let n = 6000;
    let (x, y) = landscape(n);
    let sorted = |key: &dyn Fn(usize) -> f64| sorted(n, key);
    let strips = sorted(&|i| (4.0 * x[(i, 0)]).floor() + x[(i, 1)] / 100.0);
    let orders = vec![(0..n).collect(), sorted(&|i| x[(i, 0)]), sorted(&|i| y[(i, 0)]), strips];
    let set = |spec: &mut AdaptiveSpec, columns| spec.params.trees.nearest_columns = columns;
    let errors = errors_in_orders((&x, &y), orders, (3000, [10, 3]), set);
    for (o, [with, without]) in errors.into_iter().enumerate() {
        let most = if o == 0 { 0.7 * without } else { 1.02 * without + 0.001 };
        assert!(with < most, "order {o}: {with} {without}");
    }
}

#[test]
fn experts_that_get_no_weight_are_given_up() {
    let (x, y) = prices(3000, 1);
    let mut spec = spec(10, Loss::Squared);
    (spec.params.trees.first_rows, spec.params.trees.forest_trees) = (64, 3);
    let mut trees = TreeStage::new(3, 1, &Arc::new(spec.clone()));
    let mut said = Predicted::default();
    let mut lengths = Vec::new();
    for (t, (x, y)) in (0_u64..).zip(x.rows().into_iter().zip(y.rows())) {
        // The kernel experts are right.
        trees.predict(x.iter().copied(), &y.to_vec(), &mut said);
        lengths.push(trees.length());
        trees.learn(t, &said, (&y.to_vec(), &[1.0]), 1.0, false);
    }
    // Those on the nearest rows and those on logarithms.
    let least = *lengths.iter().min().unwrap();
    assert!(lengths[900] == least + 2 + 3 && lengths.iter().rev().take(1000).all(|length| *length == least));
}

#[test]
fn several_targets_and_weights_of_any_unit_have_trees_too() {
    for make in [steps, prices] {
        several_targets_and_weights_of_any_unit(&make(900, 2));
    }
}

fn several_targets_and_weights_of_any_unit((x, y): &(Array2<f64>, Array2<f64>)) {
    let learned = |y: &Array2<f64>, weight: f64| {
        let weights = Array1::from_shape_fn(900, |i| weight * (1 + i % 3) as f64);
        let mut model = small();
        model.learn_while(x.view(), y.view(), Some(weights.view()), None, &mut |_| true).unwrap();
        model.predict(x.view()).unwrap()
    };
    let plain = learned(y, 1.0);
    assert_eq!(plain, learned(y, 4.0));
    let units = Array1::from_vec(vec![1024.0, 0.25]);
    let other = learned(&(y * &units), 1.0) / &units;
    assert!((&plain - &other).iter().zip(&plain).all(|(off, value)| off.abs() < 1e-6 * (1.0 + value.abs())));
    assert!(error(plain.view(), y.view()) < 0.2);
}

#[test]
fn models_that_are_saved_while_trees_are_made_continue_as_if_they_were_not() {
    for (outputs, make) in [(1, steps as fn(_, _) -> _), (2, steps), (1, prices), (2, prices)] {
        let (x, y): (Array2<f64>, Array2<f64>) = make(640, outputs);
        let mut whole = small();
        whole.learn(x.slice(s![..254, ..]), y.slice(s![..254, ..])).unwrap();
        let mut model = whole.clone();
        let mut making = 0;
        for t in 254..640 {
            let row = s![t..t + 1, ..];
            whole.learn(x.slice(row), y.slice(row)).unwrap();
            model.learn(x.slice(row), y.slice(row)).unwrap();
            let trees = &model.known().unwrap().trees;
            if trees.are_made() && (making < 40 || t > 500) {
                making += 1;
                let bytes = model.to_bytes(serde_json::Value::Null).unwrap();
                let (again, _) = AdaptiveExperts::from_bytes(&bytes).unwrap();
                assert_eq!(again.to_bytes(serde_json::Value::Null).unwrap(), bytes);
                model = again;
            }
        }
        assert!(making > 10, "{making}");
        assert_eq!(model.predict(x.view()).unwrap(), whole.predict(x.view()).unwrap());
    }
}

#[test]
fn trees_have_a_bounded_number_of_rows_and_none_where_rows_are_too_wide() {
    let (x, y) = steps(2000, 1);
    let mut spec = spec(10, Loss::Squared);
    (spec.params.trees.max_rows, spec.params.trees.forest_trees) = (300, 3);
    let mut trees = TreeStage::new(3, 1, &Arc::new(spec.clone()));
    let mut said = Predicted::default();
    let (mut compared, mut copy) = (0, None);
    for (t, (x, y)) in (0_u64..).zip(x.rows().into_iter().zip(y.rows())) {
        trees.predict(x.iter().copied(), &[0.0], &mut said);
        let is_ordered = (900..1000).contains(&t);
        // A copy from a file, with trees that are compared, continues as if it had none.
        if let Some(copy) = &mut copy {
            let mut other = Predicted::default();
            TreeStage::predict(copy, x.iter().copied(), &[0.0], &mut other);
            assert_eq!(said, other, "row {t}");
            copy.learn(t, &other, (&y.to_vec(), &[1.0]), 1.0, is_ordered);
        }
        trees.learn(t, &said, (&y.to_vec(), &[1.0]), 1.0, is_ordered);
        compared += u64::from(trees.has_rival());
        if trees.has_rival() && t % 37 == 0 {
            let mut out = crate::persist::Writer::default();
            trees.write(&mut out);
            let bytes = out.finish("trees", serde_json::Value::Null, serde_json::Value::Null).unwrap();
            let from = crate::persist::Reader::open(&bytes).unwrap();
            copy = Some(TreeStage::read((3, 1), t + 1, &Arc::new(spec.clone()), &from).unwrap());
            assert!(copy.as_ref().unwrap().has_rival());
        }
    }
    assert!(compared > 300 && copy.is_some(), "{compared}");
    let mut out = crate::persist::Writer::default();
    trees.write(&mut out);
    let bytes = out.finish("trees", serde_json::Value::Null, serde_json::Value::Null).unwrap();
    // 300 rows, 3 trees of at most 600 nodes, and 250 of 64 leaves.
    assert!(bytes.len() < 300 * 56 + 3 * 600 * 40 + 250 * (64 + 12) * 8 + 4000, "{}", bytes.len());
    let from = crate::persist::Reader::open(&bytes).unwrap();
    let again = TreeStage::read((3, 1), 2000, &Arc::new(spec.clone()), &from).unwrap();
    let mut other = Predicted::default();
    for x in x.rows() {
        for (trees, said) in [(&trees, &mut said), (&again, &mut other)] {
            trees.predict(x.iter().copied(), &[0.5], said);
        }
        assert_eq!(said, other);
    }
    assert!(TreeStage::read((3, 1), 1999, &Arc::new(spec.clone()), &from).is_err());
    let default = Arc::new(AdaptiveSpec::default());
    assert!([8, 100, 300].iter().all(|features| TreeStage::new(*features, 1, &default).capacity() > 20_000));
    let mut wide = TreeStage::new(3000, 1, &default);
    wide.predict(std::iter::repeat_n(0.5, 3000), &[0.0], &mut said);
    (0..400).for_each(|t| wide.learn(t, &said, (&[1.0], &[1.0]), 1.0, false));
    assert!(!wide.is_grown());
}

#[test]
fn trees_of_a_former_file_continue_with_fewer_rows() {
    // Of 1,000 columns a former file has 2,064 rows.
    let mut spec = AdaptiveSpec::default();
    spec.params.trees.max_rows = 2064;
    spec.params.trees.forest_trees = 1;
    let row = |t: u64| (0..1000).map(move |k| normal(k, t));
    let learn = |trees: &mut TreeStage, rows: std::ops::Range<u64>| {
        let mut said = Predicted::default();
        for t in rows {
            trees.predict(row(t), &[0.0], &mut said);
            trees.learn(t, &said, (&[normal(0, t)], &[1.0]), 1.0, false);
        }
    };
    let mut former = TreeStage::new(1000, 1, &Arc::new(spec.clone()));
    learn(&mut former, 0..2200);
    let write = |trees: &TreeStage| {
        let mut out = crate::persist::Writer::default();
        trees.write(&mut out);
        out.finish("trees", serde_json::Value::Null, serde_json::Value::Null).unwrap()
    };
    let bytes = write(&former);
    spec.params.trees.max_rows = AdaptiveSpec::default().params.trees.max_rows;
    let from = crate::persist::Reader::open(&bytes).unwrap();
    let mut again = TreeStage::read((1000, 1), 2200, &Arc::new(spec.clone()), &from).unwrap();
    assert_eq!(again.capacity(), 2064);
    learn(&mut former, 2200..2210);
    learn(&mut again, 2200..2210);
    assert!(write(&again) == write(&former));
}

/// Streams whose scheduled refits are prepared: numbers, labels, and several targets; in random order, by a column, by the
/// target.
fn streams_of_refits(n: usize) -> Vec<(Loss, Array2<f64>, Array2<f64>)> {
    let (x, y) = stream(n, 3, 5);
    let signs = y.mapv(|y| if y > 0.3 { 1.0 } else { -1.0 });
    let two = concatenate(Axis(1), &[y.view(), x.slice(s![.., ..1])]).unwrap();
    let by_column = sorted(n, &|i| x[(i, 0)]);
    let by_target = sorted(n, &|i| y[(i, 0)]);
    let ordered = |rows: &[usize], y: &Array2<f64>| (x.select(Axis(0), rows), y.select(Axis(0), rows));
    let mut all = vec![
        (Loss::Squared, x.clone(), y.clone()),
        (Loss::SquaredHinge, x.clone(), signs.clone()),
        (Loss::Squared, x.clone(), two),
    ];
    for rows in [by_column, by_target] {
        let (x, y) = ordered(&rows, &y);
        all.push((Loss::Squared, x, y));
        let (x, signs) = ordered(&rows, &signs);
        all.push((Loss::SquaredHinge, x, signs));
    }
    all
}

#[test]
fn experts_prepared_ahead_are_those_of_the_sample_and_of_the_rows_since() {
    let (x, y) = stream(972, 3, 5);
    for (loss, y) in
        [(Loss::Squared, y.clone()), (Loss::SquaredHinge, y.mapv(|y| if y > 0.3 { 1.0 } else { -1.0 }))]
    {
        let mut model = spec(30, loss).build().unwrap();
        model.learn(x.slice(s![..810, ..]), y.slice(s![..810, ..])).unwrap();
        let state = model.known().unwrap();
        assert!(state.preparation.is_some(), "162 rows ahead");
        // The same on this thread, with all that is made of the sample.
        let (sample, number) = (state.sample(), state.n_refits);
        let points = state.rows_of_gradients(&sample).unwrap();
        let leading = state.leading();
        let mut slopes = Array3::zeros((points.nrows(), 1, 3));
        let mut along = model.clone();
        for (i, start) in (0..points.nrows()).step_by(64).enumerate() {
            let (row, part) = (s![810 + i..=810 + i, ..], start..points.nrows().min(start + 64));
            along.learn(x.slice(row), y.slice(row)).unwrap();
            let made = along.known().unwrap().slopes_in_deviations(points.slice(s![part.clone(), ..]));
            slopes.slice_mut(s![part, .., ..]).assign(&made.unwrap());
        }
        assert_eq!((along.n_seen(), along.known().unwrap().n_refits), (823, number));
        let gradients = Some(agop::Gradients { x: points, slopes, leading });
        let task = model.known().unwrap().task(sample, gradients, (false, 972));
        let prepared = task.prepare().unwrap();
        let mut expected: Vec<Member> = prepared.members.into_iter().map(|each| each.member).collect();
        model.learn(x.slice(s![810.., ..]), y.slice(s![810.., ..])).unwrap();
        let state = model.known().unwrap();
        assert_eq!((state.n_refits, state.began), (5, 972));
        assert!(state.preparation.is_none());
        let found: Vec<&Member> = state.members.iter().filter(|member| member.refit == 5).collect();
        assert_eq!(found.len(), expected.len());
        let some = x.slice(s![..50, ..]);
        for (expected, found) in expected.iter_mut().zip(found) {
            // One row at a time, where the other learned blocks.
            for i in 810..972 {
                let rows = s![i..=i, ..];
                let views = preprocessing::Views::of([expected.preprocessing()], x.slice(rows));
                expected.learn(&views, y.slice(rows), Some(ArrayView1::from(&[1.0]))).unwrap();
            }
            assert_eq!((found.n_seen(), found.report()), (972, expected.report()));
            let (one, other) = (expected.predict(some, 1).unwrap(), found.predict(some, 1).unwrap());
            let close = |(one, other): (&f64, &f64)| (one - other).abs() < 1e-7;
            assert!(one.iter().zip(&other).all(close), "{:?}", expected.report());
        }
    }
}

#[test]
fn models_that_are_saved_or_copied_while_a_refit_is_prepared_continue_as_if_they_were_not() {
    for (s, (loss, x, y)) in streams_of_refits(1000).into_iter().enumerate() {
        let mut whole = spec(20, loss).build().unwrap();
        let mut model = whole.clone();
        let mut prepared = 0;
        for t in 0..1000 {
            let row = s![t..=t, ..];
            whole.learn(x.slice(row), y.slice(row)).unwrap();
            model.learn(x.slice(row), y.slice(row)).unwrap();
            let prepares = model.known().unwrap().preparation.is_some();
            if t % 50 == 0 || prepares && (t % 7 == 0 || (967..972).contains(&t)) {
                prepared += usize::from(prepares);
                let bytes = model.to_bytes(serde_json::Value::Null).unwrap();
                let (again, _) = AdaptiveExperts::from_bytes(&bytes).unwrap();
                assert_eq!(again.to_bytes(serde_json::Value::Null).unwrap(), bytes);
                model = if t % 2 == 0 { again } else { model.clone() };
            }
        }
        // In an order, the latest rows have to be among those that are shuffled.
        assert!(prepared > 20 || s > 2, "{prepared}");
        assert_eq!(model.predict(x.view()).unwrap(), whole.predict(x.view()).unwrap());
    }
}

#[test]
fn a_refit_prepared_on_another_thread_is_that_of_one_thread_however_calls_are_cut_or_interrupted() {
    for (loss, x, y) in streams_of_refits(1000) {
        let mut alone = spec(20, loss).build().unwrap();
        crate::threads::alone(|| alone.learn(x.view(), y.view())).unwrap();
        let mut broken = spec(20, loss).build().unwrap();
        let mut calls = 0;
        while broken.n_seen() < 1000 {
            let from = usize::try_from(broken.n_seen()).unwrap();
            // A call in two is broken off at each of its polls in turn, if it comes so far.
            let mut left = if calls % 2 == 0 { calls / 2 % 5 } else { i32::MAX };
            let going = move || {
                left -= 1;
                left >= 0
            };
            let rows = s![from..1000.min(from + 40), ..];
            crate::interrupt::watched(going, || broken.learn(x.slice(rows), y.slice(rows))).ok();
            calls += 1;
        }
        assert!(calls > 20, "{calls}");
        let (one, other) = (alone.predict(x.view()).unwrap(), broken.predict(x.view()).unwrap());
        assert!(one.iter().zip(&other).all(|(one, other)| (one - other).abs() < 1e-7));
        assert_eq!(alone.n_refits(), broken.n_refits());
    }
}

#[test]
fn each_mechanism_can_be_left_out() {
    let (x, y) = prices(2950, 1);
    let signs = y.mapv(|y| if y > 1.0 { 1.0 } else { -1.0 });
    let learned = |loss: Loss, rows: usize, without: Option<Mechanism>| {
        let params = AdaptiveParams { without, ..AdaptiveParams::default() };
        let mut model = AdaptiveSpec { params, ..spec(20, loss) }.build().unwrap();
        let y = if loss.is_margin() { &signs } else { &y };
        model.learn(x.slice(s![..rows, ..]), y.slice(s![..rows, ..])).unwrap();
        let (read, _) =
            AdaptiveExperts::from_bytes(&model.to_bytes(serde_json::Value::Null).unwrap()).unwrap();
        assert_eq!(read.spec(), model.spec());
        model
    };
    let has = |without: Option<Mechanism>| {
        let (model, labels) =
            (learned(Loss::Squared, 2950, without), learned(Loss::SquaredHinge, 400, without));
        let state = model.known().unwrap();
        let reports = model.members();
        let made = state.trees.made_of(&x.row(0).to_vec(), &[1.0]);
        let differs = |made: &[f64]| made.iter().any(|made| (made - 1.0).abs() > 1e-12);
        let is_learned = |report: &MemberReport| match &report.metric {
            Metric::Diagonal(factors) => factors.iter().any(|factor| (factor - factors[0]).abs() > 1e-12),
            Metric::Full(_) => true,
        };
        let forgets = |report: &MemberReport| report.forgetting < 1.0 && report.forgetting > 0.6;
        [
            differs(&made[1..4]),
            differs(&made[4..7]),
            state.trees.logs.are_there(),
            state.trees.nearest.is_some(),
            reports.iter().any(is_learned),
            reports.iter().any(|report| report.cells > 1),
            reports.iter().any(forgets),
            labels.members().iter().any(|report| report.exact),
        ]
    };
    let all = [
        Mechanism::Forest,
        Mechanism::Boosting,
        Mechanism::Logarithms,
        Mechanism::Nearest,
        Mechanism::Metrics,
        Mechanism::Cells,
        Mechanism::Forgetting,
        Mechanism::Exact,
    ];
    assert_eq!(has(None), [true; 8]);
    for (place, mechanism) in all.into_iter().enumerate() {
        let found = has(Some(mechanism));
        assert!((0..8).all(|other| found[other] == (other != place)), "{mechanism:?}: {found:?}");
    }
}

#[test]
fn few_rows_of_a_line_are_not_answered_by_a_mean_of_all_experts() {
    let error = |rows: usize, d: usize| {
        let errors = (0..5).map(|seed| {
            let x = Array2::from_shape_fn((600, d), |(i, k)| normal(seed, (i * d + k) as u64));
            let y = Array2::from_shape_fn((600, 1), |(i, _)| x[(i, 0)] + 0.1 * normal(90 + seed, i as u64));
            let mut model = AdaptiveSpec::default().build().unwrap();
            model.learn(x.slice(s![..rows, ..]), y.slice(s![..rows, ..])).unwrap();
            let made = model.predict(x.slice(s![200.., ..])).unwrap();
            let off = made.iter().zip(x.slice(s![200.., 0])).map(|(made, x)| (made - x).powi(2));
            (off.sum::<f64>() / 400.0).sqrt()
        });
        errors.sum::<f64>() / 5.0
    };
    // With equal weights 0.26 and 0.15.
    let found = [error(36, 3), error(108, 3)];
    assert!(found[0] < 0.2 && found[1] < 0.11, "{found:?}");
}
