//! Operators with inputs and controllers against plain dense versions written here.

use faer::linalg::solvers::Solve as _;
use faer::{Mat, Side};
use kernelstream::basis::BasisSpec;
use kernelstream::control::{Controller, ControllerSpec};
use kernelstream::kernel::KernelSpec;
use kernelstream::koopman::{
    AdmissionSpec, ControlSpec, DictionariesSpec, HilbertSchmidt, KoopmanSpec, ReplaySpec, Residual,
    Truncation,
};
use kernelstream::learner::{GradientSpec, LearnerSpec, Loss, RidgeSpec, Schedule};
use kernelstream::{Error, Persist as _};
use ndarray::{Array2, Array3, ArrayView2, Axis, concatenate, s};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const REGULARIZATION: f64 = 1e-3;

fn states() -> KernelSpec {
    KernelSpec::Matern52 { bandwidth: Some(1.1) }
}

/// Affine in the input.
fn inputs() -> KernelSpec {
    KernelSpec::Polynomial { degree: 1, scale: Some(2.0), offset: 1.0 }
}

/// The similarity of two states followed by an input of one number, written out.
fn similarity(x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Mat<f64> {
    Mat::from_fn(x.nrows(), y.nrows(), |i, j| {
        let r2: f64 = (0..2).map(|c| (x[[i, c]] - y[[j, c]]).powi(2)).sum();
        let r = (5.0 * r2).sqrt() / 1.1;
        (1.0 + r + r * r / 3.0) * (-r).exp() * (2.0 * x[[i, 2]] * y[[j, 2]] + 1.0)
    })
}

fn ald(tolerance: f64, max_size: Option<usize>) -> DictionariesSpec {
    DictionariesSpec::Shared(BasisSpec::Ald { tolerance, max_size, loss_driven: false })
}

fn ridge() -> LearnerSpec {
    LearnerSpec::Ridge(RidgeSpec { regularization: REGULARIZATION, ..RidgeSpec::default() })
}

fn gradient() -> LearnerSpec {
    LearnerSpec::Gradient(GradientSpec {
        loss: Loss::HalfSquared,
        step: Some(0.2),
        schedule: Schedule::Power { half_life: 50.0, exponent: 0.5 },
        regularization: 1e-3,
        averaging: true,
        radius: None,
    })
}

fn model(dictionaries: DictionariesSpec, learner: LearnerSpec) -> KoopmanSpec {
    KoopmanSpec {
        kernel: states(),
        dictionaries,
        learner,
        control: Some(ControlSpec { width: 1, kernel: inputs() }),
        ..KoopmanSpec::default()
    }
}

fn every_model() -> Vec<KoopmanSpec> {
    let rule = |budget| {
        AdmissionSpec::HilbertSchmidt(HilbertSchmidt {
            budget,
            power: 0.0,
            max_size: None,
            pivot_floor: 1e-10,
        })
    };
    let replay = Some(ReplaySpec { size: 90, passes: 2, seed: 3 });
    vec![
        model(ald(1e-4, None), ridge()),
        model(ald(1e-3, Some(60)), gradient()),
        model(DictionariesSpec::Separate(rule(0.01)), gradient()),
        KoopmanSpec { replay, ..model(DictionariesSpec::Paired(rule(0.02)), gradient()) },
    ]
}

/// States (n, 2) with an input each, and the states that follow: a turn that the input pushes.
fn transitions(seed: u64, n: usize) -> (Array2<f64>, Array2<f64>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let x = Array2::from_shape_fn((n, 3), |_| rng.random_range(-1.0_f64..1.0));
    let next = Array2::from_shape_fn((n, 2), |(i, c)| {
        let (a, b, u) = (x[[i, 0]], x[[i, 1]], x[[i, 2]]);
        let noise = rng.random_range(-0.05_f64..0.05);
        noise + if c == 0 { 0.8 * a - 0.4 * b } else { 0.4 * a + 0.8 * b + 0.5 * u * (1.0 - a * a) }
    });
    (x, next)
}

fn largest_difference(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Weights (pairs, rows of `x`) of the conditional mean embedding that kernel ridge regression of all
/// pairs gives.
fn embedding(pairs: &Array2<f64>, x: ArrayView2<'_, f64>) -> Mat<f64> {
    let mut gram = similarity(pairs.view(), pairs.view());
    (0..gram.nrows()).for_each(|i| gram[(i, i)] += REGULARIZATION);
    gram.llt(Side::Lower).unwrap().solve(similarity(pairs.view(), x))
}

#[test]
fn least_squares_with_inputs_is_the_textbook_embedding() {
    // Every point is stored, so that nothing is projected.
    let (x, next) = transitions(1, 40);
    let mut model = model(ald(1e-9, None), ridge()).build().unwrap();
    model.learn(x.view(), next.view()).unwrap();
    assert_eq!((model.n_features(), model.n_controls()), (Some(2), 1));
    let stored = (model.dictionary(), model.dictionary_next());
    assert_eq!((stored.0.dim(), stored.1.dim()), ((40, 3), (40, 2)));

    let (start, _) = transitions(2, 7);
    let steps = Array3::from_shape_fn((7, 3, 1), |(i, n, _)| start[[(i + n) % 7, 2]]);
    let weights = model.embedding_under(start.slice(s![.., ..2]), steps.view(), &[1, 2, 3]).unwrap();
    // The next step's embedding from each stored output under each row's input, by hand.
    let under = |u: f64| {
        let input = Array2::from_elem((40, 1), u);
        let joint = concatenate![Axis(1), stored.1, input];
        embedding(&x, joint.view())
    };
    for i in 0..7 {
        let mut first = start.row(i).to_owned();
        first[2] = steps[[i, 0, 0]];
        let mut truth = embedding(&x, first.view().insert_axis(Axis(0)));
        for n in 0..3 {
            if n > 0 {
                truth = under(steps[[i, n, 0]]) * truth;
            }
            for j in 0..40 {
                let gap = (weights[[n, i, j]] - truth[(j, 0)]).abs();
                assert!(gap < 1e-6, "step {n}, row {i}, output {j}: {gap:e}");
            }
        }
    }
    // An expectation is the weighted sum; one sequence may serve all rows; the first step is as without
    // a sequence.
    let values = Array2::from_shape_fn((40, 2), |(i, c)| stored.1[[i, c]].sin());
    let one = steps.slice(s![..1, .., ..]);
    let x0 = start.slice(s![.., ..2]);
    let expected = model.expectation_under(values.view(), x0, one, &[3]).unwrap();
    let weights = model.embedding_under(x0, one, &[3]).unwrap();
    let sum = weights.index_axis(Axis(0), 0).dot(&values);
    assert!(largest_difference(&expected.index_axis(Axis(0), 0).to_owned(), &sum) < 1e-9);
    let mut joint = start.clone();
    joint.column_mut(2).assign(&steps.slice(s![.., 0, 0]));
    let plain = model.forecast(joint.view(), &[1], Truncation::default()).unwrap();
    let under = model.forecast_under(x0, steps.view(), &[1]).unwrap();
    assert_eq!(plain, under);
}

#[test]
fn blocks_chunks_and_files_change_nothing() {
    let (x, next) = transitions(3, 900);
    for spec in every_model() {
        let mut blocks = spec.build().unwrap();
        blocks.learn(x.view(), next.view()).unwrap();
        let mut single = spec.build().unwrap();
        for (x, next) in x.rows().into_iter().zip(next.rows()) {
            single.learn_one(&x.to_vec(), &next.to_vec()).unwrap();
        }
        assert!(blocks.n_stored().0 > 25, "{spec:?} {:?}", blocks.n_stored());
        assert_eq!(
            (blocks.dictionary(), blocks.dictionary_next()),
            (single.dictionary(), single.dictionary_next())
        );
        assert!(
            largest_difference(&blocks.coordinates().unwrap(), &single.coordinates().unwrap()) < 1e-9,
            "{spec:?}"
        );

        let bytes = single.to_bytes(serde_json::Value::Null).unwrap();
        let (mut again, _) = kernelstream::koopman::Koopman::from_bytes(&bytes).unwrap();
        assert!(again.to_bytes(serde_json::Value::Null).unwrap() == bytes);
        again.learn(x.slice(s![..50, ..]), next.slice(s![..50, ..])).unwrap();
        single.learn(x.slice(s![..50, ..]), next.slice(s![..50, ..])).unwrap();
        assert!(again.coordinates().unwrap() == single.coordinates().unwrap());
    }
}

#[test]
fn questions_without_inputs_are_refused() {
    let (x, next) = transitions(4, 100);
    let mut model = every_model()[0].build().unwrap();
    model.learn(x.view(), next.view()).unwrap();
    assert!(matches!(model.spectrum(), Err(Error::Inputs)));
    assert!(matches!(model.eigenfunctions(x.view(), 2), Err(Error::Inputs)));
    assert!(matches!(model.modes(None, 2), Err(Error::Inputs)));
    assert!(matches!(model.residuals(x.view(), next.view(), 2, Residual::default()), Err(Error::Inputs)));
    assert!(matches!(model.forecast(x.view(), &[2], Truncation::default()), Err(Error::Inputs)));
    let sequence = Array3::zeros((1, 2, 1));
    let states = x.slice(s![.., ..2]);
    let message = model.forecast_under(states, sequence.view(), &[3]).unwrap_err().to_string();
    assert!(message.contains("number of inputs"), "{message}");
    let wide = Array3::zeros((1, 2, 2));
    assert!(matches!(
        model.forecast_under(states, wide.view(), &[1]),
        Err(Error::WrongWidth { what: "inputs", expected: 1, found: 2 })
    ));
    // and inputs where there are none
    let mut plain = KoopmanSpec::default().build().unwrap();
    plain.learn(states, next.view()).unwrap();
    let message = plain.forecast_under(states, sequence.view(), &[1]).unwrap_err().to_string();
    assert!(message.contains("n_inputs"), "{message}");
}

#[test]
fn a_bad_row_is_named_and_changes_nothing() {
    let (x, next) = transitions(5, 60);
    for spec in every_model() {
        let mut model = spec.build().unwrap();
        model.learn(x.slice(s![..30, ..]), next.slice(s![..30, ..])).unwrap();
        let before = model.to_bytes(serde_json::Value::Null).unwrap();
        for (row, column, what) in [(7, 1, "X"), (9, 2, "inputs")] {
            let mut bad = x.clone();
            bad[[row, column]] = f64::NAN;
            let message = model.learn(bad.view(), next.view()).unwrap_err().to_string();
            assert!(message.starts_with(what) && message.contains(&format!("row {row}")), "{message}");
        }
        let narrow = x.slice(s![.., ..2]);
        assert!(matches!(model.learn(narrow, next.view()), Err(Error::WrongWidth { expected: 3, .. })));
        assert!(model.learn(x.view(), x.view()).is_err());
        assert!(model.to_bytes(serde_json::Value::Null).unwrap() == before);
    }
}

fn untrained() -> ControllerSpec {
    ControllerSpec {
        model: model(ald(1e-2, Some(60)), ridge()),
        discount: 0.9,
        sweeps: 40,
        tolerance: 0.0,
        ..ControllerSpec::new(vec![vec![-1.0], vec![0.0], vec![0.7]])
    }
}

fn costs(states: &Array2<f64>, actions: ArrayView2<'_, f64>) -> Array2<f64> {
    Array2::from_shape_fn((states.nrows(), actions.nrows()), |(i, a)| {
        let (x, y) = (states[[i, 0]] - 0.3, states[[i, 1]]);
        x * x + 0.5 * y * y + 0.1 * actions[[a, 0]].powi(2)
    })
}

fn trained() -> Controller {
    let (x, next) = transitions(6, 400);
    let mut controller = untrained().build().unwrap();
    controller.learn(x.view(), next.view()).unwrap();
    controller
}

#[test]
fn value_iteration_is_the_textbook_loop() {
    let mut controller = trained();
    let states = controller.states();
    let (m, actions) = (states.nrows(), controller.actions().to_owned());
    let cost = costs(&states, actions.view());
    let ends: Vec<bool> = (0..m).map(|i| i % 11 == 3).collect();
    // The embedding of every stored next state under every action, straight from the model.
    let steps: Vec<Array2<f64>> = (0..3)
        .map(|a| {
            let input = Array2::from_elem((m, 1), actions[[a, 0]]);
            let joint = concatenate![Axis(1), states, input];
            let all = controller.model().embedding(joint.view(), &[1], Truncation::default()).unwrap();
            all.index_axis(Axis(0), 0).to_owned()
        })
        .collect();
    let high = cost.iter().copied().fold(0.0, f64::max) / (1.0 - 0.9);
    let sweep = |values: &Vec<f64>| -> Vec<f64> {
        (0..m)
            .map(|i| {
                let of_action = |a: usize| {
                    let next: f64 = (0..m).map(|j| steps[a][[i, j]] * values[j]).sum();
                    cost[[i, a]] + 0.9 * next
                };
                let least = (0..3).map(of_action).fold(f64::INFINITY, f64::min);
                if ends[i] { 0.0 } else { least.clamp(0.0, high) }
            })
            .collect()
    };
    let mut values = vec![0.0; m];
    let mut last = values.clone();
    for _ in 0..40 {
        let swept = sweep(&values);
        last = std::mem::replace(&mut values, swept);
    }
    let made = controller.improve(cost.view(), Some(&ends)).unwrap();
    assert_eq!((made.sweeps, made.bounds), (40, (0.0, high)));
    let gap = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(gap(controller.values(), &values) < 1e-8 * high);
    assert!((made.change - gap(&values, &last)).abs() < 1e-8 * high);

    // Any state: what its actions lead to, by the embedding from there.
    let (x, _) = transitions(7, 300);
    let x = x.slice(s![.., ..2]).to_owned();
    let policy = controller.policy().unwrap();
    let of_x = costs(&x, actions.view());
    let found = policy.action_values(x.view(), of_x.view()).unwrap();
    for a in 0..3 {
        let joint = concatenate![Axis(1), x, Array2::from_elem((300, 1), actions[[a, 0]])];
        let weights = controller.model().embedding(joint.view(), &[1], Truncation::default()).unwrap();
        for i in 0..300 {
            let next: f64 = (0..m).map(|j| weights[[0, i, j]] * values[j]).sum();
            assert!((found[[i, a]] - (of_x[[i, a]] + 0.9 * next)).abs() < 1e-7 * high);
        }
    }
    let greedy = policy.greedy(x.view(), of_x.view()).unwrap();
    for i in 0..300 {
        let row = found.row(i);
        assert!(row.iter().all(|v| row[greedy[i]] <= *v));
        // One by one is as all together.
        let one = policy.greedy(x.slice(s![i..=i, ..]), of_x.slice(s![i..=i, ..])).unwrap();
        assert_eq!(one, [greedy[i]]);
    }

    // A warm start continues from there.
    controller.improve(cost.view(), Some(&ends)).unwrap();
    for _ in 0..40 {
        values = sweep(&values);
    }
    assert!(gap(controller.values(), &values) < 1e-8 * high);
}

#[test]
fn controllers_cross_threads() {
    fn sendable<T: Send + Sync + Clone>(_: &T) {}
    let controller = trained();
    sendable(&controller);
}

#[test]
fn exploration_is_as_frequent_as_asked_for_and_repeats_with_its_seed() {
    let mut controller = trained();
    let cost = costs(&controller.states(), controller.actions());
    controller.improve(cost.view(), None).unwrap();
    let policy = controller.policy().unwrap();
    let x = Array2::from_elem((30_000, 2), 0.2);
    let of_x = costs(&x, policy.actions());
    let best = policy.greedy(x.slice(s![..1, ..]), of_x.slice(s![..1, ..])).unwrap()[0];
    let explore = |seed| {
        let mut rng = StdRng::seed_from_u64(seed);
        policy.epsilon_greedy(x.view(), of_x.view(), 0.3, || rng.random::<f64>()).unwrap()
    };
    let chosen = explore(1);
    assert_eq!(chosen, explore(1));
    assert_ne!(chosen, explore(2));
    for action in 0..3 {
        let share = chosen.iter().filter(|a| **a == action).count() as f64 / 30_000.0;
        let expected = 0.1 + if action == best { 0.7 } else { 0.0 };
        assert!((share - expected).abs() < 0.01, "{action}: {share}");
    }
    assert!(policy.epsilon_greedy(x.view(), of_x.view(), 1.5, || 0.0).is_err());
}

#[test]
fn the_best_policy_is_kept_and_files_hold_everything() {
    let mut controller = trained();
    assert!(controller.keep(1.0).is_err(), "there is no policy yet");
    let actions = controller.actions().to_owned();
    controller.improve(costs(&controller.states(), actions.view()).view(), None).unwrap();
    assert!(controller.keep(-3.0).unwrap());
    let first = controller.policy().unwrap().clone();
    let (x, next) = transitions(8, 200);
    controller.learn(x.view(), next.view()).unwrap();
    controller.improve(costs(&controller.states(), actions.view()).view(), None).unwrap();
    assert!(!controller.keep(-4.0).unwrap());
    assert!(controller.keep(f64::NAN).is_err());
    let states = x.slice(s![.., ..2]);
    let (kept, score) = controller.kept().unwrap();
    assert_eq!(score.to_bits(), (-3.0_f64).to_bits());
    assert_eq!(kept.expected(states).unwrap(), first.expected(states).unwrap());
    assert_ne!(controller.policy().unwrap().expected(states).unwrap(), first.expected(states).unwrap());

    let extra = serde_json::json!({"note": 1});
    let bytes = controller.to_bytes(extra.clone()).unwrap();
    let (mut again, found) = Controller::from_bytes(&bytes).unwrap();
    assert_eq!(found, extra);
    assert!(again.to_bytes(extra).unwrap() == bytes);
    let cost = costs(&controller.states(), actions.view());
    again.improve(cost.view(), None).unwrap();
    controller.improve(cost.view(), None).unwrap();
    assert!(again.values() == controller.values());
    assert!(Controller::from_bytes(&bytes[..bytes.len() - 9]).is_err());
    assert!(kernelstream::koopman::Koopman::from_bytes(&bytes).is_err());
}

#[test]
fn bad_costs_and_parameters_are_named_and_change_nothing() {
    let mut controller = trained();
    let cost = costs(&controller.states(), controller.actions());
    controller.improve(cost.view(), None).unwrap();
    let before = controller.to_bytes(serde_json::Value::Null).unwrap();
    let mut bad = cost.clone();
    bad[[4, 1]] = f64::NAN;
    let message = controller.improve(bad.view(), None).unwrap_err().to_string();
    assert!(message.contains("cost contains NaN at row 4, column 1"), "{message}");
    assert!(controller.improve(cost.slice(s![..-1, ..]), None).is_err());
    assert!(controller.improve(cost.slice(s![.., ..2]), None).is_err());
    assert!(controller.improve(cost.view(), Some(&[true])).is_err());
    assert!(controller.to_bytes(serde_json::Value::Null).unwrap() == before);
    let policy = controller.policy().unwrap();
    assert!(policy.greedy(Array2::zeros((2, 3)).view(), cost.slice(s![..2, ..])).is_err());
    assert!(policy.greedy(Array2::from_elem((1, 2), f64::NAN).view(), cost.slice(s![..1, ..])).is_err());

    assert!(matches!(trained().improve(cost.slice(s![..0, ..]), None), Err(Error::LengthMismatch { .. })));
    assert!(matches!(
        controller_of(|spec| spec.discount = 1.0),
        Err(Error::InvalidParameter { name: "discount", .. })
    ));
    assert!(controller_of(|spec| spec.actions.clear()).is_err());
    assert!(controller_of(|spec| spec.actions[1] = vec![0.0, 1.0]).is_err());
    assert!(controller_of(|spec| spec.actions[1] = vec![f64::INFINITY]).is_err());
    assert!(controller_of(|spec| spec.sweeps = 0).is_err());
    assert!(controller_of(|spec| spec.model.control = None).is_err());
    assert!(matches!(untrained().build().unwrap().improve(cost.view(), None), Err(Error::NothingLearned)));
}

fn controller_of(change: impl FnOnce(&mut ControllerSpec)) -> kernelstream::Result<Controller> {
    let mut spec = untrained();
    change(&mut spec);
    spec.build()
}
