//! The decompositions against dense ones of the whole matrix.

use faer::Mat;
use ndarray::{Array2, ArrayView2, array};
use proptest::prelude::*;

use super::general::SvdParts;
use super::{TruncatedEigen, TruncatedSvd};
use crate::error::Error;
use crate::linalg::from_array;

/// Repeatable, nearly normal numbers: sums of uniform ones.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        (0..6).map(|_| self.uniform()).sum::<f64>() * 0.5_f64.sqrt()
    }

    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn matrix(&mut self, m: usize, n: usize) -> Array2<f64> {
        Array2::from_shape_simple_fn((m, n), || self.next())
    }
}

fn numbers(seed: u64) -> Numbers {
    Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
}

fn singular_values(a: &Array2<f64>) -> Vec<f64> {
    from_array(a.view()).singular_values().unwrap()
}

fn norm(a: &Array2<f64>) -> f64 {
    a.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Error of the best approximation of rank k.
fn best(a: &Array2<f64>, k: usize) -> f64 {
    singular_values(a)[k..].iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn columns(of: faer::MatRef<'_, f64>) -> Array2<f64> {
    Array2::from_shape_fn((of.nrows(), of.ncols()), |(i, j)| of[(i, j)])
}

#[test]
fn starts_with_the_best_approximation() {
    for (m, n, rank) in [(1, 1, 1), (5, 1, 3), (1, 6, 2), (9, 6, 4), (6, 9, 6), (30, 20, 50), (40, 4, 2)] {
        let a = numbers(m as u64 * 100 + n as u64).matrix(m, n);
        let svd = TruncatedSvd::from_matrix(a.view(), rank).unwrap();
        let k = rank.min(m).min(n);
        let exact = singular_values(&a);
        assert_eq!(svd.s().len(), k);
        for (value, exact) in svd.s().iter().zip(&exact) {
            assert!((value - exact).abs() < 1e-12 * exact.max(1.0));
        }
        assert!((norm(&(svd.reconstruct() - &a)) - best(&a, k)).abs() < 1e-12 * norm(&a));
        let lean = TruncatedSvd::with_extra(a.view(), rank, 0).unwrap();
        assert!((lean.error_bound() - best(&a, k)).abs() < 1e-12 * norm(&a));
        assert!(svd.orthogonality() < 1e-13);
    }
}

proptest! {
    #[test]
    fn updates_that_fit_in_the_rank_are_exact(
        m in 1_usize..25, n in 1_usize..25, rounds in 1_usize..12, seed in 0_u64..10_000,
        keep in prop_oneof![Just(1.0), 0.5_f64..1.0],
    ) {
        let mut from = numbers(seed);
        let mut a = from.matrix(m, n);
        let mut svd = TruncatedSvd::from_matrix(a.view(), 60).unwrap();
        for t in 0..rounds {
            let r = t % 4;
            match (seed + t as u64) % 3 {
                0 => {
                    let (u, v) = (from.matrix(a.nrows(), r), from.matrix(a.ncols(), r));
                    svd.update(u.view(), v.view(), keep).unwrap();
                    a = keep * a + u.dot(&v.t());
                }
                1 => {
                    let rows = from.matrix(r, a.ncols());
                    svd.append_rows(rows.view(), keep).unwrap();
                    a = ndarray::concatenate![ndarray::Axis(0), keep * a, rows];
                }
                _ => {
                    let more = from.matrix(a.nrows(), r);
                    svd.append_columns(more.view(), keep).unwrap();
                    a = ndarray::concatenate![ndarray::Axis(1), keep * a, more];
                }
            }
            prop_assert_eq!(svd.shape(), a.dim());
            prop_assert!(norm(&(svd.reconstruct() - &a)) < 1e-11 * norm(&a).max(1.0));
            prop_assert!(svd.orthogonality() < 1e-12);
            prop_assert!(svd.s().is_sorted_by(|a, b| a >= b));
        }
        // Nothing was dropped.
        prop_assert!(svd.error_bound() < 1e-11 * norm(&a).max(1.0));
    }

    #[test]
    fn one_truncation_is_the_best_there_is(m in 4_usize..25, n in 4_usize..25, r in 1_usize..6, seed in 0_u64..10_000) {
        let mut from = numbers(seed);
        let rank = 3;
        let mut svd = TruncatedSvd::with_extra(from.matrix(m, n).view(), rank, 0).unwrap();
        let before = svd.reconstruct();
        let (u, v) = (from.matrix(m, r), from.matrix(n, r));
        svd.update(u.view(), v.view(), 1.0).unwrap();
        let full = before + u.dot(&v.t());
        let error = norm(&(svd.reconstruct() - &full));
        prop_assert!((error - best(&full, rank)).abs() < 1e-11 * norm(&full));
    }

    #[test]
    fn symmetric_updates_are_the_best_positive_approximation(
        n in 2_usize..25, r in 1_usize..5, seed in 0_u64..10_000,
    ) {
        let mut from = numbers(seed);
        let b = from.matrix(n, n);
        let rank = 1 + n / 2;
        let mut eigen = TruncatedEigen::with_extra(b.dot(&b.t()).view(), rank, 0).unwrap();
        let before = eigen.reconstruct();
        let (d, half) = (from.matrix(n, r), from.matrix(r, r));
        let middle = &half + &half.t();
        eigen.update(d.view(), middle.view()).unwrap();
        let full = before + d.dot(&middle).dot(&d.t());
        let exact = from_array(full.view()).self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
        for (value, exact) in eigen.values().iter().zip(exact.iter().rev()) {
            prop_assert!((value - exact.max(0.0)).abs() < 1e-11 * norm(&full));
        }
        // Vectors belong to the values: V'AV is diagonal where the value was kept.
        let v = columns(eigen.vectors());
        let inner = v.t().dot(&full).dot(&v);
        for i in 0..rank {
            for j in 0..rank {
                let expected = if i == j { exact[n - 1 - i] } else { 0.0 };
                prop_assert!((inner[(i, j)] - expected).abs() < 1e-11 * norm(&full));
            }
        }
        prop_assert!(eigen.orthogonality() < 1e-13);
    }
}

/// Wen et al., Figure 4, in short: a Gaussian matrix (100, 100), rank 30, updates of rank 3.
#[test]
fn stays_near_the_best_approximation_through_many_updates() {
    let (n, rank) = (40, 12);
    let mut from = numbers(4);
    let mut a = from.matrix(n, n);
    let mut svd = TruncatedSvd::from_matrix(a.view(), rank).unwrap();
    for _ in 0..3000 {
        let (u, v) = (from.matrix(n, 3), from.matrix(n, 3));
        svd.update(u.view(), v.view(), 1.0).unwrap();
        a += &u.dot(&v.t());
    }
    let ratio = norm(&(svd.reconstruct() - &a)) / best(&a, rank);
    assert!(ratio < 1.2, "{ratio} times the best error");
    assert!(svd.orthogonality() < 1e-12, "{}", svd.orthogonality());
    assert!(norm(&(svd.reconstruct() - &a)) <= svd.error_bound());
}

/// The Gram matrix of a smooth kernel has eigenvalues down to rounding: new directions lie in the span.
#[test]
fn a_nearly_singular_sketch_keeps_its_vectors_orthonormal() {
    let (width, first, all) = (30, 60, 2000);
    let kernel = |i: usize, j: usize| {
        let at = |i: usize| (i as f64 * 0.618_033_98).fract() * 3.0;
        (-(at(i) - at(j)).powi(2) / 2.0).exp()
    };
    let gram = Array2::from_shape_fn((first, first), |(i, j)| kernel(i, j));
    let sketch = crate::linalg::SparseSketch::new(width, 1, 9).unwrap();
    let kept = crate::linalg::GramSketch::new(sketch, gram.view(), &[]).unwrap();
    let full = kept.square(gram.view());
    for rank in [5, 20] {
        let mut kept = kept.clone();
        let mut full = full.clone();
        let mut eigen = TruncatedEigen::from_matrix(full.view(), rank).unwrap();
        let mut svd = TruncatedSvd::with_extra(full.view(), rank, 0).unwrap();
        for t in first..all {
            let similarities: Vec<f64> = (0..t).map(|i| kernel(i, t)).collect();
            let (s, u) = kept.push(&similarities).unwrap();
            eigen.border(s, u, 1.0).unwrap();
            let left = Array2::from_shape_fn((width, 3), |(i, j)| if j == 1 { u[i] } else { s[i] });
            let right = Array2::from_shape_fn((width, 3), |(i, j)| if j == 0 { u[i] } else { s[i] });
            svd.update(left.view(), right.view(), 1.0).unwrap();
            full = full + left.dot(&right.t());
            assert!(eigen.orthogonality() < 1e-12 && svd.orthogonality() < 1e-12, "round {t}");
        }
        for (name, error) in [
            ("symmetric", norm(&(eigen.reconstruct() - &full))),
            ("general", norm(&(svd.reconstruct() - &full))),
        ] {
            // Where nothing is left to be missed, rounding is.
            let allowed = 1.2 * best(&full, rank) + 1e-10 * norm(&full);
            assert!(error < allowed, "{name}, rank {rank}: {error} > {allowed}");
        }
    }
}

#[test]
fn directions_of_the_span_and_zeros_add_nothing() {
    let mut from = numbers(3);
    let a = from.matrix(8, 2).dot(&from.matrix(2, 7));
    let mut svd = TruncatedSvd::from_matrix(a.view(), 4).unwrap();
    let u = columns(svd.u());
    let v = columns(svd.v());
    let zero = Array2::zeros((8, 1));
    let left = ndarray::concatenate![ndarray::Axis(1), u, zero, u];
    let right = ndarray::concatenate![ndarray::Axis(1), v, Array2::ones((7, 1)), v];
    svd.update(left.view(), right.view(), 1.0).unwrap();
    let full = a + left.dot(&right.t());
    assert!(norm(&(svd.reconstruct() - &full)) < 1e-12 * norm(&full));
    assert!(svd.orthogonality() < 1e-13);
    // The whole space is the span.
    let mut square = TruncatedSvd::from_matrix(from.matrix(3, 3).view(), 3).unwrap();
    for _ in 0..500 {
        square.update(from.matrix(3, 2).view(), from.matrix(3, 2).view(), 1.0).unwrap();
        assert!(square.orthogonality() < 1e-12);
    }
    let mut nothing = TruncatedSvd::from_matrix(Array2::zeros((5, 4)).view(), 2).unwrap();
    nothing.update(Array2::zeros((5, 1)).view(), Array2::zeros((4, 1)).view(), 1.0).unwrap();
    nothing.update(Array2::ones((5, 1)).view(), Array2::ones((4, 1)).view(), 1.0).unwrap();
    assert!((nothing.s()[0] - 20.0_f64.sqrt()).abs() < 1e-14);
    assert!(nothing.orthogonality() < 1e-13);
}

#[test]
fn rows_that_come_one_at_a_time_give_what_the_whole_matrix_gives() {
    let mut from = numbers(8);
    let a = from.matrix(200, 3).dot(&from.matrix(3, 12));
    let mut svd = TruncatedSvd::from_matrix(a.slice(ndarray::s![..1, ..]), 5).unwrap();
    for row in 1..200 {
        svd.append_rows(a.slice(ndarray::s![row..=row, ..]), 1.0).unwrap();
    }
    assert_eq!(svd.shape(), (200, 12));
    assert!(norm(&(svd.reconstruct() - &a)) < 1e-11 * norm(&a));
    assert!(svd.orthogonality() < 1e-12);
    let exact = singular_values(&a);
    for (value, exact) in svd.s().iter().zip(exact) {
        assert!((value - exact).abs() < 1e-10 * norm(&a));
    }
}

#[test]
fn reassembled_it_continues_to_the_bit() {
    let mut from = numbers(2);
    let mut svd = TruncatedSvd::with_extra(from.matrix(9, 8).view(), 3, 2).unwrap();
    let b = from.matrix(6, 6);
    let mut eigen = TruncatedEigen::with_extra(b.dot(&b.t()).view(), 3, 2).unwrap();
    let updates: Vec<_> =
        (0..150).map(|_| (from.matrix(9, 2), from.matrix(8, 2), from.matrix(6, 2))).collect();
    let middle = array![[0.1, 1.0], [1.0, 0.0]];
    for (u, v, d) in &updates[..70] {
        svd.update(u.view(), v.view(), 0.9).unwrap();
        eigen.update(d.view(), middle.view()).unwrap();
    }
    let (u, s, v) = svd.kept();
    let (u, v) = (columns(u), columns(v));
    let mut again = TruncatedSvd::from_parts(SvdParts {
        rank: svd.rank(),
        extra: svd.extra(),
        u: u.view(),
        s,
        v: v.view(),
        dropped: svd.dropped(),
        rounds: svd.rounds(),
    })
    .unwrap();
    let (vectors, values) = eigen.kept();
    let vectors = columns(vectors);
    let mut eigen_again =
        TruncatedEigen::from_parts(eigen.rank(), vectors.view(), values, eigen.rounds()).unwrap();
    for (u, v, d) in &updates[70..] {
        svd.update(u.view(), v.view(), 0.9).unwrap();
        again.update(u.view(), v.view(), 0.9).unwrap();
        eigen.update(d.view(), middle.view()).unwrap();
        eigen_again.update(d.view(), middle.view()).unwrap();
    }
    assert_eq!(svd.s(), again.s());
    assert_eq!(columns(svd.u()), columns(again.u()));
    assert_eq!(columns(svd.v()), columns(again.v()));
    assert_eq!(svd.error_bound().to_bits(), again.error_bound().to_bits());
    assert_eq!(eigen.values(), eigen_again.values());
    assert_eq!(columns(eigen.vectors()), columns(eigen_again.vectors()));
}

#[test]
fn bad_input_is_refused_with_nothing_changed() {
    let mut from = numbers(5);
    let mut svd = TruncatedSvd::from_matrix(from.matrix(5, 4).view(), 2).unwrap();
    let before = svd.reconstruct();
    let (u, v) = (from.matrix(5, 2), from.matrix(4, 2));
    let mut bad = v.clone();
    bad[(3, 1)] = f64::NAN;
    let refused = |result: crate::Result<()>, words: &str| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    };
    refused(svd.update(u.view(), bad.view(), 1.0), "V contains NaN at row 3, column 1");
    bad[(3, 1)] = 1e61;
    refused(svd.update(u.view(), bad.view(), 1.0), "V at row 3 is too large");
    refused(svd.update(v.view(), v.view(), 1.0), "U has shape (4, 2), but must have (5, 2)");
    refused(svd.update(u.view(), u.view(), 1.0), "V has shape (5, 2), but must have (4, 2)");
    let one: ArrayView2<'_, f64> = v.slice(ndarray::s![.., ..1]);
    refused(svd.update(u.view(), one, 1.0), "V has shape (4, 1), but must have (4, 2)");
    refused(svd.update(u.view(), v.view(), 0.0), "forgetting must be a number above 0");
    refused(svd.append_rows(u.view(), 1.0), "rows has shape (5, 2), but must have (5, 4)");
    refused(svd.append_columns(v.view(), 1.0), "columns has shape (4, 2), but must have (5, 2)");
    assert_eq!(svd.reconstruct(), before);
    assert_eq!(svd.rounds(), 0);
    // Growth beyond all numbers is refused in time.
    let (u, v) = (u * 1e59, v * 1e59);
    let mut growing = TruncatedSvd::from_matrix(before.view(), 2).unwrap();
    while growing.s()[0] < 1e130 {
        let held = growing.reconstruct();
        if let Err(error) = growing.update(u.view(), v.view(), 1.0) {
            assert!(matches!(error, Error::TooLarge { what: "U", .. }));
            assert_eq!(growing.reconstruct(), held);
            break;
        }
        if growing.rounds() > 50 {
            break;
        }
    }
    assert!(growing.s().iter().all(|s| s.is_finite()));

    let skew = array![[1.0, 2.0], [0.0, 1.0]];
    assert!(TruncatedEigen::from_matrix(skew.view(), 1).unwrap_err().to_string().contains("symmetric"));
    assert!(TruncatedEigen::from_matrix(Array2::<f64>::eye(2).view(), 3).is_err());
    assert!(TruncatedEigen::from_matrix(Array2::<f64>::eye(2).view(), 0).is_err());
    assert!(TruncatedSvd::from_matrix(Array2::<f64>::zeros((0, 3)).view(), 1).is_err());
    assert!(TruncatedSvd::from_matrix(Array2::<f64>::eye(2).view(), 0).is_err());
    let mut eigen = TruncatedEigen::from_matrix(Array2::<f64>::eye(3).view(), 2).unwrap();
    refused(eigen.border(&[1.0, 0.0], &[0.0; 3], 1.0), "s and u has shape (2, 3)");
    refused(eigen.border(&[1.0, f64::INFINITY, 0.0], &[0.0; 3], 1.0), "D contains inf at row 1, column 0");
    assert_eq!(eigen.rounds(), 0);
}

#[test]
fn may_be_sent_to_and_shared_by_threads() {
    fn checked<T: Send + Sync + Clone>() {}
    checked::<TruncatedSvd>();
    checked::<TruncatedEigen>();
}

#[test]
fn the_quick_way_and_the_plain_one_agree() {
    let mut from = numbers(6);
    for n in [1, 2, 5, 20, 33] {
        for count in [1, n] {
            // Orthogonal times values of one size times orthogonal.
            let a = from_array(from.matrix(n, n).view());
            let svd = a.svd().unwrap();
            let values: Vec<f64> = (0..n).map(|i| 1.0 + 20.0 * (n - i) as f64 / n as f64).collect();
            let h = Mat::from_fn(n, n, |i, j| {
                (0..n).map(|l| svd.U()[(i, l)] * values[l] * svd.V()[(j, l)]).sum::<f64>()
            });
            let mut core = super::core::Core::new();
            core.matrix(n, n).copy_from(&h);
            let (left, found, right) = core.svd(n, n, count, true).unwrap();
            assert_eq!((left.ncols(), found.len(), right.ncols()), (count, n, count), "the quick way");
            for (a, b) in found.iter().zip(&values) {
                assert!((a - b).abs() < 1e-13 * values[0]);
            }
            for (vectors, side) in [(left, svd.U()), (right, svd.V())] {
                let defect = vectors.transpose() * vectors - Mat::<f64>::identity(count, count);
                assert!(defect.norm_max() < 1e-14);
                let along = (0..count).map(|j| vectors.col(j).transpose() * side.col(j));
                assert!(along.into_iter().all(|cos: f64| (cos.abs() - 1.0).abs() < 1e-12));
            }
            for (j, value) in values.iter().enumerate().take(count) {
                assert!((left.col(j).transpose() * &h * right.col(j) - value).abs() < 1e-12);
            }
        }
    }
    // Where the values are not alike after all, the plain way is taken.
    let mut core = super::core::Core::new();
    let diagonal = [1.0, 1e-6, 1e-12];
    core.matrix(3, 3).copy_from(Mat::from_fn(3, 3, |i, j| if i == j { diagonal[i] } else { 0.0 }));
    let (_, values, _) = core.svd(3, 3, 3, true).unwrap();
    assert!((values[2] - 1e-12).abs() < 1e-27);
}
