//! In steady state no row allocates: scratch lives in the models, sized when they grow. What a call or a
//! block of rows allocates does not depend on how many rows there are in it.

use allocation_counter::measure;
use kernelstream::basis::BasisSpec;
use kernelstream::budget::presets;
use kernelstream::experts::{Experts, MixtureSpec};
use kernelstream::kernel::KernelSpec;
use kernelstream::koopman::{DictionariesSpec, Koopman, KoopmanSpec};
use kernelstream::learner::{
    GaussNewtonSpec, GradientSpec, LearnerSpec, Loss, OnlineNewtonSpec, RidgeSpec, Schedule,
};
use kernelstream::model::{Introspection as _, Model};
use kernelstream::stream::{AnyStream, ModelSpec};
use kernelstream::threads::set_num_threads;
use ndarray::{Array2, s};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const WIDTH: usize = 8;
const ROWS: usize = 1024;

/// Below and above the number of coordinates from which on rows are learned in blocks.
const SIZES: [usize; 2] = [4, 100];

fn kernels() -> Vec<KernelSpec> {
    let gaussian = KernelSpec::Gaussian { bandwidth: Some(1.0) };
    let matern = KernelSpec::Matern32 { bandwidth: Some(2.0) };
    let polynomial = KernelSpec::Polynomial { degree: 2, scale: None, offset: 1.0 };
    let sum = KernelSpec::Sum { weights: vec![0.5, 0.5], kernels: vec![matern, polynomial] };
    vec![gaussian, sum]
}

fn learners() -> Vec<LearnerSpec> {
    vec![
        LearnerSpec::Ridge(RidgeSpec::default()),
        LearnerSpec::Ridge(RidgeSpec { forgetting: 0.999, ..RidgeSpec::default() }),
        LearnerSpec::OnlineNewton(OnlineNewtonSpec::default()),
        LearnerSpec::Gradient(GradientSpec { schedule: Schedule::Adaptive, ..GradientSpec::default() }),
        LearnerSpec::GaussNewton(GaussNewtonSpec::default()),
    ]
}

fn rows(seed: u64) -> Array2<f64> {
    let mut rng = StdRng::seed_from_u64(seed);
    Array2::from_shape_simple_fn((ROWS, WIDTH), || rng.random_range(-1.0..1.0))
}

fn targets(x: &Array2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((ROWS, 1), |(i, _)| x.row(i).sum().sin().signum())
}

fn first_points(size: usize) -> BasisSpec {
    BasisSpec::FirstPoints { size, loss_driven: false, rank: None }
}

/// A model that stores `size` points, has learned rows in every way, and will store no more.
fn grown(kernel: KernelSpec, learner: LearnerSpec, size: usize) -> AnyStream {
    let mut model =
        ModelSpec { kernel, basis: first_points(size), learner }.build().expect("sound parameters");
    let x = rows(1);
    model.learn(x.view(), targets(&x).view()).expect("sound rows");
    model.learn_one(&[0.0; WIDTH], &[1.0]).expect("a sound row");
    assert_eq!(model.n_stored(), size);
    model
}

fn count(act: impl FnOnce()) -> u64 {
    measure(act).count_total
}

#[test]
fn the_counter_counts() {
    assert_eq!(count(|| drop(std::hint::black_box(vec![0_u8; 100]))), 1);
}

/// What it allocates to predict and learn rows one by one.
fn one_by_one(model: &mut dyn Model, x: &Array2<f64>, y: &Array2<f64>) -> u64 {
    count(|| {
        for (x, y) in x.outer_iter().zip(y.outer_iter()) {
            let (Some(x), Some(y)) = (x.as_slice(), y.as_slice()) else { return };
            model.predict_one_into(x, &mut [0.0]).expect("a sound row");
            model.learn_one(x, y).expect("a sound row");
        }
    })
}

#[test]
fn one_row_learned_or_predicted_allocates_nothing() {
    let x = rows(2);
    let y = targets(&x);
    for size in SIZES {
        for (kernel, learner) in kernels().iter().flat_map(|k| learners().into_iter().map(move |l| (k, l))) {
            let mut model = grown(kernel.clone(), learner.clone(), size);
            model.predict_one_into(&[0.0; WIDTH], &mut [0.0]).expect("a sound row");
            let found = one_by_one(&mut model, &x, &y);
            assert_eq!(found, 0, "{learner:?} with {size} points of {kernel:?}");
        }
    }
}

/// Rows that are learned together (see `Stream`), and the most that they may allocate together.
const BLOCK: u64 = 48;
const PER_BLOCK: u64 = 32;

/// What `ROWS / 2` rows more of a call allocate, given a function that learns some.
fn growth(mut learn: impl FnMut(usize)) -> u64 {
    let few = count(|| learn(ROWS / 2));
    count(|| learn(ROWS)).saturating_sub(few)
}

/// That of a model that learns these rows.
fn of_more_rows(model: &mut dyn Model, x: &Array2<f64>, y: &Array2<f64>) -> u64 {
    growth(|n| model.learn(x.slice(s![..n, ..]), y.slice(s![..n, ..])).expect("sound rows"))
}

/// The most that `ROWS / 2` rows more may allocate: nothing where they go row by row.
fn allowed(size: usize) -> u64 {
    if size == SIZES[0] { 0 } else { PER_BLOCK * (ROWS as u64 / 2) / BLOCK }
}

#[test]
fn many_rows_in_a_call_allocate_by_the_block() {
    let x = rows(3);
    let y = targets(&x);
    for size in SIZES {
        for learner in learners() {
            let mut model = grown(kernels().swap_remove(0), learner.clone(), size);
            let found = of_more_rows(&mut model, &x, &y);
            assert!(found <= allowed(size), "{found} by {learner:?} with {size} points");
        }
    }
}

#[test]
fn rows_on_a_budget_allocate_nothing() {
    let x = rows(6);
    let y = targets(&x);
    let hinge = Loss::Hinge;
    for kernel in kernels() {
        let specs = [
            presets::kogd(kernel.clone(), hinge, 0.1, 0.01, Some(SIZES[0])),
            presets::rbp(kernel.clone(), SIZES[0], 0),
            presets::bpas(kernel.clone(), SIZES[0], 0.1),
            presets::projectron(kernel.clone(), 0.1, Some(SIZES[0]), true),
            presets::bogd(kernel, hinge, SIZES[0], 0.1, 0.01, 5.0, 0),
        ];
        for spec in specs {
            let mut model = spec.build().expect("sound parameters");
            model.learn(x.view(), y.view()).expect("sound rows");
            assert_eq!(model.n_stored(), SIZES[0]);
            model.predict_one_into(&[0.0; WIDTH], &mut [0.0]).expect("a sound row");
            let found = one_by_one(&mut model, &x, &y);
            assert_eq!(found, 0, "{spec:?}");
            let found = of_more_rows(&mut model, &x, &y);
            assert_eq!(found, 0, "{spec:?}");
        }
    }
}

#[test]
fn rows_for_experts_allocate_nothing_or_by_the_block() {
    // Allocations of other threads would not be counted.
    set_num_threads(std::num::NonZeroUsize::new(1));
    let x = rows(7);
    let y = targets(&x);
    for mixture in [MixtureSpec::Polynomial, MixtureSpec::FixedShare] {
        for size in SIZES {
            let models = [1.0, 2.0].map(|bandwidth| {
                let kernel = KernelSpec::Gaussian { bandwidth: Some(bandwidth) };
                let (basis, learner) = (first_points(size), LearnerSpec::default());
                ModelSpec { kernel, basis, learner }.build().expect("sound parameters")
            });
            let mut model = Experts::new(models.to_vec(), mixture).expect("sound parameters");
            model.learn(x.view(), y.view()).expect("sound rows");
            model.learn_one(&[0.0; WIDTH], &[1.0]).expect("a sound row");
            model.predict_one_into(&[0.0; WIDTH], &mut [0.0]).expect("a sound row");
            let found = one_by_one(&mut model, &x, &y);
            assert_eq!(found, 0, "{mixture:?} of experts with {size} points");
            let found = of_more_rows(&mut model, &x, &y);
            // The mixture's own are one list for each part that the experts learn in turn.
            assert!(found <= 2 * allowed(size) + 8, "{found} with {size} points");
        }
    }
}

#[test]
fn pairs_of_an_operator_allocate_nothing_or_by_the_block() {
    let (x, next) = (rows(4), rows(5));
    let constant = Schedule::Constant;
    let learners = [
        LearnerSpec::Ridge(RidgeSpec::default()),
        LearnerSpec::Gradient(GradientSpec {
            step: Some(0.1),
            schedule: constant,
            ..GradientSpec::default()
        }),
    ];
    for size in SIZES {
        for learner in learners.clone() {
            let spec = KoopmanSpec {
                kernel: kernels().swap_remove(0),
                dictionaries: DictionariesSpec::Shared(first_points(size)),
                learner: learner.clone(),
                ..KoopmanSpec::default()
            };
            let mut model = Koopman::new(spec).expect("sound parameters");
            model.learn(x.view(), next.view()).expect("sound pairs");
            model.learn_one(&[0.0; WIDTH], &[0.1; WIDTH]).expect("a sound pair");
            let found = count(|| {
                for (x, next) in x.outer_iter().zip(next.outer_iter()) {
                    let (Some(x), Some(next)) = (x.as_slice(), next.as_slice()) else { return };
                    model.learn_one(x, next).expect("a sound pair");
                }
            });
            assert_eq!(found, 0, "{learner:?} with {size} states");
            let found = growth(|n| {
                model.learn(x.slice(s![..n, ..]), next.slice(s![..n, ..])).expect("sound pairs");
            });
            assert!(found <= allowed(size), "{found} by {learner:?} with {size} states");
        }
    }
}
