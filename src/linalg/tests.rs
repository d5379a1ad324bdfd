//! Each primitive against the plain definition, over a sweep of sizes and random cases.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, Par, Side};
use proptest::prelude::*;

use super::{
    GrowingCholesky, Panel, SymmetricInverse, Systems, from_array, loops, nugget, padded, spanned, to_array,
};

const SIZES: [usize; 12] = [1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 64, 130];

/// Repeatable numbers in [-1, 1).
fn numbers(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn in_lanes(x: &[f64]) -> Vec<f64> {
    let mut out = x.to_vec();
    out.resize(padded(x.len()), 0.0);
    out
}

fn matrix(seed: u64, rows: usize, cols: usize) -> Mat<f64> {
    let entries = numbers(seed, rows * cols);
    Mat::from_fn(rows, cols, |i, j| entries[i * cols + j])
}

/// `B B' + shift I`
fn positive_definite(seed: u64, n: usize, shift: f64) -> Mat<f64> {
    let b = matrix(seed, n, n);
    &b * b.transpose() + Mat::<f64>::identity(n, n) * faer::Scale(shift)
}

fn panel_of(a: &Mat<f64>) -> Panel {
    Panel::from_array(to_array(a.as_ref()).view())
}

/// `A <- A + V V'` by the products of `P V R^{-T}` with themselves, for `I + V'PV = R R'` (Woodbury).
fn add_block(inverse: &mut SymmetricInverse, v: &Mat<f64>) {
    let pv = inverse.matrix().as_faer() * v;
    let inner = Mat::<f64>::identity(v.ncols(), v.ncols()) + v.transpose() * &pv;
    let mut u = pv;
    let root = inner.llt(Side::Lower).unwrap();
    solve_lower_triangular_in_place(root.L(), u.as_mut().transpose_mut(), Par::Seq);
    inverse.subtract_products(u.as_ref());
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

#[test]
fn an_appended_coordinate_is_that_of_the_larger_matrix() {
    for n in SIZES {
        let a = positive_definite(n as u64, n, 0.3);
        let mut inverse = SymmetricInverse::default();
        for m in 0..n {
            let row: Vec<f64> = (0..m).map(|j| a[(m, j)]).collect();
            let mut gain = vec![0.0; padded(m + 1)];
            let pivot = inverse.append(&row, a[(m, m)], 0.0, &mut gain);
            assert!(pivot > 0.29 && (gain[m] + 1.0).abs() < f64::EPSILON);
        }
        let inverse = inverse.matrix();
        for i in 0..n {
            for j in 0..n {
                let product: f64 = (0..n).map(|k| inverse.get(i, k) * a[(k, j)]).sum();
                assert!(close(product, f64::from(u8::from(i == j)), 1e-9), "{n} {i} {j}");
                let (this, that) = (inverse.get(i, j), inverse.get(j, i));
                assert_eq!(this.to_bits(), that.to_bits());
            }
        }
    }
    // What the others explain beyond rounding leaves at least what it must.
    let mut inverse = SymmetricInverse::default();
    let pivots = [1.0, 1.0].map(|corner| {
        let row = vec![1.0; inverse.dim()];
        let mut gain = vec![0.0; padded(inverse.dim() + 1)];
        inverse.append(&row, corner, 1e-3, &mut gain)
    });
    assert!((pivots[1] - 1e-3).abs() < 1e-15);
}

/// Appends the rows of the Cholesky factor of `gram` one at a time.
fn grown(gram: &Mat<f64>) -> GrowingCholesky {
    let mut factor = GrowingCholesky::default();
    for n in 0..gram.nrows() {
        let mut z = in_lanes(&(0..n).map(|i| gram[(n, i)]).collect::<Vec<_>>());
        factor.solve(&mut z);
        let residual = gram[(n, n)] - z.iter().map(|v| v * v).sum::<f64>();
        factor.append(&z, residual, gram[(n, n)]);
    }
    factor
}

#[test]
fn loops_equal_their_definitions() {
    for (seed, &m) in SIZES.iter().enumerate() {
        for d in [1, 3, 4, 6, 18] {
            let a = matrix(seed as u64 + 1, m, d);
            let panel = panel_of(&a);
            let x = numbers(99 + seed as u64, d);
            let mut product = vec![f64::NAN; padded(m)];
            loops::multiply(panel.data(), panel.stride(), &x, &mut product);
            let mut narrow = vec![f64::NAN; padded(m)];
            loops::multiply_narrow(panel.data(), panel.stride(), &x, &mut narrow);
            let mut distance = vec![f64::NAN; padded(m)];
            loops::squared_distances(panel.data(), panel.stride(), &x, &mut distance);
            for i in 0..m {
                let dot: f64 = (0..d).map(|k| a[(i, k)] * x[k]).sum();
                let r2: f64 = (0..d).map(|k| (a[(i, k)] - x[k]).powi(2)).sum();
                assert!(close(product[i], dot, 1e-14), "product at {m} x {d}");
                assert!(close(narrow[i], dot, 1e-14), "narrow product at {m} x {d}");
                assert!(close(distance[i], r2, 1e-14), "distance at {m} x {d}");
                let row: Vec<f64> = (0..d).map(|k| a[(i, k)]).collect();
                assert!(close(loops::squared_distance(&x, &row), r2, 1e-14), "distance of {d} numbers");
            }
            assert!(product[m..].iter().all(|&v| v == 0.0), "padding stays zero");
        }
    }
}

#[test]
fn a_block_of_rows_is_multiplied_by_what_is_below_the_diagonal() {
    let (mut products, mut square) = (Panel::default(), Panel::default());
    for (seed, n) in SIZES.into_iter().enumerate() {
        let mut inverse = SymmetricInverse::of(positive_definite(seed as u64, n, 1.0).as_ref()).unwrap();
        // Leaves other numbers above the diagonal than below.
        add_block(&mut inverse, &matrix(3 + seed as u64, n, 4));
        for b in [1, 5, 48] {
            let z = matrix(11 + seed as u64, b, n);
            inverse.multiply_rows(z.as_ref(), &mut products, &mut square);
            let difference = products.as_faer() - &z * inverse.matrix().as_faer();
            assert!(difference.norm_max() < 1e-13 * (1.0 + products.as_faer().norm_max()), "{b} x {n}");
        }
    }
}

/// Larger after smaller and smaller after larger, so that leftovers in scratch would be found.
#[test]
fn systems_after_one_another_are_solved_each_by_itself() {
    let mut systems = Systems::default();
    for (seed, n) in SIZES.into_iter().chain(SIZES.into_iter().rev()).enumerate() {
        let (a, b) = (positive_definite(seed as u64, n, 0.5), matrix(7 + seed as u64, n, 1 + seed % 3));
        let mut lower = a.clone();
        (0..n).for_each(|j| (0..j).for_each(|i| lower[(i, j)] = f64::NAN));
        let solution = systems.solve(lower.as_ref(), 0.25, b.as_ref()).unwrap().to_owned();
        let product = &a * &solution + &solution * faer::Scale(0.25);
        assert!((product - &b).norm_max() < 1e-10 * (1.0 + solution.norm_max()), "{n} unknowns");
        let indefinite = Mat::<f64>::identity(n, n) * faer::Scale(-1.0);
        assert!(systems.solve(indefinite.as_ref(), 0.25, b.as_ref()).is_none());
    }
}

#[test]
fn arrays_are_copied_there_and_back() {
    for (rows, cols) in [(0, 0), (0, 3), (4, 0), (1, 1), (9, 5), (17, 33)] {
        let a = matrix(3, rows, cols);
        let array = to_array(a.as_ref());
        assert_eq!(array.dim(), (rows, cols));
        assert_eq!(from_array(array.view()), a);
        assert_eq!(from_array(array.t()), a.transpose().to_owned());
        let mut panel = Panel::from_array(array.view());
        assert_eq!(panel.to_array(), array);
        // In the memory of another, whose entries must not shine through the padding.
        panel.copy_from(array.t());
        assert_eq!(panel.to_array(), array.t());
        assert!((0..rows).all(|j| panel.col(j)[cols..].iter().all(|v| *v == 0.0)));
    }
}

#[test]
fn appending_equals_refactorising() {
    for (seed, &n) in SIZES.iter().enumerate() {
        let gram = positive_definite(seed as u64, n, 0.1);
        let factor = grown(&gram);
        let direct = gram.llt(Side::Lower).unwrap();
        for i in 0..n {
            for j in 0..=i {
                let (a, b) = (factor.factor().get(i, j), direct.L()[(i, j)]);
                assert!(close(a, b, 1e-9), "entry {i}, {j} of {n}: {a} and {b}");
            }
        }
        let rebuilt = factor.factor().as_faer() * factor.factor().as_faer().transpose();
        assert!((rebuilt - &gram).norm_max() < 1e-12 * n as f64, "L L' at {n}");
    }
}

#[test]
fn solves_invert_products() {
    for (seed, &n) in SIZES.iter().enumerate() {
        let factor = grown(&positive_definite(seed as u64, n, 1.0));
        let x = numbers(7 * seed as u64 + 3, n);
        let l = factor.factor();
        let forward: Vec<f64> = (0..n).map(|i| (0..n).map(|j| l.get(i, j) * x[j]).sum()).collect();
        let backward: Vec<f64> = (0..n).map(|i| (0..n).map(|j| l.get(j, i) * x[j]).sum()).collect();
        let mut one = in_lanes(&forward);
        factor.solve(&mut one);
        let mut two = in_lanes(&backward);
        factor.solve_transposed(&mut two);
        let mut block = Mat::from_fn(n, 3, |i, k| forward[i] * (k + 1) as f64);
        factor.solve_block(block.as_mut());
        let mut block_t = Mat::from_fn(n, 3, |i, k| backward[i] * (k + 1) as f64);
        factor.solve_transposed_block(block_t.as_mut());
        for i in 0..n {
            assert!(close(one[i], x[i], 1e-9), "forward at {n}");
            assert!(close(two[i], x[i], 1e-9), "transposed at {n}");
            for k in 0..3 {
                assert!(close(block[(i, k)], x[i] * (k + 1) as f64, 1e-9), "block at {n}");
                assert!(close(block_t[(i, k)], x[i] * (k + 1) as f64, 1e-9));
            }
        }
    }
}

#[test]
fn a_truncated_factor_is_the_factor_of_the_corner() {
    let gram = positive_definite(5, 40, 0.5);
    let mut factor = grown(&gram);
    factor.truncate(17);
    let corner = gram.submatrix(0, 0, 17, 17).to_owned();
    assert_eq!(factor.factor().to_row_major(), grown(&corner).factor().to_row_major());
    // And it grows on from there.
    let mut z = in_lanes(&(0..17).map(|i| gram[(17, i)]).collect::<Vec<_>>());
    factor.solve(&mut z);
    factor.append(&z, gram[(17, 17)] - z.iter().map(|v| v * v).sum::<f64>(), gram[(17, 17)]);
    assert_eq!(factor.factor().get(17, 17).to_bits(), grown(&gram).factor().get(17, 17).to_bits());
}

#[test]
fn a_factor_survives_its_entries_and_refuses_others() {
    let factor = grown(&positive_definite(11, 9, 0.5));
    let mut entries = factor.factor().to_row_major();
    let again = GrowingCholesky::from_row_major(&entries, 9).unwrap();
    assert_eq!(again.factor().to_row_major(), entries);
    let (mut one, mut two) = (in_lanes(&numbers(3, 9)), in_lanes(&numbers(3, 9)));
    factor.solve(&mut one);
    again.solve(&mut two);
    assert_eq!(one, two);
    entries[1] = 0.5;
    assert!(GrowingCholesky::from_row_major(&entries, 9).is_none(), "not triangular");
    entries[1] = 0.0;
    entries[10] = -1.0;
    assert!(GrowingCholesky::from_row_major(&entries, 9).is_none(), "not positive");
    entries[10] = f64::NAN;
    assert!(GrowingCholesky::from_row_major(&entries, 9).is_none(), "not finite");
    assert!(GrowingCholesky::from_row_major(&entries, 8).is_none(), "not square");
}

#[test]
fn an_inverse_that_rounding_made_indefinite_refuses_what_would_blow_it_up() {
    let mut inverse = SymmetricInverse::from_row_major(&[0.0, 1e-3, 1e-3, 0.0], 2).unwrap();
    let v = in_lanes(&[1.0, 0.0]);
    for (weight, learned) in [(1e24, false), (1.0, true)] {
        let before = inverse.matrix();
        let mut pv = vec![0.0; padded(2)];
        assert!(inverse.leverage(1.0, &v, &mut pv).abs() < f64::MIN_POSITIVE, "the row looks known");
        assert_eq!(inverse.learn(1.0, weight, 1.0, &v, 2, &mut pv), learned, "weight {weight}");
        assert_eq!(inverse.matrix().data() == before.data(), !learned);
    }
}

proptest! {
    #[test]
    fn rank_one_updates_equal_recomputing(
        n in 1_usize..40, rounds in 1_usize..60, seed in 0_u64..10_000,
        keep in prop_oneof![Just(1.0), 0.8_f64..1.0],
    ) {
        let lambda = 0.3;
        let mut a = Mat::<f64>::identity(n, n) * faer::Scale(lambda);
        let mut inverse = SymmetricInverse::default();
        inverse.grow(n, lambda);
        let mut pv = vec![0.0; padded(n)];
        for t in 0..rounds {
            let v = in_lanes(&numbers(seed + 31 * t as u64, n));
            let weight = 0.25 + (t % 3) as f64;
            let q = inverse.multiply(&v, &mut pv);
            let after = inverse.add(keep, weight, &pv, q);
            let column = Mat::from_fn(n, 1, |i, _| v[i]);
            a = a * faer::Scale(keep) + &column * column.transpose() * faer::Scale(weight);
            let mut fresh = vec![0.0; padded(n)];
            inverse.multiply(&v, &mut fresh);
            for i in 0..n {
                prop_assert!(close(fresh[i], after * pv[i], 1e-9), "P v after the update");
            }
        }
        let inverse = inverse.matrix();
        let product = inverse.as_faer() * &a;
        prop_assert!((product - Mat::<f64>::identity(n, n)).norm_max() < 1e-8);
        for i in 0..n {
            for j in 0..i {
                prop_assert_eq!(inverse.get(i, j).to_bits(), inverse.get(j, i).to_bits());
            }
        }
    }

    #[test]
    fn a_block_update_equals_its_rows(n in 1_usize..40, b in 1_usize..12, seed in 0_u64..10_000) {
        let v = matrix(seed, n, b);
        let mut one = SymmetricInverse::default();
        one.grow(n, 0.7);
        let mut block = one.clone();
        let mut pv = vec![0.0; padded(n)];
        for k in 0..b {
            let row = in_lanes(&(0..n).map(|i| v[(i, k)]).collect::<Vec<_>>());
            let q = one.multiply(&row, &mut pv);
            one.add(1.0, 1.0, &pv, q);
        }
        add_block(&mut block, &v);
        let (one, block) = (one.matrix(), block.matrix());
        for i in 0..n {
            for j in 0..n {
                prop_assert!(close(one.get(i, j), block.get(i, j), 1e-10));
                prop_assert_eq!(block.get(i, j).to_bits(), block.get(j, i).to_bits());
            }
        }
    }

    #[test]
    fn a_row_with_new_coordinates_is_learned_whatever_their_prior(
        n in 1_usize..20, seed in 0_u64..10_000, keep in prop_oneof![Just(1.0), 0.8_f64..1.0],
        diagonal in prop_oneof![Just(0.0), Just(1e-30), Just(1e-12), Just(1e-3), Just(10.0)],
    ) {
        let mut a = Mat::<f64>::zeros(n, n);
        let mut inverse = SymmetricInverse::default();
        for t in 0..n {
            let weight = 0.5 + (t % 2) as f64;
            let mut v = in_lanes(&numbers(seed + t as u64, t + 1));
            v[t] = 1.0 + v[t].abs();
            let mut pv = vec![f64::NAN; padded(t + 1)];
            inverse.leverage(diagonal, &v, &mut pv);
            prop_assert!(inverse.learn(keep, weight, diagonal, &v, t + 1, &mut pv));
            a[(t, t)] = diagonal;
            let column = Mat::from_fn(n, 1, |i, _| if i <= t { v[i] } else { 0.0 });
            a = a * faer::Scale(keep) + &column * column.transpose() * faer::Scale(weight);
            // The gain is the new P v.
            let mut fresh = vec![0.0; padded(t + 1)];
            inverse.multiply(&v, &mut fresh);
            let size = inverse.matrix().as_faer().norm_max() * v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            for i in 0..=t {
                prop_assert!((fresh[i] - pv[i]).abs() < 1e-12 * size.max(1.0));
            }
        }
        let residual = inverse.matrix().as_faer() * &a - Mat::<f64>::identity(n, n);
        let size = inverse.matrix().as_faer().norm_max() * a.norm_max();
        prop_assert!(residual.norm_max() < 1e-12 * size.max(1.0), "{} of {size}", residual.norm_max());
    }

    #[test]
    fn rows_blocks_and_growth_follow_each_other_in_any_order(
        steps in prop::collection::vec((0_u8..6, 0_u64..10_000), 1..40), start in 1_usize..40,
    ) {
        let mut inverse = SymmetricInverse::default();
        inverse.grow(start, 0.8);
        let mut a = Mat::<f64>::identity(start, start) * faer::Scale(0.8);
        let grown = |a: &Mat<f64>, corner: f64| {
            let m = a.nrows();
            Mat::from_fn(m + 1, m + 1, |i, j| match (i.max(j) < m, i == j) {
                (true, _) => a[(i, j)],
                (false, true) => corner,
                (false, false) => 0.0,
            })
        };
        for (kind, seed) in steps {
            let m = inverse.dim();
            match kind {
                0 | 1 => {
                    let (v, keep) = (in_lanes(&numbers(seed, m)), if kind == 0 { 1.0 } else { 0.9 });
                    let mut pv = vec![0.0; padded(m)];
                    let q = inverse.multiply(&v, &mut pv);
                    inverse.add(keep, 0.7, &pv, q);
                    let v = Mat::from_fn(m, 1, |i, _| v[i]);
                    a = a * faer::Scale(keep) + &v * v.transpose() * faer::Scale(0.7);
                }
                2 => {
                    let v = matrix(seed, m, 5);
                    add_block(&mut inverse, &v);
                    a += &v * v.transpose();
                }
                3 => {
                    let v = in_lanes(&numbers(seed, m + 1));
                    let mut pv = vec![0.0; padded(m + 1)];
                    inverse.leverage(0.6, &v, &mut pv);
                    prop_assert!(inverse.learn(1.0, 1.0, 0.6, &v, m + 1, &mut pv));
                    let v = Mat::from_fn(m + 1, 1, |i, _| v[i]);
                    a = grown(&a, 0.6) + &v * v.transpose();
                }
                4 => {
                    let mut gain = vec![0.0; padded(m + 1)];
                    inverse.append(&vec![0.0; m], 1.5, 0.0, &mut gain);
                    a = grown(&a, 1.5);
                }
                _ => {
                    let mut column = vec![f64::NAN; padded(m)];
                    let i = usize::try_from(seed).unwrap() % m;
                    inverse.column(i, &mut column);
                    let whole = inverse.matrix();
                    prop_assert!((0..m).all(|k| column[k].to_bits() == whole.get(k, i).to_bits()));
                    prop_assert!(column[m..].iter().all(|&v| v == 0.0));
                }
            }
        }
        let m = inverse.dim();
        let v = in_lanes(&numbers(1, m));
        let mut pv = vec![0.0; padded(m)];
        inverse.multiply(&v, &mut pv);
        let residual = inverse.matrix().as_faer() * &a - Mat::<f64>::identity(m, m);
        prop_assert!(residual.norm_max() < 1e-9, "{}", residual.norm_max());
        let back = &a * Mat::from_fn(m, 1, |i, _| pv[i]);
        prop_assert!((0..m).all(|i| close(back[(i, 0)], v[i], 1e-9)));
    }

    #[test]
    fn several_new_coordinates_at_once_are_growth_and_then_a_row(
        old in 0_usize..12, new in 1_usize..5, seed in 0_u64..10_000, zeros in 0_usize..3,
    ) {
        let n = old + new;
        let mut plain = SymmetricInverse::default();
        plain.grow(old, 0.4);
        let mut joint = plain.clone();
        let mut v = in_lanes(&numbers(seed, n));
        v[n - zeros.min(new)..n].fill(0.0);
        let mut pv = vec![0.0; padded(n)];
        let quadratic = joint.leverage(0.4, &v, &mut pv);
        prop_assert!(joint.learn(0.9, 2.0, 0.4, &v, n, &mut pv));
        plain.grow(n, 0.4);
        let mut slow = vec![0.0; padded(n)];
        let same = plain.multiply(&v, &mut slow);
        prop_assert!(close(quadratic, same, 1e-12));
        let gain = plain.add(0.9, 2.0, &slow, same);
        let (joint, plain) = (joint.matrix(), plain.matrix());
        for i in 0..n {
            prop_assert!(close(pv[i], gain * slow[i], 1e-12));
            for j in 0..n {
                prop_assert!(close(joint.get(i, j), plain.get(i, j), 1e-12));
            }
        }
    }
}

#[test]
fn symmetric_to_the_last_bit_and_bounded_over_a_long_run_with_forgetting() {
    let n = 20;
    let mut inverse = SymmetricInverse::default();
    inverse.grow(n, 1.0);
    let mut pv = vec![0.0; padded(n)];
    for t in 0..100_000_u64 {
        let v = in_lanes(&numbers(t + 1, n));
        let q = inverse.multiply(&v, &mut pv);
        inverse.add(0.99, 1.0, &pv, q);
    }
    let inverse = inverse.matrix();
    for i in 0..n {
        for j in 0..n {
            let value = inverse.get(i, j);
            assert!(value.is_finite() && value.abs() < 1e3, "entry {i}, {j}: {value}");
            assert_eq!(value.to_bits(), inverse.get(j, i).to_bits());
        }
    }
}

/// Points on a plane in `n` dimensions and the linear kernel: as many directions as the plane has, in which every point
/// has its length.
#[test]
fn directions_made_by_the_nugget_are_no_functions() {
    for (rank, n) in [(1, 2), (3, 8), (5, 40), (12, 12)] {
        let points = matrix(n as u64, n, rank);
        let gram = &points * points.transpose();
        let nuggets = Mat::from_fn(n, n, |i, j| if i == j { nugget(i) * gram[(i, i)] } else { 0.0 });
        let factor = (&gram + nuggets).llt(Side::Lower).unwrap().L().to_owned();
        let Some(basis) = spanned(factor.as_ref()) else {
            assert_eq!(rank, n);
            continue;
        };
        assert_eq!(basis.ncols(), rank);
        let within = &factor * &basis;
        let lengths = &within * within.transpose();
        assert!((&lengths - &gram).norm_max() < 1e-9 * gram.norm_max());
        let products = basis.transpose() * &basis;
        assert!((products - Mat::<f64>::identity(rank, rank)).norm_max() < 1e-12);
    }
}
