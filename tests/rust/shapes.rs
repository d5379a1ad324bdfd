//! Arrays of any shape and numbers of any size: a call is refused, or answered, and never panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kernelstream::control::ControllerSpec;
use kernelstream::dynamics::{Dynamics, DynamicsSpec, find_periods};
use kernelstream::kernel::KernelSpec;
use kernelstream::koopman::{ControlSpec, Koopman, KoopmanSpec, Residual, Truncation};
use kernelstream::uncertainty::{Prequential, Spread};
use kernelstream::{AnyModel, CompleteModel, Merge as _};
use ndarray::{Array1, Array2, Array3, s};

/// What panicked, by the name of the call.
#[derive(Default)]
struct Panics(Vec<String>);

impl Panics {
    fn call<T>(&mut self, name: impl Fn() -> String, act: impl FnOnce() -> T) -> Option<T> {
        let made = catch_unwind(AssertUnwindSafe(act)).ok();
        if made.is_none() {
            self.0.push(name());
        }
        made
    }
}

const VALUES: [f64; 8] = [0.5, 0.0, f64::NAN, f64::INFINITY, 1e300, -1e160, 1e-320, -1.0];

fn filled(n: usize, d: usize, value: f64) -> Array2<f64> {
    Array2::from_shape_fn((n, d), |(i, j)| if i == n / 2 { value } else { 0.3 * i as f64 - 0.1 * j as f64 })
}

fn arrays() -> Vec<Array2<f64>> {
    let mut all: Vec<_> = [(0, 0), (0, 1), (0, 2), (1, 0), (3, 0), (3, 1), (3, 3), (1, 1)]
        .map(|(n, d)| filled(n, d, 0.5))
        .into_iter()
        .collect();
    all.extend(VALUES.map(|value| filled(3, 2, value)));
    all.push(filled(2, 3, 0.2).reversed_axes());
    all
}

/// Every query of a model.
fn ask(model: &(impl CompleteModel + ?Sized), x: &Array2<f64>, panics: &mut Panics, name: &str) {
    let view = x.view();
    let row: Vec<f64> = x.iter().copied().take(x.ncols()).collect();
    let shape = format!("{:?} {:?}", x.dim(), x.iter().nth(x.ncols()));
    macro_rules! ask {
        ($($what:literal: $call:expr),* $(,)?) => {$(
            panics.call(|| format!("{name} {} {shape}", $what), || drop($call));
        )*};
    }
    ask! {
        "predict": model.predict(view),
        "predict_one": model.predict_one(&row),
        "predict_one_into": model.predict_one_into(&row, &mut []),
        "predict_one_into 3": model.predict_one_into(&row, &mut [0.0; 3]),
        "spread": model.predict_with_spread(view, Spread::Interval),
        "deviation": model.predict_with_deviation(view),
        "interval": [0.9, 0.0, 1.0, f64::NAN, -3.0, 1e-300].map(|coverage| model.interval(view, coverage).ok()),
        "novelty": model.novelty(view),
        "gradient": model.gradient(view),
        "transform": model.transform(view),
        "importances": model.importances(),
        "importances_at": model.importances_at(view),
        "diagnostics": (model.quality(), model.diagnostics(), model.mixture(), model.noise(), model.dictionary()),
        "calibration": model.calibration().map(|calibration| {
            let outputs = [0, 1, 7, usize::MAX];
            let coverages = [0.9, 0.0, 1.0, f64::NAN, -3.0, 1e-300];
            (
                outputs.map(|output| coverages.map(|coverage| calibration.half_width(output, coverage).ok())),
                calibration.coverage(),
                calibration.record().all(),
                calibration.record().late(),
            )
        }),
    }
}

const MODELS: [&str; 13] = [
    "{}",
    r#"{"learner": {"type": "gradient"}}"#,
    r#"{"learner": {"type": "online_newton"}, "basis": {"type": "fourier"}}"#,
    r#"{"learner": {"type": "gauss_newton", "loss": "logistic"}, "basis": {"type": "taylor"}}"#,
    r#"{"basis": {"type": "noisy_points"}, "learner": {"type": "interpolation"}}"#,
    r#"{"basis": {"type": "sketched"}}"#,
    r#"{"learner": {"type": "budgeted_gradient"}}"#,
    r#"{"experts": [{}, {"learner": {"type": "gradient"}}]}"#,
    r#"{"adaptive": {}}"#,
    r#"{"columns": {}}"#,
    r#"{"columns": {"gaps": "fill", "named": [{"name": "a"}, {"name": "b", "kind": {"type": "category"}}]}}"#,
    r#"{"columns": {}, "labels": {"classes": ["a", "b", "c"]}}"#,
    r#"{"labels": {"classes": ["a", "b"]}}"#,
];

/// The model before its first row, and after some.
fn states(spec: &str) -> Vec<AnyModel> {
    let model = AnyModel::from_json(spec).unwrap();
    let x = Array2::from_shape_fn((40, 2), |(i, j)| (i as f64 * [0.618, 0.414][j]).fract());
    let x = if spec.contains("category") { x.mapv(|x| (4.0 * x).floor()) } else { x };
    let y = Array2::from_shape_fn((40, 1), |(i, _)| f64::from(i % 2 == 0));
    let mut one = model.clone();
    one.learn(x.slice(s![..1, ..]), y.slice(s![..1, ..])).unwrap();
    let mut many = model.clone();
    many.learn(x.view(), y.view()).unwrap();
    let mut parted = model.clone();
    let both = Array2::from_shape_fn((40, 2), |(i, c)| if (i + c) % 5 == 0 { f64::NAN } else { y[(i, 0)] });
    let parted = parted
        .learn_known(x.view(), both.view(), None, Prequential::default(), &mut |_| true)
        .map(|_| parted);
    [model, one, many].into_iter().chain(parted).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of calls")]
fn models_take_or_refuse_rows_of_any_shape() {
    let mut panics = Panics::default();
    for (spec, (k, state)) in
        MODELS.iter().flat_map(|spec| states(spec).into_iter().enumerate().map(move |s| (spec, s)))
    {
        let name = format!("{spec} {k}");
        for x in &arrays() {
            ask(&*state, x, &mut panics, &name);
            for y in &arrays() {
                let label = || {
                    format!(
                        "{name} learn {:?} {:?} {:?}",
                        x.dim(),
                        y.dim(),
                        (x.iter().nth(2), y.iter().nth(2))
                    )
                };
                let mut model = state.clone();
                panics.call(label, || model.learn_and_predict(x.view(), y.view()).ok());
                if x.nrows() != 3 {
                    continue;
                }
                panics.call(label, || {
                    let mut model = state.clone();
                    let learned =
                        model.learn_known(x.view(), y.view(), None, Prequential::default(), &mut |_| true);
                    model.learn_one_known(&[0.1, f64::NAN], &[f64::NAN, 1.0]).ok();
                    model.learn_one(&[], &[]).ok();
                    learned.ok()
                });
            }
        }
        for weights in [
            vec![],
            vec![1.0; 2],
            vec![0.0; 3],
            vec![1.0, -1.0, 1.0],
            vec![1.0, f64::NAN, 1.0],
            vec![1e300; 3],
            vec![1e-300, 1.0, 5.0],
        ] {
            let (x, y) = (filled(3, 2, 0.5), filled(3, 1, 1.0).mapv(|y| f64::from(y > 0.5)));
            let mut model = state.clone();
            let label = || format!("{name} weights {weights:?}");
            let weights = Array1::from(weights.clone());
            let mut made = Array2::zeros((3, 1));
            panics.call(label, || {
                model
                    .learn_while(x.view(), y.view(), Some(weights.view()), Some(made.view_mut()), &mut |_| {
                        true
                    })
                    .ok()
            });
            ask(&*model, &x, &mut panics, &label());
        }
        for shape in [(0, 0), (3, 0), (2, 1), (3, 2), (3, 1)] {
            let (x, y) = (filled(3, 2, 0.5), Array2::from_shape_fn((3, 1), |(i, _)| f64::from(i % 2 == 0)));
            let mut model = state.clone();
            let [mut predictions, mut deviations, mut probabilities] = [(); 3].map(|()| Array2::zeros(shape));
            let (mut intervals, mut novelties) =
                (Array3::zeros((shape.0, shape.1, 2)), Array1::zeros(shape.0));
            let prequential = Prequential {
                predictions: Some(predictions.view_mut()),
                deviations: Some(deviations.view_mut()),
                spreads: None,
                intervals: Some((0.9, intervals.view_mut())),
                probabilities: Some(probabilities.view_mut()),
                novelties: Some(novelties.view_mut()),
            };
            panics.call(
                || format!("{name} prequential {shape:?}"),
                || model.learn_prequential(x.view(), y.view(), None, prequential, &mut |_| true).ok(),
            );
        }
        panics.call(
            || format!("{name} merge"),
            || {
                let mut model = state.clone();
                model.merge(&[]).ok();
                model.merge(&[&AnyModel::from_json("{}").unwrap()]).ok();
                model.merge(&[&state]).ok();
                model.freeze_dictionary().ok()
            },
        );
        if let Some(table) = state.as_table() {
            for x in &arrays() {
                panics.call(
                    || format!("{name} table {:?}", x.dim()),
                    || {
                        (
                            table.features(x.view()).ok(),
                            table.outputs(x.view()).ok(),
                            table.unknown_categories(x.view()).ok(),
                        )
                    },
                );
                panics.call(
                    || format!("{name} probabilities {:?}", x.dim()),
                    || {
                        (
                            table.probabilities(x.view()).ok(),
                            table.sets(x.view(), 0.9).ok(),
                            table.sets(x.view(), 7.0).ok(),
                        )
                    },
                );
                panics.call(
                    || format!("{name} outputs_one_into"),
                    || table.outputs_one_into(&[0.1, 0.2], &mut [0.0; 9]).ok(),
                );
                if let Some(labels) = table.labels() {
                    panics.call(
                        || format!("{name} labels probabilities {:?}", x.dim()),
                        || labels.probabilities(x.view()).ok(),
                    );
                    for row in x.rows() {
                        panics.call(|| format!("{name} labels choose {row}"), || labels.choose(row));
                    }
                    for code in VALUES {
                        assert!(labels.label(code).is_none_or(|label| labels.code(label).is_some()));
                    }
                }
            }
        }
    }
    assert!(panics.0.is_empty(), "{} panicked:\n{}", panics.0.len(), panics.0.join("\n"));
}

fn operators() -> Vec<Koopman> {
    let x = Array2::from_shape_fn((13, 2), |(t, j)| (t as f64 * 0.3 + j as f64).sin());
    let control = Some(ControlSpec { width: 1, kernel: KernelSpec::default() });
    let mut all = Vec::new();
    for (spec, width) in [(KoopmanSpec::default(), 2), (KoopmanSpec { control, ..KoopmanSpec::default() }, 3)]
    {
        let untrained = spec.build().unwrap();
        let mut trained = untrained.clone();
        let pairs =
            Array2::from_shape_fn((12, width), |(t, j)| if j < 2 { x[(t, j)] } else { 0.1 * (t % 3) as f64 });
        trained.learn(pairs.view(), x.slice(s![1.., ..])).unwrap();
        all.extend([untrained, trained]);
    }
    all
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of calls")]
fn operators_take_or_refuse_states_of_any_shape() {
    let mut panics = Panics::default();
    for (o, model) in operators().into_iter().enumerate() {
        for x in &arrays() {
            let name = |what: &str| format!("{o} {what} {:?} {:?}", x.dim(), x.iter().nth(2));
            let view = x.view();
            for steps in [&[][..], &[0], &[5, 1], &[usize::MAX]] {
                let truncation =
                    [Truncation::default(), Truncation { rank: Some(0), ..Truncation::default() }];
                for truncation in truncation {
                    panics.call(
                        || format!("{} {steps:?}", name("forecast")),
                        || model.forecast(view, steps, truncation).ok(),
                    );
                    panics.call(
                        || format!("{} {steps:?}", name("expectation")),
                        || {
                            model.expectation(view, view, steps, truncation).ok();
                            let values = Array2::ones((model.n_stored().1, x.ncols()));
                            model.expectation(values.view(), filled(3, 2, 0.1).view(), steps, truncation).ok()
                        },
                    );
                    panics.call(
                        || format!("{} {steps:?}", name("embedding")),
                        || model.embedding(view, steps, truncation).ok(),
                    );
                }
                for shape in [
                    (0, 0, 0),
                    (3, 0, 1),
                    (3, 1, 0),
                    (3, 5, 1),
                    (x.nrows(), 5, 1),
                    (x.nrows(), 0, 1),
                    (1, 5, 2),
                ] {
                    let inputs = Array3::from_elem(shape, x.iter().nth(2).copied().unwrap_or(0.1));
                    panics.call(
                        || format!("{} {steps:?} {shape:?}", name("under")),
                        || {
                            model.forecast_under(view, inputs.view(), steps).ok();
                            model.expectation_under(view, view, inputs.view(), steps).ok();
                            model.embedding_under(view, inputs.view(), steps).ok()
                        },
                    );
                }
            }
            for k in [0, 3, usize::MAX] {
                panics.call(
                    || format!("{} {k}", name("eigenfunctions")),
                    || model.eigenfunctions(view, k).ok(),
                );
                panics.call(|| format!("{} {k}", name("left")), || model.left_eigenfunctions(view, k).ok());
                panics.call(
                    || format!("{} {k}", name("modes")),
                    || (model.modes(None, k).ok(), model.modes(Some(view), k).ok()),
                );
                panics.call(
                    || format!("{} {k}", name("singular")),
                    || {
                        (
                            model.singular_functions(view, k, true).ok(),
                            model.singular_functions(view, k, false).ok(),
                        )
                    },
                );
                panics.call(
                    || format!("{k} moments"),
                    || (model.moments(k).ok(), model.influences(k).ok(), model.learned_residuals(k).ok()),
                );
                for y in [filled(3, 2, 0.5), filled(3, 2, f64::NAN), filled(3, 1, 0.5), filled(0, 0, 0.5)] {
                    panics.call(
                        || format!("{} {:?} {k}", name("residuals"), y.dim()),
                        || {
                            (
                                model.residuals(view, y.view(), k, Residual::Raw).ok(),
                                model.risk(view, y.view()).ok(),
                            )
                        },
                    );
                }
            }
            panics.call(
                || name("transform"),
                || {
                    (
                        model.transform(view).ok(),
                        model.novelty(view).ok(),
                        model.likeness().ok(),
                        model.coordinates().ok(),
                    )
                },
            );
            for y in &arrays() {
                panics.call(
                    || format!("{} {:?}", name("learn"), y.dim()),
                    || {
                        let mut model = model.clone();
                        model.learn(view, y.view()).ok();
                        model.learn_one(&[], &[]).ok();
                        model
                            .learn_weighted_while(view, y.view(), Some(Array1::ones(2).view()), |_| true)
                            .ok();
                        model.flush().ok()
                    },
                );
            }
        }
        panics.call(
            || format!("{o} spectrum"),
            || {
                let spectrum = model.spectrum().ok()?;
                for k in [0, 1, 1000, usize::MAX] {
                    spectrum.duals(k).ok();
                    assert!(spectrum.whole(k) <= spectrum.values().len());
                }
                Some(())
            },
        );
    }
    assert!(panics.0.is_empty(), "{} panicked:\n{}", panics.0.len(), panics.0.join("\n"));
}

fn dynamics() -> Vec<(String, Dynamics)> {
    let x = Array2::from_shape_fn((24, 2), |(t, j)| (t as f64 * 0.3 + j as f64).sin());
    let automatic = DynamicsSpec::automatic;
    let horizons = || DynamicsSpec { horizons: vec![1, 3], ..automatic() };
    let delays = || {
        let mut spec = horizons();
        spec.delays.count = 2;
        spec
    };
    let specs = [("automatic", automatic()), ("horizons", horizons()), ("delays", delays())];
    let mut all = Vec::new();
    for (name, spec) in specs {
        let untrained = spec.build().unwrap();
        let mut trained = untrained.clone();
        trained.follow(x.view(), 1, false).unwrap();
        all.push((format!("{name} untrained"), untrained));
        all.push((format!("{name} trained"), trained));
    }
    all
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of calls")]
fn dynamics_take_or_refuse_states_of_any_shape() {
    let mut panics = Panics::default();
    for (what, model) in dynamics() {
        for x in &arrays() {
            let name = |call: &str| format!("{what} {call} {:?} {:?}", x.dim(), x.iter().nth(2));
            let view = x.view();
            for lag in [0, 1, 2, usize::MAX] {
                for continued in [false, true] {
                    panics.call(
                        || format!("{} {lag}", name("follow")),
                        || {
                            let mut model = model.clone();
                            model.check_trajectory(view, lag, continued).ok();
                            let followed = model.follow(view, lag, continued).is_ok();
                            model.pass_over(usize::MAX);
                            followed && model.follow(view, 1, true).is_ok()
                        },
                    );
                }
                panics.call(
                    || format!("{} {lag}", name("forecast_rows")),
                    || model.forecast_rows(view, lag).ok(),
                );
                for (states, under) in
                    [(None, None), (Some(view), None), (None, Some(view)), (Some(view), Some(view))]
                {
                    for first in [0, 1, usize::MAX] {
                        panics.call(
                            || format!("{} {lag} {first} {}", name("ahead"), states.is_some()),
                            || {
                                model.ahead(states, under, lag, first).ok();
                                model.ahead_intervals(states, under, lag, first, 0.9).ok();
                                model.ahead_intervals(states, under, lag, first, f64::NAN).ok()
                            },
                        );
                    }
                }
                panics.call(|| format!("{} {lag}", name("ahead_weights")), || model.ahead_weights(lag).ok());
            }
            panics.call(
                || name("forecasts"),
                || {
                    (
                        model.forecasts(view).ok(),
                        model.forecast_intervals(view, 0.9).ok(),
                        model.forecast_intervals(view, -1.0).ok(),
                    )
                },
            );
            panics.call(|| name("embed"), || model.embed(view).ok());
            panics.call(|| name("resume"), || model.clone().resume_trajectory(view).ok());
            for steps in [&[][..], &[0], &[5, 1], &[usize::MAX]] {
                panics.call(
                    || format!("{} {steps:?}", name("forecast")),
                    || {
                        model.forecast(view, steps, Truncation::default()).ok();
                        model.forecast_and_judge(view, steps, Truncation::default()).ok()
                    },
                );
                panics.call(
                    || format!("{} {steps:?}", name("expectation")),
                    || {
                        model.expectation(view, view, steps, Truncation::default()).ok();
                        model.embedding(view, steps, Truncation::default()).ok();
                        for shape in [(0, 0, 0), (3, 0, 1), (3, 5, 1), (x.nrows(), 5, 1)] {
                            model.forecast_under(view, Array3::zeros(shape).view(), steps).ok();
                        }
                    },
                );
            }
            for k in [0, 2, 1000] {
                panics.call(
                    || format!("{} {k}", name("eigen")),
                    || {
                        model.eigenfunctions(view, k).ok();
                        model.left_eigenfunctions(view, k).ok();
                        model.modes(None, k).ok();
                        model.modes(Some(view), k).ok();
                        model.singular_functions(view, k, true).ok();
                        model.moments(k).ok();
                        model.influences(k).ok();
                        model.learned_residuals(k).ok();
                        model.residuals(view, view, k, Residual::Raw).ok()
                    },
                );
            }
            for y in &arrays() {
                panics.call(
                    || format!("{} {:?}", name("learn"), y.dim()),
                    || {
                        let mut model = model.clone();
                        model.check_pairs(view, y.view()).ok();
                        model.learn(view, y.view()).ok();
                        model.learn_one(&[], &[]).ok();
                        model.risk(view, y.view()).ok();
                        model.flush().ok()
                    },
                );
            }
        }
        panics.call(
            || what.clone(),
            || {
                model.forecast_deviations().ok();
                model.forecast_weights().ok();
                model.ahead_deviations().ok();
                model.latest().ok();
                drop(model.periods());
                model.singular_values().ok();
                (
                    model.dictionary(),
                    model.dictionary_next(),
                    model.units().center(),
                    model.units().deviation(),
                )
            },
        );
    }
    for n in [0, 1, 2, 3, 50] {
        for value in VALUES {
            let values: Vec<f64> =
                (0..n).map(|i| if i == n / 2 { value } else { (i as f64).sin() }).collect();
            panics.call(|| format!("find_periods {n} {value}"), || find_periods(&values));
            panics.call(|| format!("find_periods {n} times {value}"), || find_periods(&vec![value; n]));
        }
    }
    assert!(panics.0.is_empty(), "{} panicked:\n{}", panics.0.len(), panics.0.join("\n"));
}

#[test]
fn controllers_take_or_refuse_costs_of_any_shape() {
    let mut panics = Panics::default();
    for actions in [vec![], vec![vec![]], vec![vec![0.1], vec![]], vec![vec![f64::NAN]], vec![vec![1e300]]] {
        panics.call(|| format!("{actions:?}"), || ControllerSpec::new(actions.clone()).build().ok());
    }
    let untrained = ControllerSpec::new(vec![vec![-0.1], vec![0.1]]).build().unwrap();
    let mut trained = untrained.clone();
    let x = Array2::from_shape_fn(
        (40, 3),
        |(i, j)| if j < 2 { (i as f64 * [0.618, 0.414][j]).fract() } else { 0.1 },
    );
    trained.learn(x.view(), (&x.slice(s![.., ..2]) + 0.1).view()).unwrap();
    let mut improved = trained.clone();
    improved.improve(Array2::zeros((improved.states().nrows(), 2)).view(), None).unwrap();
    for (k, controller) in [untrained, trained, improved].into_iter().enumerate() {
        for costs in &arrays() {
            let label = |what: &str| format!("{k} {what} {:?} {:?}", costs.dim(), costs.iter().nth(2));
            for ends in [None, Some(&[][..]), Some(&[true; 3])] {
                panics.call(|| label("improve"), || controller.clone().improve(costs.view(), ends).ok());
            }
            for score in VALUES {
                panics.call(|| label("keep"), || controller.clone().keep(score).ok());
            }
            if let Some(policy) = controller.policy() {
                for x in &arrays() {
                    panics.call(
                        || label("policy"),
                        || {
                            policy.expected(x.view()).ok();
                            policy.action_values(x.view(), costs.view()).ok();
                            policy.values(x.view(), costs.view()).ok();
                            policy.greedy(x.view(), costs.view()).ok();
                            policy.epsilon_greedy(x.view(), costs.view(), 1.0, || f64::NAN).ok();
                            policy.epsilon_greedy(x.view(), costs.view(), 1.0, || -5.0).ok()
                        },
                    );
                }
            }
        }
    }
    assert!(panics.0.is_empty(), "{} panicked:\n{}", panics.0.len(), panics.0.join("\n"));
}
