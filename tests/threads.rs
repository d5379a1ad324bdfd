//! Forecasts are the same to the bit whatever the number of threads.

use std::num::NonZeroUsize;

use kernelstream::AnyModel;
use kernelstream::koopman::{Koopman, KoopmanSpec, Truncation};
use kernelstream::threads::{num_threads, set_num_threads};
use ndarray::{Array2, Axis};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn bits<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> Vec<u64> {
    numbers.into_iter().map(|v| v.to_bits()).collect()
}

#[test]
fn predictions_do_not_depend_on_the_number_of_threads() {
    let mut rng = StdRng::seed_from_u64(3);
    let x = Array2::from_shape_simple_fn((2_000, 4), || rng.random_range(-1.0_f64..1.0));
    let y = x.map_axis(Axis(1), |row| row.sum().sin()).insert_axis(Axis(1));

    let specs = [
        r#"{"basis": {"type": "ald", "tolerance": 1e-3, "max_size": 60}, "learner": {"type": "ridge"}}"#,
        r#"{"learner": {"type": "budgeted_gradient", "removal": {"project": 0.1}}}"#,
    ];
    let mut models = specs.map(|spec| AnyModel::from_json(spec).expect("a sound specification"));
    for model in &mut models {
        model.learn_while(x.view(), y.view(), None, None, &mut |_| true).expect("sound rows");
    }
    let mut koopman = Koopman::new(KoopmanSpec::default()).expect("sound parameters");
    koopman.learn(x.view(), (&x * 0.9).view()).expect("sound pairs");

    let predictions = |threads: usize| {
        set_num_threads(NonZeroUsize::new(threads));
        assert_eq!(num_threads().get(), threads);
        let mut all = Vec::new();
        for model in &models {
            all.push(bits(&model.predict(x.view()).expect("sound rows")));
            all.push(bits(&model.transform(x.view()).expect("sound rows")));
        }
        let ahead = koopman.forecast(x.view(), &[1, 3], Truncation::default()).expect("sound rows");
        all.push(bits(&ahead));
        all.push(bits(&koopman.transform(x.view()).expect("sound rows")));
        for values in [koopman.eigenfunctions(x.view(), 3), koopman.left_eigenfunctions(x.view(), 3)] {
            all.push(
                values.expect("sound rows").iter().flat_map(|v| [v.re.to_bits(), v.im.to_bits()]).collect(),
            );
        }
        all
    };
    let one = predictions(1);
    for threads in [2, 3, 7] {
        assert!(predictions(threads) == one, "{threads} threads differ from one");
    }
    set_num_threads(None);
}
