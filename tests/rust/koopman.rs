//! Operators against plain dense versions written here, and the properties every operator keeps.

use faer::linalg::solvers::Solve as _;
use faer::{Mat, c64};
use kernelstream::basis::BasisSpec;
use kernelstream::kernel::{Kernel, KernelSpec};
use kernelstream::koopman::{
    AdmissionSpec, DictionariesSpec, HilbertSchmidt, Koopman, KoopmanSpec, RankSpec, ReplaySpec, Residual,
    Truncation,
};
use kernelstream::learner::{GradientSpec, LearnerSpec, Loss, RidgeSpec, Schedule};
use kernelstream::stream::presets;
use kernelstream::{Error, Merge as _, Persist as _, Result};
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const BANDWIDTH: f64 = 0.6;

fn gaussian() -> KernelSpec {
    KernelSpec::Gaussian { bandwidth: Some(BANDWIDTH) }
}

fn similarity(x: &[f64], y: &[f64]) -> f64 {
    let distance: f64 = x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum();
    (-distance / (2.0 * BANDWIDTH * BANDWIDTH)).exp()
}

fn gram(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), b.nrows(), |i, j| similarity(&a.row(i).to_vec(), &b.row(j).to_vec()))
}

/// A noisy turn and contraction of the plane, as a trajectory of `rows + 1` states.
fn trajectory(seed: u64, rows: usize) -> Array2<f64> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut x = [0.5, 0.0];
    let mut out = Array2::zeros((rows + 1, 2));
    for mut row in out.rows_mut() {
        row.assign(&ndarray::arr1(&x));
        let mut noise = || rng.random_range(-0.25_f64..0.25);
        x = [0.8 * x[0] - 0.5 * x[1] + noise(), 0.5 * x[0] + 0.8 * x[1] + noise()];
    }
    out
}

fn pairs(path: &Array2<f64>) -> (ArrayView2<'_, f64>, ArrayView2<'_, f64>) {
    (path.slice(s![..-1, ..]), path.slice(s![1.., ..]))
}

fn ald(tolerance: f64, max_size: Option<usize>) -> DictionariesSpec {
    DictionariesSpec::Shared(BasisSpec::Ald { tolerance, max_size, loss_driven: false })
}

fn budget(budget: f64, power: f64, max_size: Option<usize>) -> AdmissionSpec {
    AdmissionSpec::HilbertSchmidt(HilbertSchmidt { budget, power, max_size, pivot_floor: 1e-10 })
}

fn ridge(regularization: f64, forgetting: f64) -> LearnerSpec {
    LearnerSpec::Ridge(RidgeSpec { regularization, forgetting, ..RidgeSpec::default() })
}

fn gradient(step: f64, averaging: bool) -> LearnerSpec {
    LearnerSpec::Gradient(GradientSpec {
        loss: Loss::HalfSquared,
        step: Some(step),
        schedule: Schedule::Constant,
        regularization: 0.01,
        averaging,
        radius: None,
    })
}

fn every_model() -> Vec<KoopmanSpec> {
    let spec = |dictionaries, learner| KoopmanSpec {
        kernel: gaussian(),
        dictionaries,
        learner,
        ..KoopmanSpec::default()
    };
    let replay =
        |size, passes, spec| KoopmanSpec { replay: Some(ReplaySpec { size, passes, seed: 7 }), ..spec };
    let separate = || spec(DictionariesSpec::Separate(budget(0.05, 0.0, None)), gradient(0.3, false));
    vec![
        spec(ald(1e-2, None), ridge(1e-2, 1.0)),
        spec(ald(1e-2, Some(5)), ridge(1e-2, 0.97)),
        spec(ald(1e-2, None), gradient(0.3, true)),
        separate(),
        spec(DictionariesSpec::Separate(budget(2.0, 3.0, Some(6))), gradient(0.3, true)),
        spec(DictionariesSpec::Paired(budget(0.1, 0.0, None)), gradient(0.3, false)),
        replay(9, 2, separate()),
        replay(14, 1, spec(ald(1e-2, None), ridge(1e-2, 1.0))),
        KoopmanSpec { rank: Some(RankSpec::Reduced { rank: 5 }), ..spec(ald(1e-2, None), ridge(1e-2, 1.0)) },
        KoopmanSpec {
            rank: Some(RankSpec::TotalLeastSquares { rank: 4 }),
            ..spec(ald(1e-2, Some(6)), ridge(1e-2, 0.99))
        },
    ]
}

fn bytes(model: &Koopman) -> Vec<u8> {
    model.to_bytes(serde_json::Value::Null).unwrap()
}

fn largest_difference(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    assert_eq!(a.dim(), b.dim());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn learned(spec: &KoopmanSpec, path: &Array2<f64>) -> Koopman {
    let mut model = spec.build().unwrap();
    let (x, next) = pairs(path);
    model.learn(x, next).unwrap();
    model
}

// -------------------------------------------------------------------------- dense versions

/// Least squares on the zero-padded coordinates from the whole history, forgetting as the ridge
/// learner does: each round gives `(1 - gamma) lambda m` back to one coordinate, by multiples of the
/// golden section.
fn dense_least_squares(path: &Array2<f64>, dictionary: &Array2<f64>, lambda: f64, gamma: f64) -> Array2<f64> {
    let (a, b) = dense_sums(path, dictionary, lambda, gamma);
    let w = a.partial_piv_lu().solve(&b);
    Array2::from_shape_fn((b.nrows(), b.nrows()), |(i, j)| w[(j, i)])
}

/// Its regularized Gram matrix `sum z z'` and `sum z s'`.
fn dense_sums(path: &Array2<f64>, dictionary: &Array2<f64>, lambda: f64, gamma: f64) -> (Mat<f64>, Mat<f64>) {
    let (x, next) = pairs(path);
    let total = dictionary.nrows();
    let k = gram(dictionary.view(), dictionary.view());
    let lower = k.llt(faer::Side::Lower).unwrap().L().to_owned();
    let solve = |rows| {
        let mut z = gram(dictionary.view(), rows);
        let lower = lower.as_ref();
        faer::linalg::triangular_solve::solve_lower_triangular_in_place(lower, z.as_mut(), faer::Par::Seq);
        z
    };
    let (z, s) = (solve(x), solve(next));
    let (mut a, mut b) = (Mat::<f64>::zeros(total, total), Mat::<f64>::zeros(total, total));
    let mut known = 0;
    for t in 0..x.nrows() {
        // A dictionary point is known from the moment it is looked at.
        let is_next =
            |m: usize, row: usize, of: ArrayView2<'_, f64>| m < total && dictionary.row(m) == of.row(row);
        let before = known;
        known += usize::from(is_next(known, t, x));
        let seen_by_x = known;
        known += usize::from(is_next(known, t, next));
        for i in before..known {
            a[(i, i)] = lambda;
        }
        for i in 0..known {
            for j in 0..known {
                let (zi, zj) = (
                    if i < seen_by_x { z[(i, t)] } else { 0.0 },
                    if j < seen_by_x { z[(j, t)] } else { 0.0 },
                );
                a[(i, j)] = gamma * a[(i, j)] + zi * zj;
                b[(i, j)] = gamma * b[(i, j)] + zi * s[(j, t)];
            }
        }
        if gamma < 1.0 {
            let turn = u128::from((t as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let i = usize::try_from((turn * known as u128) >> 64).unwrap();
            a[(i, i)] += (1.0 - gamma) * lambda * known as f64;
        }
    }
    (a, b)
}

#[test]
fn least_squares_is_dense_least_squares() {
    let path = trajectory(1, 300);
    for gamma in [1.0, 0.98] {
        for lambda in [1e-3, 1.0] {
            let spec = KoopmanSpec {
                kernel: gaussian(),
                dictionaries: ald(1e-2, None),
                learner: ridge(lambda, gamma),
                ..KoopmanSpec::default()
            };
            let model = learned(&spec, &path);
            let dense = dense_least_squares(&path, &model.dictionary(), lambda, gamma);
            assert!(model.n_stored().0 > 10);
            let gap = largest_difference(&model.coordinates().unwrap(), &dense);
            assert!(gap < 1e-8, "lambda {lambda}, gamma {gamma}: {gap:e}");
        }
    }
}

#[test]
fn a_pair_of_weight_two_counts_as_two() {
    let path = trajectory(4, 200);
    let (x, next) = pairs(&path);
    for (n_blocks, size) in [(1, 6), (8, 60)] {
        let spec = KoopmanSpec {
            kernel: gaussian(),
            dictionaries: ald(1e-3, Some(size)),
            learner: ridge(1e-2, 1.0),
            n_blocks,
            ..KoopmanSpec::default()
        };
        let mut begun = spec.build().unwrap();
        begun.learn(x, next).unwrap();
        let (mut weighted, mut repeated) = (begun.clone(), begun);
        let weights = ndarray::Array1::from_shape_fn(x.nrows(), |i| if i % 3 == 0 { 2.0 } else { 1.0 });
        weighted.learn_weighted_while(x, next, Some(weights.view()), |_| true).unwrap();
        let twice: Vec<usize> =
            (0..x.nrows()).flat_map(|i| std::iter::repeat_n(i, if i % 3 == 0 { 2 } else { 1 })).collect();
        repeated.learn(x.select(Axis(0), &twice).view(), next.select(Axis(0), &twice).view()).unwrap();
        let coordinates = |model: &Koopman| model.coordinates().unwrap();
        assert!(largest_difference(&coordinates(&weighted), &coordinates(&repeated)) < 1e-8);
        let (one, two) = (weighted.moments(3).unwrap(), repeated.moments(3).unwrap());
        for (a, b) in one.across.iter().chain(&one.means).zip(two.across.iter().chain(&two.means)) {
            assert!((a - b).norm() < 1e-7, "{a} {b}");
        }
        // One by one as in blocks.
        let mut single = spec.build().unwrap();
        single.learn(x, next).unwrap();
        for i in 0..x.nrows() {
            let (x, next) = (x.slice(s![i..=i, ..]), next.slice(s![i..=i, ..]));
            let weight = weights.slice(s![i..=i]);
            single.learn_weighted_while(x, next, Some(weight), |_| true).unwrap();
        }
        assert!(largest_difference(&coordinates(&weighted), &coordinates(&single)) < 1e-8);
        // Refused weights change nothing.
        let before = bytes(&weighted);
        for wrong in [0.0, -1.0, f64::NAN, 1e3] {
            let mut bad = weights.clone();
            bad[7] = wrong;
            let refused = weighted.learn_weighted_while(x, next, Some(bad.view()), |_| true).unwrap_err();
            assert!(refused.to_string().contains("row 7"), "{refused}");
        }
        assert!(bytes(&weighted) == before);
    }
    let descent = KoopmanSpec { learner: gradient(0.3, false), ..KoopmanSpec::default() };
    let ones = ndarray::Array1::ones(x.nrows());
    assert!(descent.build().unwrap().learn_weighted_while(x, next, Some(ones.view()), |_| true).is_err());
}

#[test]
fn reduced_rank_is_the_best_operator_of_that_rank() {
    let drawn = trajectory(1, 300);
    let mut sorted: Vec<Vec<f64>> = drawn.rows().into_iter().map(|row| row.to_vec()).collect();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let sorted = Array2::from_shape_fn(drawn.dim(), |(i, j)| sorted[i][j]);
    for (path, gamma) in [(&drawn, 1.0), (&drawn, 0.98), (&sorted, 1.0)] {
        let spec = KoopmanSpec {
            kernel: gaussian(),
            dictionaries: ald(1e-2, None),
            learner: ridge(1.0, gamma),
            ..KoopmanSpec::default()
        };
        let full = learned(&spec, path);
        let (a, b) = dense_sums(path, &full.dictionary(), 1.0, gamma);
        let m = a.nrows();
        // The root of the inverse by eigenvectors: A^-1/2 B is what is cut to rank r.
        let eigen = a.self_adjoint_eigen(faer::Side::Lower).unwrap();
        let root = Mat::from_fn(m, m, |i, j| {
            (0..m).map(|k| eigen.U()[(i, k)] * eigen.U()[(j, k)] / eigen.S()[k].sqrt()).sum::<f64>()
        });
        let whitened = &root * &b;
        let svd = whitened.svd().unwrap();
        for rank in [1, 3, m - 1, m, m + 4] {
            let model =
                learned(&KoopmanSpec { rank: Some(RankSpec::Reduced { rank }), ..spec.clone() }, path);
            let cut = Mat::from_fn(m, m, |i, j| {
                let kept = 0..rank.min(m);
                kept.map(|k| svd.U()[(i, k)] * svd.S()[k] * svd.V()[(j, k)]).sum::<f64>()
            });
            let best = &root * cut;
            let best = Array2::from_shape_fn((m, m), |(i, j)| best[(j, i)]);
            let gap = largest_difference(&model.coordinates().unwrap(), &best);
            assert!(gap < 1e-8, "rank {rank} of {m}, gamma {gamma}: {gap:e}");
            let nonzero = model.spectrum().unwrap().values().iter().filter(|v| v.norm() > 1e-9).count();
            assert!(nonzero <= rank);
            // The forecast of the state, a function of the coordinates, is projected in the same way.
            if rank >= m {
                let (x, _) = pairs(path);
                let ahead = |model: &Koopman| model.forecast(x, &[1, 3], Truncation::default()).unwrap();
                assert_eq!(ahead(&model), ahead(&full));
            }
        }
    }
    let descent = KoopmanSpec { learner: gradient(0.3, false), ..KoopmanSpec::default() };
    assert!(KoopmanSpec { rank: Some(RankSpec::Reduced { rank: 3 }), ..descent }.build().is_err());
    assert!(
        KoopmanSpec { rank: Some(RankSpec::Reduced { rank: 0 }), ..KoopmanSpec::default() }.build().is_err()
    );
}

#[test]
fn singular_functions_are_canonical_variates_of_the_pairs() {
    let path = trajectory(3, 400);
    let (x, next) = pairs(&path);
    let mut spec = KoopmanSpec {
        kernel: gaussian(),
        dictionaries: ald(1e-2, None),
        learner: ridge(1e-9, 1.0),
        n_blocks: 1,
        ..KoopmanSpec::default()
    };
    let mut model = spec.build().unwrap();
    // All states are stored before those pairs are learned that count.
    model.learn(x, next).unwrap();
    model.freeze_dictionary().unwrap();
    model.learn(x, next).unwrap();
    let values = model.singular_values().unwrap();
    assert!((values[0] - 1.0).abs() < 1e-12 && values.windows(2).all(|pair| pair[0] >= pair[1]));
    let k = 5;
    let now = model.singular_functions(x, k, false).unwrap();
    let later = model.singular_functions(next, k, true).unwrap();
    let n = x.nrows() as f64;
    for (i, value) in values.iter().enumerate().take(k) {
        for j in 0..k {
            let expected = f64::from(u8::from(i == j));
            let own = now.column(i).dot(&now.column(j)) / n;
            assert!((own - expected).abs() < 1e-6, "{i} {j}: {own}");
            assert!((later.column(i).dot(&later.column(j)) / n - expected).abs() < 1e-6);
            let across = now.column(i).dot(&later.column(j)) / n;
            assert!((across - expected * value).abs() < 1e-6, "{i} {j}: {across}");
        }
    }
    // No function of the coordinates is predicted better: regress each on the other.
    let z = model.transform(x).unwrap();
    let s = model.transform(next).unwrap();
    let centred = |of: &Array2<f64>| of - &of.mean_axis(Axis(0)).unwrap();
    let (z, s) = (centred(&z), centred(&s));
    let mat = |of: Array2<f64>| Mat::from_fn(of.nrows(), of.ncols(), |i, j| of[[i, j]]);
    let (c00, c01, c11) = (mat(z.t().dot(&z)), mat(z.t().dot(&s)), mat(s.t().dot(&s)));
    let both = c00.partial_piv_lu().solve(&c01) * c11.partial_piv_lu().solve(c01.transpose());
    let mut squares: Vec<f64> = both.eigenvalues().unwrap().iter().map(|v| v.re).collect();
    squares.sort_by(|a, b| b.total_cmp(a));
    for (value, square) in values[1..6].iter().zip(&squares) {
        assert!((value * value - square).abs() < 1e-5, "{value} {square}");
    }
    spec.n_blocks = 0;
    assert!(matches!(learned(&spec, &path).singular_values(), Err(Error::Spectrum { .. })));
}

/// Squared norm of `sum_ij w_ij phi(e_i) (x) phi(d_j)`.
fn squared_norm(w: &Mat<f64>, e: &Mat<f64>, d: &Mat<f64>) -> f64 {
    let product = w.transpose() * e * w * d;
    (0..d.nrows()).map(|i| product[(i, i)]).sum()
}

/// The operator nearest to `w` (on all points) on the leading points only: `Z = E^-1 E' w D' D^-1`.
fn nearest(w: &Mat<f64>, e: &Mat<f64>, d: &Mat<f64>, rows: usize, cols: usize) -> Mat<f64> {
    let left = e.get(..rows, ..rows).partial_piv_lu().solve(e.get(..rows, ..) * w);
    let across = (left * d.get(.., ..cols)).transpose().to_owned();
    d.get(..cols, ..cols).partial_piv_lu().solve(across).transpose().to_owned()
}

#[test]
fn the_admission_test_is_the_least_loss_and_the_step_the_nearest_operator() {
    let (step, lambda) = (0.3, 0.01);
    for paired in [false, true] {
        let rule = budget(0.06, 0.0, None);
        let dictionaries =
            if paired { DictionariesSpec::Paired(rule) } else { DictionariesSpec::Separate(rule) };
        let spec = KoopmanSpec {
            kernel: gaussian(),
            dictionaries,
            learner: gradient(step, false),
            ..KoopmanSpec::default()
        };
        let mut model = spec.build().unwrap();
        let path = trajectory(2, 60);
        let (x, next) = pairs(&path);
        let (mut d, mut e) = (Array2::zeros((0, 2)), Array2::zeros((0, 2)));
        let mut w = Mat::<f64>::zeros(0, 0);
        let mut choices = std::collections::BTreeSet::new();
        for t in 0..x.nrows() {
            let (n_in, n_out) = (d.nrows(), e.nrows());
            let all_d = concatenate![Axis(0), d, x.slice(s![t..=t, ..])];
            let all_e = concatenate![Axis(0), e, next.slice(s![t..=t, ..])];
            let (gram_d, gram_e) = (gram(all_d.view(), all_d.view()), gram(all_e.view(), all_e.view()));
            // Lemma 4.2
            let mut grown = Mat::<f64>::zeros(n_out + 1, n_in + 1);
            for i in 0..n_out {
                for j in 0..n_in {
                    grown[(i, j)] = (1.0 - lambda * step) * w[(i, j)];
                    grown[(i, n_in)] -= step * w[(i, j)] * gram_d[(j, n_in)];
                }
            }
            grown[(n_out, n_in)] = step;
            let attempts: &[(usize, usize)] =
                if paired { &[(0, 0), (1, 1)] } else { &[(0, 0), (1, 0), (0, 1), (1, 1)] };
            let mut found = None;
            for &(store_x, store_next) in attempts {
                let (cols, rows) = (n_in + store_x, n_out + store_next);
                let best = nearest(&grown, &gram_e, &gram_d, rows, cols);
                let mut rest = grown.clone();
                for i in 0..rows {
                    for j in 0..cols {
                        rest[(i, j)] -= best[(i, j)];
                    }
                }
                let lost = squared_norm(&rest, &gram_e, &gram_d).max(0.0).sqrt();
                if lost <= 0.06 || (store_x, store_next) == (1, 1) {
                    found = Some((store_x, store_next, best));
                    break;
                }
            }
            let (store_x, store_next, best) = found.unwrap();
            choices.insert((store_x, store_next));
            w = best;
            d = all_d.slice(s![..n_in + store_x, ..]).to_owned();
            e = all_e.slice(s![..n_out + store_next, ..]).to_owned();
            model.learn_one(&x.row(t).to_vec(), &next.row(t).to_vec()).unwrap();
            assert_eq!(model.n_stored(), (d.nrows(), e.nrows()), "round {t}");
        }
        assert!(choices.len() == if paired { 2 } else { 4 }, "{choices:?}");
        assert_eq!((model.dictionary(), model.dictionary_next()), (d.clone(), e.clone()));
        // the weights of the embedding at a point are W k(inputs, point)
        let at = path.slice(s![3..5, ..]);
        let weights = model.embedding(at, &[1], Truncation::default()).unwrap();
        let expected = &w * gram(d.view(), at);
        for ((_, row, i), value) in weights.indexed_iter() {
            assert!((value - expected[(i, row)]).abs() < 1e-8);
        }
    }
}

#[test]
fn an_operator_that_stores_every_pair_is_the_basic_recursion() {
    // Hou et al., Lemma 4.2: W gains a row and a column with each pair, and no Gram matrix is factored.
    // Far enough from each other that none is in the span of the others to rounding.
    let path = trajectory(3, 20) * 4.0;
    let (x, next) = pairs(&path);
    let learner = match gradient(0.4, false) {
        LearnerSpec::Gradient(spec) => LearnerSpec::Gradient(GradientSpec {
            schedule: Schedule::InverseSqrt,
            regularization: 0.1,
            ..spec
        }),
        other => other,
    };
    let dictionaries = DictionariesSpec::Separate(budget(0.0, 0.0, None));
    let mut model =
        KoopmanSpec { kernel: gaussian(), dictionaries, learner, ..KoopmanSpec::default() }.build().unwrap();
    model.learn(x.slice(s![..7, ..]), next.slice(s![..7, ..])).unwrap();
    model.learn(x.slice(s![7.., ..]), next.slice(s![7.., ..])).unwrap();
    assert_eq!((model.dictionary(), model.dictionary_next()), (x.to_owned(), next.to_owned()));
    let k = gram(x, x);
    let mut w = Mat::<f64>::zeros(20, 20);
    for t in 0..20 {
        let step = 0.4 / (t as f64 + 1.0).sqrt();
        for i in 0..t {
            w[(i, t)] = -step * (0..t).map(|j| w[(i, j)] * k[(j, t)]).sum::<f64>();
            for j in 0..t {
                w[(i, j)] *= 1.0 - 0.1 * step;
            }
        }
        w[(t, t)] = step;
    }
    let weights = model.embedding(path.view(), &[1], Truncation::default()).unwrap();
    let expected = &w * gram(x, path.view());
    for ((_, row, i), value) in weights.indexed_iter() {
        assert!((value - expected[(i, row)]).abs() < 1e-9, "{value} and {}", expected[(i, row)]);
    }
    // The eigenvalues of W' K(next, x)' are those of the operator.
    let exact = (w.transpose() * gram(next, x).as_ref()).eigenvalues().unwrap();
    let largest = exact.iter().map(|value| value.norm()).fold(0.0, f64::max);
    let values = model.spectrum().unwrap().values().to_vec();
    assert_eq!(values.len(), 20);
    assert!((values[0].norm() - largest).abs() < 1e-9);
}

// ----------------------------------------------------------------------------------- spectrum

#[test]
fn eigenpairs_solve_their_equation_and_duals_are_dual() {
    for spec in every_model() {
        let path = trajectory(4, 120);
        let model = learned(&spec, &path);
        let (matrix, spectrum) = (model.matrix().unwrap(), model.spectrum().unwrap());
        let values = spectrum.values();
        let (m, right) = (values.len(), spectrum.right());
        assert_eq!(m, model.n_stored().0);
        let size = values[0].norm();
        for j in 0..m {
            for i in 0..m {
                let image: c64 = (0..m).map(|k| right[(k, j)] * matrix[(i, k)]).sum();
                assert!((image - right[(i, j)] * values[j]).norm() < 1e-9 * right.col(j).norm_l2());
            }
            if j > 0 {
                assert!(values[j].norm() <= values[j - 1].norm() + 1e-9 * size);
            }
            if values[j].im > 0.0 {
                assert_eq!(values[j + 1], values[j].conj());
                assert_eq!(spectrum.whole(j + 1), j + 2);
            } else {
                assert_eq!(spectrum.whole(j + 1), j + 1);
            }
        }
        let k = spectrum.whole(4);
        let duals = spectrum.duals(k).unwrap();
        let identity = duals * right.get(.., ..k);
        for i in 0..k {
            for j in 0..k {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((identity[(i, j)] - expected).norm() < 1e-9);
            }
        }
    }
}

#[test]
fn a_defective_operator_says_so_and_still_forecasts() {
    // Two far apart states, the first of which goes to the second, which goes nowhere stored.
    let x = ndarray::arr2(&[[0.0], [50.0], [50.0]]);
    let next = ndarray::arr2(&[[50.0], [100.0], [100.0]]);
    let spec = KoopmanSpec {
        kernel: gaussian(),
        dictionaries: ald(1e-3, None),
        learner: ridge(1e-6, 1.0),
        ..KoopmanSpec::default()
    };
    let mut model = spec.build().unwrap();
    model.learn(x.view(), next.view()).unwrap();
    assert!(model.spectrum().unwrap().values().iter().all(|value| value.norm() < 1e-4));
    assert!(matches!(model.modes(None, 3), Err(Error::Spectrum { .. })));
    let ahead = model.forecast(x.view(), &[1, 5], Truncation::default()).unwrap();
    assert!((ahead[[0, 0, 0]] - 50.0).abs() < 1e-3);
    assert!(ahead[[1, 0, 0]].abs() < 1e-9);
}

#[test]
fn forecasts_are_powers_however_they_are_taken() {
    let path = trajectory(5, 200);
    for spec in every_model() {
        let model = learned(&spec, &path);
        let (x, _) = pairs(&path);
        let x = x.slice(s![..3, ..]);
        let one_by_one = model.forecast(x, &[1, 2, 3, 40, 2000], Truncation::default()).unwrap();
        // weights of the state, moved by hand
        let z = model.transform(x).unwrap();
        let matrix = model.matrix().unwrap();
        let mut carried = z.clone();
        let steps = [1, 2, 3, 40];
        let mut done = 1;
        for (at, &n) in steps.iter().enumerate() {
            while done < n {
                carried = Array2::from_shape_fn(carried.dim(), |(r, j)| {
                    (0..carried.ncols()).map(|i| carried[[r, i]] * matrix[(i, j)]).sum()
                });
                done += 1;
            }
            // the one-step forecast at a point with these coordinates is linear in them
            let basis = model.forecast(model.dictionary().view(), &[1], Truncation::default()).unwrap();
            let points = model.transform(model.dictionary().view()).unwrap();
            let m = points.nrows();
            let points = Mat::from_fn(m, m, |i, j| points[[i, j]]);
            let weights = points.partial_piv_lu().solve(Mat::from_fn(m, 2, |i, j| basis[[0, i, j]]));
            for r in 0..3 {
                for c in 0..2 {
                    let by_hand: f64 = (0..m).map(|i| carried[[r, i]] * weights[(i, c)]).sum();
                    assert!((by_hand - one_by_one[[at, r, c]]).abs() < 1e-7, "{n} steps");
                }
            }
        }
        assert!(one_by_one.iter().all(|v| v.is_finite()));
        let again = model.forecast(x, &[2000, 40], Truncation::default()).unwrap();
        assert!((again[[1, 0, 0]] - one_by_one[[3, 0, 0]]).abs() < 1e-10);
    }
}

#[test]
fn residuals_need_rows_where_the_function_lives() {
    let path = trajectory(6, 400);
    let model = learned(&every_model()[0], &path);
    let held = trajectory(7, 3000);
    let (x, next) = pairs(&held);
    let raw = model.residuals(x, next, 3, Residual::Raw).unwrap();
    let projected = model.residuals(x, next, 3, Residual::Projected).unwrap();
    assert!(projected.iter().zip(&raw).all(|(p, r)| p <= r));
    assert!(projected[0] < 0.05);
    let far = Array2::from_elem((5, 2), 1e3);
    let answer = model.residuals(far.view(), far.view(), 3, Residual::Raw);
    assert!(matches!(answer, Err(Error::Spectrum { .. })));
}

// --------------------------------------------------------------------------------- properties

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_chunking_gives_the_same_model(
        seed in 0_u64..1000, cuts in prop::collection::vec(0_usize..=60, 0..6),
    ) {
        let path = trajectory(seed, 60);
        let (x, next) = pairs(&path);
        let mut cuts = cuts;
        cuts.extend([0, 60]);
        cuts.sort_unstable();
        for spec in every_model() {
            let whole = learned(&spec, &path);
            let (mut pieces, mut single) = (spec.build().unwrap(), spec.build().unwrap());
            for cut in cuts.windows(2) {
                let rows = s![cut[0]..cut[1], ..];
                pieces.learn(x.slice(rows), next.slice(rows)).unwrap();
            }
            for (x, next) in x.rows().into_iter().zip(next.rows()) {
                single.learn_one(&x.to_vec(), &next.to_vec()).unwrap();
            }
            for other in [&pieces, &single] {
                prop_assert_eq!(whole.n_seen(), other.n_seen());
                prop_assert_eq!(whole.dictionary(), other.dictionary());
                prop_assert_eq!(whole.dictionary_next(), other.dictionary_next());
                let gap = largest_difference(&whole.coordinates().unwrap(), &other.coordinates().unwrap());
                prop_assert!(gap < 1e-10, "{:e} {:?}", gap, spec);
            }
        }
    }

    #[test]
    fn files_continue_to_the_last_bit(seed in 0_u64..1000, cut in 0_usize..50) {
        let path = trajectory(seed, 50);
        let (x, next) = pairs(&path);
        for spec in every_model() {
            let mut model = spec.build().unwrap();
            model.learn(x.slice(s![..cut, ..]), next.slice(s![..cut, ..])).unwrap();
            let (mut again, _) = Koopman::from_bytes(&bytes(&model)).unwrap();
            prop_assert!(bytes(&again) == bytes(&model));
            for model in [&mut model, &mut again] {
                model.learn(x.slice(s![cut.., ..]), next.slice(s![cut.., ..])).unwrap();
            }
            prop_assert!(bytes(&again) == bytes(&model));
            prop_assert_eq!(model.n_seen(), 50);
        }
    }

    #[test]
    fn the_factor_stays_that_of_the_gram_matrix(seed in 0_u64..1000) {
        let path = trajectory(seed, 80);
        for spec in every_model() {
            let model = learned(&spec, &path);
            for points in [model.dictionary(), model.dictionary_next()] {
                let k = gram(points.view(), points.view());
                prop_assert!(k.llt(faer::Side::Lower).is_ok());
            }
            // coordinates of the stored inputs give back their similarities
            let z = model.transform(model.dictionary().view()).unwrap();
            let k = gram(model.dictionary().view(), model.dictionary().view());
            for ((i, j), value) in z.dot(&z.t()).indexed_iter() {
                prop_assert!((value - k[(i, j)]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn bad_rows_are_refused_and_change_nothing(
        seed in 0_u64..1000, row in 0_usize..30, column in 0_usize..2, second in any::<bool>(),
        value in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(1e200)],
    ) {
        let path = trajectory(seed, 60);
        let (x, next) = pairs(&path);
        for spec in every_model() {
            let mut model = spec.build().unwrap();
            model.learn(x.slice(s![..30, ..]), next.slice(s![..30, ..])).unwrap();
            let before = bytes(&model);
            let (mut left, mut right) =
                (x.slice(s![30.., ..]).to_owned(), next.slice(s![30.., ..]).to_owned());
            if second { right[[row, column]] = value } else { left[[row, column]] = value }
            let error = model.learn(left.view(), right.view()).unwrap_err();
            let expected = if second { "X_next" } else { "X" };
            let named = matches!(
                error,
                Error::NotFinite { what, row: r, .. } | Error::TooLarge { what, row: r, .. }
                    if r == row && what == expected
            );
            prop_assert!(named);
            let wide = Array2::zeros((2, 3));
            prop_assert!(model.learn(wide.view(), wide.view()).is_err());
            prop_assert!(model.learn(left.slice(s![..2, ..]), right.slice(s![..1, ..])).is_err());
            prop_assert!(model.forecast(wide.view(), &[1], Truncation::default()).is_err());
            prop_assert!(bytes(&model) == before);
        }
    }
}

#[test]
fn blocks_are_rounds_one_by_one() {
    // enough stored states for blocks, and new ones all along
    let kernel = KernelSpec::Gaussian { bandwidth: Some(0.2) };
    let power = Schedule::Power { half_life: 50.0, exponent: 0.5 };
    let falling = |averaging| match gradient(0.3, averaging) {
        LearnerSpec::Gradient(spec) => LearnerSpec::Gradient(GradientSpec { schedule: power, ..spec }),
        other => other,
    };
    let cases = [
        (ald(1e-2, None), ridge(1e-2, 1.0), None),
        (ald(1e-2, Some(130)), ridge(1e-2, 1.0), Some(ReplaySpec { size: 500, passes: 2, seed: 1 })),
        (ald(1e-2, None), falling(true), None),
        (DictionariesSpec::Separate(budget(0.08, 0.0, None)), gradient(0.3, false), None),
        (
            DictionariesSpec::Separate(budget(0.6, 2.0, None)),
            falling(true),
            Some(ReplaySpec { size: 300, passes: 1, seed: 1 }),
        ),
        (DictionariesSpec::Paired(budget(0.1, 0.0, Some(130))), gradient(0.3, true), None),
    ];
    let path = trajectory(20, 1500);
    for (dictionaries, learner, replay) in cases {
        let buffered = replay.is_some();
        let spec =
            KoopmanSpec { kernel: kernel.clone(), dictionaries, learner, replay, ..KoopmanSpec::default() };
        // a trajectory, and pairs of it that do not follow each other
        let (x, next) = pairs(&path);
        let order: Vec<usize> = (0..1500).map(|i| i * 7 % 1500).collect();
        let scattered = (x.select(Axis(0), &order), next.select(Axis(0), &order));
        for (x, next) in [(x, next), (scattered.0.view(), scattered.1.view())] {
            let mut blocks = spec.build().unwrap();
            blocks.learn(x, next).unwrap();
            assert!(
                blocks.n_stored().0 >= 110 && blocks.n_seen() == 1500,
                "{:?} {spec:?}",
                blocks.n_stored()
            );
            let mut single = spec.build().unwrap();
            if buffered {
                // a full buffer is given out by blocks in any case
                for rows in [0..13, 13..700, 700..1500] {
                    single.learn(x.slice(s![rows.clone(), ..]), next.slice(s![rows, ..])).unwrap();
                }
            } else {
                for (x, next) in x.rows().into_iter().zip(next.rows()) {
                    single.learn_one(&x.to_vec(), &next.to_vec()).unwrap();
                }
            }
            assert_eq!(blocks.dictionary(), single.dictionary());
            assert_eq!(blocks.dictionary_next(), single.dictionary_next());
            let gap = largest_difference(&blocks.coordinates().unwrap(), &single.coordinates().unwrap());
            assert!(gap < 1e-10, "{gap:e} {spec:?}");
            // and they continue alike
            blocks.learn_one(&[0.1, 0.2], &[0.2, 0.1]).unwrap();
            single.learn_one(&[0.1, 0.2], &[0.2, 0.1]).unwrap();
            let gap = largest_difference(&blocks.coordinates().unwrap(), &single.coordinates().unwrap());
            assert!(gap < 1e-10, "{gap:e} {spec:?}");
        }
    }
}

#[test]
fn divergence_puts_everything_back() {
    let path = trajectory(8, 4000);
    let (x, next) = pairs(&path);
    for dictionaries in [ald(1e-3, None), DictionariesSpec::Separate(budget(1e-3, 0.0, None))] {
        for replay in [None, Some(ReplaySpec { size: 300, passes: 3, seed: 0 })] {
            let spec = KoopmanSpec {
                kernel: gaussian(),
                dictionaries: dictionaries.clone(),
                learner: gradient(40.0, false),
                replay,
                ..KoopmanSpec::default()
            };
            let mut model = spec.build().unwrap();
            model.learn(x.slice(s![..4, ..]), next.slice(s![..4, ..])).unwrap();
            let before = bytes(&model);
            assert!(matches!(model.learn(x, next), Err(Error::Diverged { .. })));
            assert!(bytes(&model) == before);
            let mut failed = false;
            for (x, next) in x.rows().into_iter().zip(next.rows()) {
                let before = bytes(&model);
                if model.learn_one(&x.to_vec(), &next.to_vec()).is_err() {
                    assert!(bytes(&model) == before);
                    failed = true;
                    break;
                }
            }
            assert!(failed);
        }
    }
}

#[test]
fn a_call_that_was_ended_continues_to_the_bit() {
    let path = trajectory(9, 200);
    let (x, next) = pairs(&path);
    let mut model = every_model()[0].build().unwrap();
    let done = model.learn_while(x, next, |done| done < 20).unwrap();
    assert!((20..100).contains(&done));
    assert_eq!(model.n_seen(), done as u64);
    model.learn(x.slice(s![done.., ..]), next.slice(s![done.., ..])).unwrap();
    let mut whole = every_model()[0].build().unwrap();
    whole.learn(x, next).unwrap();
    assert!(bytes(&model) == bytes(&whole));
}

#[test]
fn replay_gives_every_pair_out_in_another_order() {
    let path = trajectory(10, 40);
    let (x, next) = pairs(&path);
    let spec = |seed| KoopmanSpec {
        kernel: gaussian(),
        dictionaries: DictionariesSpec::Separate(budget(0.0, 0.0, None)),
        learner: gradient(0.2, false),
        replay: Some(ReplaySpec { size: 16, passes: 1, seed }),
        ..KoopmanSpec::default()
    };
    let mut model = spec(1).build().unwrap();
    model.learn(x, next).unwrap();
    assert_eq!((model.n_seen(), model.n_pending()), (40, 8));
    model.flush().unwrap();
    assert_eq!((model.n_seen(), model.n_pending()), (40, 0));
    let order = |rows: Array2<f64>| rows.rows().into_iter().map(|r| r[0].to_bits()).collect::<Vec<_>>();
    let (stored, fed) = (order(model.dictionary()), order(x.to_owned()));
    assert_ne!(stored, fed);
    assert!(stored.iter().all(|row| fed.contains(row)));
    let mut other = spec(2).build().unwrap();
    other.learn(x, next).unwrap();
    assert_ne!(order(other.dictionary()), stored);
}

#[test]
fn wrong_settings_and_files_are_refused() {
    let shared = || ald(1e-2, None);
    let hilbert_schmidt = || DictionariesSpec::Separate(budget(0.1, 0.0, None));
    let with =
        |dictionaries, learner| KoopmanSpec { dictionaries, learner, ..KoopmanSpec::default() }.build();
    assert!(with(shared(), ridge(0.0, 1.0)).is_err());
    assert!(with(hilbert_schmidt(), ridge(1.0, 1.0)).is_err());
    let adaptive = GradientSpec { schedule: Schedule::Adaptive, ..GradientSpec::default() };
    assert!(with(hilbert_schmidt(), LearnerSpec::Gradient(adaptive)).is_err());
    assert!(with(DictionariesSpec::Paired(budget(-1.0, 0.0, None)), gradient(0.1, false)).is_err());
    let replay = Some(ReplaySpec { size: 10, passes: 0, seed: 0 });
    assert!(KoopmanSpec { replay, ..KoopmanSpec::default() }.build().is_err());
    assert!(KoopmanSpec::from_json(r#"{"dictionaries": {"shared": {"type": "nonsense"}}}"#).is_err());

    let empty = KoopmanSpec::default().build().unwrap();
    assert!(matches!(empty.spectrum(), Err(Error::NothingLearned)));
    let path = trajectory(11, 30);
    for spec in every_model() {
        let data = bytes(&learned(&spec, &path));
        for cut in [0, 8, data.len() / 2, data.len() - 1] {
            assert!(matches!(Koopman::from_bytes(&data[..cut]), Err(Error::ModelFile { .. })));
        }
    }
    let stream = presets::kernel_ridge(gaussian(), 1.0).build().unwrap();
    let data = stream.to_bytes(serde_json::Value::Null).unwrap();
    assert!(matches!(Koopman::from_bytes(&data), Err(Error::ModelFile { .. })));
}

#[test]
fn operators_can_be_sent_between_threads() -> Result<()> {
    fn sendable<T: Send + Sync + Clone>(_: &T) {}
    let model = learned(&every_model()[0], &trajectory(12, 20));
    sendable(&model);
    let kernel = Kernel::gaussian(BANDWIDTH)?;
    assert!((kernel.eval(&[0.1, 0.2], &[0.3, 0.9]) - similarity(&[0.1, 0.2], &[0.3, 0.9])).abs() < 1e-15);
    Ok(())
}

#[test]
fn states_too_large_for_least_squares_are_refused_and_the_call_undone() {
    let mut path = trajectory(3, 900);
    let mut refused = 0;
    for scale in [1e2, 1e5, 1e8] {
        path.slice_mut(s![300.., ..]).mapv_inplace(|value| scale * value);
        for kernel in [KernelSpec::Linear {}, KernelSpec::Polynomial { degree: 3, scale: None, offset: 1.0 }]
        {
            let spec = KoopmanSpec {
                kernel,
                dictionaries: ald(1e-3, None),
                learner: ridge(1e-4, 1.0),
                ..KoopmanSpec::default()
            };
            let mut model = spec.build().unwrap();
            let (x, next) = pairs(&path);
            model.learn(x.slice(s![..299, ..]), next.slice(s![..299, ..])).unwrap();
            let before = bytes(&model);
            if model.learn(x.slice(s![300.., ..]), next.slice(s![300.., ..])).is_err() {
                assert!(bytes(&model) == before, "{spec:?} at {scale:e}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}
