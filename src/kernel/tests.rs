//! Kernels against their textbook formulas, one row, a block and single points alike.

use ndarray::Array2;
use proptest::prelude::*;

use super::points::WIDE;
use super::*;
use crate::linalg::{Panel, Scratch};

fn kernels() -> Vec<Kernel> {
    vec![
        Kernel::gaussian(1.3).unwrap(),
        Kernel::laplacian(0.9).unwrap(),
        Kernel::matern32(1.1).unwrap(),
        Kernel::matern52(0.7).unwrap(),
        Kernel::polynomial(3, 0.5, 1.0).unwrap(),
        Kernel::linear(),
        Kernel::manhattan_laplacian(1.7).unwrap(),
        Kernel::manhattan(1.7, 0.75).unwrap(),
        Kernel::manhattan(1.7, 0.5).unwrap(),
        Kernel::manhattan(1.7, 0.9).unwrap(),
        Kernel::gaussian(0.4)
            .unwrap()
            .times(0.4)
            .unwrap()
            .plus(Kernel::linear().times(0.6).unwrap())
            .plus(Kernel::matern32(2.0).unwrap()),
    ]
}

/// A product by itself and one in a sum, for points whose last `last` columns are seen by the second.
fn products(d: usize, last: usize) -> Vec<Kernel> {
    let product = || {
        let first = Kernel::matern32(1.1).unwrap().plus(Kernel::linear());
        Kernel::product(first, d - last, Kernel::gaussian(1.3).unwrap(), last)
    };
    let sum = product().times(0.3).unwrap().plus(Kernel::gaussian(0.4).unwrap());
    let same =
        Kernel::matern32(1.1).unwrap().multiplied(Kernel::linear().plus(Kernel::gaussian(0.7).unwrap()));
    let nested = Kernel::manhattan_laplacian(2.0).unwrap().multiplied(product());
    vec![product(), product().times(0.5).unwrap(), sum, same, nested]
}

/// The textbook formula of each kernel above, written out.
fn textbook(which: usize, x: &[f64], y: &[f64]) -> f64 {
    let r2: f64 = x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum();
    let dot: f64 = x.iter().zip(y).map(|(a, b)| a * b).sum();
    let matern32 = |s: f64| {
        let r = 3_f64.sqrt() * r2.sqrt() / s;
        (1.0 + r) * (-r).exp()
    };
    match which {
        0 => (-r2 / (2.0 * 1.3 * 1.3)).exp(),
        1 => (-r2.sqrt() / 0.9).exp(),
        2 => matern32(1.1),
        3 => {
            let r = 5_f64.sqrt() * r2.sqrt() / 0.7;
            (1.0 + r + r * r / 3.0) * (-r).exp()
        }
        4 => (0.5 * dot + 1.0).powi(3),
        5 => dot,
        6..=9 => {
            let distance = x.iter().zip(y).map(|(a, b)| (a - b).abs()).sum::<f64>();
            (-(distance / 1.7).powf([1.0, 0.75, 0.5, 0.9][which - 6])).exp()
        }
        _ => 0.4 * (-r2 / (2.0 * 0.16)).exp() + 0.6 * dot + matern32(2.0),
    }
}

proptest! {
    #[test]
    fn row_block_pair_and_textbook_agree(
        m in 1_usize..20, b in 1_usize..12, d in 1_usize..7,
        offset in prop_oneof![Just(0.0), Just(1e4)],
        seed in prop::collection::vec(-1.0_f64..1.0, 300),
    ) {
        let at = |i: usize, k: usize| offset + seed[(i * 7 + k * 13) % 300];
        let points: Vec<Vec<f64>> = (0..m).map(|i| (0..d).map(|k| at(i, k)).collect()).collect();
        let x = Array2::from_shape_fn((b, d), |(i, k)| at(i + 31, k));
        let mut set = PointSet::new(d);
        for p in &points {
            set.push(p);
        }
        for (which, kernel) in kernels().iter().enumerate() {
            let out = kernel.similarities_of_rows(&set, x.view());
            for i in 0..b {
                let xi = x.row(i).to_vec();
                let mut row = vec![0.0; crate::linalg::padded(m)];
                kernel.row(&set, &xi, &mut row, &mut Scratch::default());
                for j in 0..m {
                    let truth = textbook(which, &xi, &points[j]);
                    let scale = truth.abs().max(1.0);
                    prop_assert!((row[j] - truth).abs() < 1e-12 * scale, "row {which}");
                    prop_assert!((out.get(i, j) - truth).abs() < 1e-11 * scale, "block {which}");
                    prop_assert!((kernel.eval(&xi, &points[j]) - truth).abs() < 1e-12 * scale);
                }
                prop_assert!(row[m..].iter().all(|&v| v == 0.0));
                let itself = kernel.eval(&xi, &xi);
                prop_assert!((kernel.diag(&xi) - itself).abs() <= 1e-12 * itself.abs().max(1.0));
            }
        }
    }

    #[test]
    fn products_are_products_of_what_each_sees(
        m in 1_usize..20, b in 1_usize..12, d in 2_usize..7,
        seed in prop::collection::vec(-1.0_f64..1.0, 300),
    ) {
        let at = |i: usize, k: usize| seed[(i * 7 + k * 13) % 300];
        let points: Vec<Vec<f64>> = (0..m).map(|i| (0..d).map(|k| at(i, k)).collect()).collect();
        let x = Array2::from_shape_fn((b, d), |(i, k)| at(i + 31, k));
        let mut set = PointSet::new(d);
        for p in &points {
            set.push(p);
        }
        let last = 1 + d % (d - 1);
        for (which, kernel) in products(d, last).iter().enumerate() {
            let respelled = kernel.spec().resolve(d).unwrap();
            let out = kernel.similarities_of_rows(&set, x.view());
            let mut scratch = Scratch::default();
            for i in 0..b {
                let xi = x.row(i).to_vec();
                let mut row = vec![0.0; crate::linalg::padded(m)];
                kernel.row(&set, &xi, &mut row, &mut scratch);
                for j in 0..m {
                    let (split, y) = (d - last, &points[j]);
                    let first = textbook(2, &xi[..split], &y[..split]) + textbook(5, &xi[..split], &y[..split]);
                    let product = first * textbook(0, &xi[split..], &y[split..]);
                    let r2: f64 = xi.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum();
                    let manhattan: f64 = xi.iter().zip(y).map(|(a, b)| (a - b).abs()).sum();
                    let truth = match which {
                        0 => product,
                        1 => 0.5 * product,
                        2 => 0.3 * product + (-r2 / 0.32).exp(),
                        3 => textbook(2, &xi, y) * (textbook(5, &xi, y) + (-r2 / 0.98).exp()),
                        _ => (-manhattan / 2.0).exp() * product,
                    };
                    prop_assert!((row[j] - truth).abs() < 1e-12 * truth.abs().max(1.0), "row {which}");
                    prop_assert!((out.get(i, j) - truth).abs() < 1e-11, "block {which}");
                    prop_assert!((kernel.eval(&xi, y) - truth).abs() < 1e-12);
                    prop_assert!((respelled.eval(&xi, y) - truth).abs() < 1e-12);
                }
                prop_assert!(row[m..].iter().all(|&v| v == 0.0));
                prop_assert!((kernel.diag(&xi) - kernel.eval(&xi, &xi)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_block_equals_its_rows(
        m in 1_usize..70, b in 1_usize..6, d in prop_oneof![1_usize..12, Just(WIDE), WIDE + 1..130],
        offset in prop_oneof![Just(0.0), Just(30.0)],
        nearness in prop_oneof![Just(1.0), Just(1e-3), Just(0.0)],
        seed in prop::collection::vec(-1.0_f64..1.0, 700),
    ) {
        let at = |i: usize, k: usize| offset + seed[(i * 131 + k * 17) % 700];
        let mut set = PointSet::new(d);
        for i in 0..m {
            set.push(&(0..d).map(|k| at(i, k)).collect::<Vec<_>>());
        }
        // Some rows are near a point, or one: there a matrix product would cancel.
        let x = Array2::from_shape_fn((b, d), |(i, k)| at(i, k) + nearness * seed[i * d + k]);
        let wholes = if d > 1 { products(d, 1) } else { vec![] };
        for (which, kernel) in kernels().iter().chain(&wholes).enumerate() {
            let block = kernel.similarities_of_rows(&set, x.view());
            let mut row = vec![f64::NAN; m];
            for i in 0..b {
                let xi = x.row(i).to_vec();
                kernel.similarities(&set, &xi, &mut row);
                let largest = kernel.diag(&xi).abs().max(1.0);
                for (j, &one) in row.iter().enumerate() {
                    let other = block.get(i, j);
                    let point: Vec<f64> = (0..d).map(|k| at(j, k)).collect();
                    let pair = kernel.eval(&xi, &point);
                    prop_assert!((one - pair).abs() <= 1e-12 * largest, "{which} {one} {pair}");
                    if d <= WIDE {
                        prop_assert_eq!(one.to_bits(), other.to_bits(), "narrow, {}", which);
                    } else {
                        prop_assert!((one - other).abs() <= 1e-12 * largest, "{which} {one} {other}");
                    }
                }
            }
        }
    }

    #[test]
    fn mapped_kernels_compare_mapped_points(
        m in 1_usize..20, b in 1_usize..6, d in prop_oneof![2_usize..6, Just(WIDE + 3)], r in 1_usize..5,
        seed in prop::collection::vec(-1.0_f64..1.0, 400),
    ) {
        let at = |i: usize, k: usize| seed[(i * 17 + k * 29) % 400];
        let x = Array2::from_shape_fn((b, d), |(i, k)| at(i + 50, k));
        let points = Array2::from_shape_fn((m, d), |(i, k)| at(i, k));
        let full = Array2::from_shape_fn((r, d), |(i, k)| 2.0 * at(i + 90, k));
        let factors = Array2::from_diag(&full.row(0));
        let metrics = [
            (Metric::Full(full.rows().into_iter().map(|row| row.to_vec()).collect()), &full),
            (Metric::Diagonal(full.row(0).to_vec()), &factors),
        ];
        for (metric, map) in metrics {
            for (which, inner) in kernels().into_iter().enumerate() {
                let plain = inner.clone();
                let kernel = inner.mapped(metric.clone()).unwrap();
                let respelled = kernel.spec().resolve(d).unwrap();
                // A set with this kernel, one without, and the second map of a sum and a product.
                let mut own = PointSet::seen_by(&kernel, d);
                points.rows().into_iter().for_each(|point| own.push(&point.to_vec()));
                own.truncate(m - 1);
                own.push(&points.row(0).to_vec());
                own.replace(m - 1, &points.row(m - 1).to_vec());
                let mapped_points = PointSet::gather(points.dot(&map.t()).view());
                let truth = plain.similarities_of_rows(&mapped_points, x.dot(&map.t()).view());
                for set in [&own, &PointSet::gather(points.view())] {
                    let block = respelled.similarities_of_rows(set, x.view());
                    let same = kernel.similarities_of_rows(set, x.view());
                    for i in 0..b {
                        let xi = x.row(i).to_vec();
                        let mut row = vec![f64::NAN; m];
                        kernel.similarities(set, &xi, &mut row);
                        for (j, row) in row.iter().enumerate() {
                            let scale = truth.get(i, j).abs().max(1.0);
                            for found in [*row, block.get(i, j), same.get(i, j), kernel.eval(&xi, set.point(j))] {
                                prop_assert!((found - truth.get(i, j)).abs() < 1e-10 * scale, "{which}");
                            }
                        }
                        prop_assert!((kernel.diag(&xi) - kernel.eval(&xi, &xi)).abs() < 1e-10 * kernel.diag(&xi).max(1.0));
                    }
                }
            }
        }
    }

    #[test]
    fn gradients_are_those_of_finite_differences(
        m in 1_usize..12, d in 2_usize..6,
        seed in prop::collection::vec(-1.0_f64..1.0, 200),
    ) {
        let at = |i: usize, k: usize| seed[(i * 17 + k * 29) % 200];
        let points = Array2::from_shape_fn((m, d), |(i, k)| at(i, k));
        let (x, a): (Vec<f64>, Vec<f64>) = ((0..d).map(|k| at(77, k) + 1e-3).collect(), (0..m).map(|i| at(i, 90)).collect());
        let metric = Metric::Full((0..3).map(|i| (0..d).map(|k| at(i + 40, k)).collect()).collect());
        let mapped = Kernel::matern52(0.7).unwrap().mapped(metric).unwrap();
        let sum = mapped.clone().plus(Kernel::linear()).times(0.5).unwrap();
        for (which, kernel) in kernels().into_iter().chain(products(d, 1)).chain([mapped, sum]).enumerate() {
            let set = PointSet::gather(points.view());
            let value = |x: &[f64]| (0..m).map(|j| a[j] * kernel.eval(x, set.point(j))).sum::<f64>();
            let mut gradient = vec![0.0; d];
            kernel.add_gradient(&set, &x, &a, &mut gradient);
            for k in 0..d {
                let moved = |step: f64| {
                    let mut x = x.clone();
                    x[k] += step;
                    value(&x)
                };
                let step = 1e-6;
                let near = (0..m).any(|j| (x[k] - points[(j, k)]).abs() < 1e-3);
                let slope = (moved(step) - moved(-step)) / (2.0 * step);
                prop_assert!(near || (gradient[k] - slope).abs() < 1e-6, "{which}: {} {slope}", gradient[k]);
            }
        }
    }

    #[test]
    fn gram_matrices_are_positive_semidefinite(
        seed in prop::collection::vec(-2.0_f64..2.0, 36),
    ) {
        for kernel in kernels().into_iter().chain(products(3, 1)) {
            let gram = faer::Mat::from_fn(12, 12, |i, j| {
                kernel.eval(&seed[3 * i..3 * i + 3], &seed[3 * j..3 * j + 3])
            });
            let values = gram.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
            let largest = values[values.len() - 1].max(1.0);
            prop_assert!(values[0] > -1e-12 * largest, "{kernel:?}: {}", values[0]);
        }
    }
}

#[test]
fn kernels_of_one_comparison_are_functions_of_it() {
    let x = Array2::from_shape_fn((19, 3), |(i, k)| ((i * 7 + k * 5) % 11) as f64 / 3.0);
    let points = PointSet::gather(x.view());
    let (mut compared, mut made) = (Panel::default(), Panel::default());
    let families = [Kernel::gaussian, Kernel::laplacian, Kernel::manhattan_laplacian];
    for family in families {
        assert!(family(1.0).unwrap().compare_block(&points, &points, &mut compared));
        for (bandwidth, weight) in [(0.4, 1.0), (1.0, 1.0), (2.5, 3.0)] {
            let kernel = family(bandwidth).unwrap().times(weight).unwrap();
            let expected = kernel.similarities_of_rows(&points, x.view());
            for lower in [false, true] {
                made.reset(0, 0);
                kernel.of_comparisons(&compared, lower, &mut made);
                for (i, j) in
                    (0..19).flat_map(|i| (0..19).map(move |j| (i, j))).filter(|(i, j)| !lower || i >= j)
                {
                    assert_eq!(made.get(i, j).to_bits(), expected.get(i, j).to_bits());
                }
            }
        }
    }
    let sum = Kernel::gaussian(1.0).unwrap().plus(Kernel::linear());
    assert!(!sum.compare_block(&points, &points, &mut compared));
}

#[test]
fn bad_parameters_are_refused_by_name() {
    for (kernel, name) in [
        (Kernel::gaussian(0.0), "bandwidth"),
        (Kernel::matern52(f64::NAN), "bandwidth"),
        (Kernel::laplacian(-1.0), "bandwidth"),
        (Kernel::polynomial(0, 1.0, 0.0), "degree"),
        (Kernel::polynomial(2, 1.0, -1.0), "offset"),
        (Kernel::linear().times(-1.0), "weights"),
        (Kernel::weighted_sum(vec![]), "weights"),
        (Kernel::manhattan_laplacian(0.0), "bandwidth"),
        (Kernel::manhattan(1.0, 1.1), "exponent"),
        (Kernel::linear().mapped(Metric::Diagonal(vec![])), "metric"),
        (Kernel::linear().mapped(Metric::Diagonal(vec![f64::NAN])), "metric"),
        (Kernel::linear().mapped(Metric::Full(vec![vec![1.0], vec![]])), "metric"),
    ] {
        let message = kernel.unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn bounds_and_spectral_densities_are_those_of_the_terms() {
    let gaussian = |weight: f64| Kernel::gaussian(0.7).unwrap().times(weight).unwrap();
    let product = |second| Kernel::product(gaussian(1.0), 1, second, 1);
    let unbounded = f64::INFINITY;
    for (kernel, bound) in [
        (gaussian(3.0).plus(Kernel::laplacian(2.0).unwrap()), 4.0),
        (Kernel::linear(), unbounded),
        (gaussian(1.0).plus(Kernel::linear()), unbounded),
        (Kernel::weighted_sum(vec![(2.0, gaussian(1.0)), (0.0, Kernel::linear())]).unwrap(), 2.0),
        (product(gaussian(5.0)), 5.0),
        (product(Kernel::polynomial(2, 1.0, 1.0).unwrap()), unbounded),
    ] {
        assert_eq!(kernel.bound().to_bits(), bound.to_bits(), "{:?}", kernel.spec());
        assert_eq!(kernel.spec().is_steep(), bound > 10.0);
        assert_eq!(kernel.spectral_density(), None);
    }
    for (kernel, freedom) in [
        (Kernel::gaussian(0.5), None),
        (Kernel::laplacian(0.5), Some(1)),
        (Kernel::matern32(0.5), Some(3)),
        (Kernel::matern52(0.5), Some(5)),
    ] {
        assert_eq!(kernel.unwrap().spectral_density(), Some(SpectralDensity { scale: 2.0, freedom }));
    }
}

#[test]
fn products_of_other_widths_are_refused() {
    let part = || Box::new(KernelSpec::default());
    let product = KernelSpec::Product { first: part(), second: part(), second_width: Some(3) };
    assert!(product.resolve(0).is_ok() && product.resolve(4).is_ok());
    let error = product.resolve(2).unwrap_err();
    assert!(matches!(error, crate::Error::WrongWidth { expected: 2, found: 3, .. }), "{error}");
    let mapped = KernelSpec::Mapped { metric: Metric::Diagonal(vec![1.0; 3]), kernel: part() };
    let error = mapped.resolve(2).unwrap_err();
    assert!(matches!(error, crate::Error::WrongWidth { expected: 2, found: 3, .. }), "{error}");
}
