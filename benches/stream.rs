//! A row of the stream, learned: NONS-ALD and ridge at fixed dictionary sizes.
#![allow(missing_docs, reason = "criterion_main declares a public function")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kernelstream::basis::BasisSpec;
use kernelstream::kernel::KernelSpec;
use kernelstream::learner::{
    GradientSpec, InterpolationSpec, LearnerSpec, OnlineNewtonSpec, RidgeSpec, Schedule,
};
use kernelstream::stream::{AnyStream, ModelSpec};
use kernelstream::{Introspection as _, Model as _};
use ndarray::{Array2, Axis, s};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const SIZES: [usize; 7] = [8, 16, 32, 64, 128, 256, 512];
const WIDTH: usize = 18;
const ROWS: usize = 1000;

fn data() -> (Array2<f64>, Array2<f64>) {
    let mut rng = StdRng::seed_from_u64(7);
    let x = Array2::from_shape_simple_fn((ROWS, WIDTH), || rng.random_range(-1.0_f64..1.0));
    let y = x.map_axis(Axis(1), |row| row.sum().sin()).insert_axis(Axis(1));
    (x, y)
}

/// A model that stores `m` points and no more.
fn model(learner: LearnerSpec, m: usize) -> AnyStream {
    let spec = ModelSpec {
        kernel: KernelSpec::Gaussian { bandwidth: Some(1.0) },
        basis: BasisSpec::FirstPoints { size: m, loss_driven: false, rank: None },
        learner,
    };
    let (x, y) = data();
    let mut model = spec.build().expect("sound parameters");
    model.learn(x.view(), y.view()).expect("sound data");
    assert_eq!(model.n_stored(), m);
    model
}

fn learners() -> [(&'static str, LearnerSpec); 3] {
    let adaptive = GradientSpec { schedule: Schedule::Adaptive, ..GradientSpec::default() };
    [
        ("AOGD-ALD", LearnerSpec::Gradient(adaptive)),
        ("NONS-ALD", LearnerSpec::OnlineNewton(OnlineNewtonSpec::default())),
        ("ridge", LearnerSpec::Ridge(RidgeSpec::default())),
    ]
}

fn learn(c: &mut Criterion) {
    let (x, y) = data();
    let mut group = c.benchmark_group("learn a row, d = 18");
    for m in SIZES {
        for (name, learner) in learners() {
            let mut model = model(learner, m);
            let mut i = 0;
            group.bench_function(BenchmarkId::new(name, m), |bench| {
                bench.iter(|| {
                    i = (i + 1) % ROWS;
                    let (x, y) = (x.row(i), y.row(i));
                    let (Some(x), Some(y)) = (x.as_slice(), y.as_slice()) else { return };
                    model.learn_one(black_box(x), black_box(y)).expect("sound data");
                });
            });
        }
    }
    group.finish();
}

fn learn_block(c: &mut Criterion) {
    let (x, y) = data();
    let mut group = c.benchmark_group("learn 1000 rows, d = 18");
    group.throughput(Throughput::Elements(ROWS as u64));
    for m in SIZES {
        for (name, learner) in learners() {
            let mut model = model(learner, m);
            group.bench_function(BenchmarkId::new(name, m), |bench| {
                bench.iter(|| model.learn(black_box(x.view()), black_box(y.view())).expect("sound data"));
            });
        }
    }
    group.finish();
}

/// Ridge regression on all of this many rows, by the learner that knows deviations and by the one that meets each row.
fn on_all_rows(m: usize) -> [(&'static str, ModelSpec); 2] {
    let points = BasisSpec::FirstPoints { size: m, loss_driven: false, rank: None };
    let noisy = BasisSpec::NoisyPoints { noise: 0.01, max_size: Some(m), loss_driven: false };
    let interpolation = LearnerSpec::Interpolation(InterpolationSpec::default());
    [("ridge", points, LearnerSpec::default()), ("interpolation", noisy, interpolation)].map(
        |(name, basis, learner)| {
            let kernel = KernelSpec::Gaussian { bandwidth: Some(1.0) };
            (name, ModelSpec { kernel, basis, learner })
        },
    )
}

/// Rows that all enter the basis, from the first on.
fn grow(c: &mut Criterion) {
    let (x, y) = data();
    let mut group = c.benchmark_group("learn the first rows, d = 18");
    for m in [50, 200, ROWS] {
        let (x, y) = (x.slice(s![..m, ..]), y.slice(s![..m, ..]));
        group.throughput(Throughput::Elements(m as u64));
        let calls = [("one by one", 1), ("at once", m)];
        for (learner, spec, (name, call)) in
            on_all_rows(m).into_iter().flat_map(|(name, spec)| calls.map(|call| (name, spec.clone(), call)))
        {
            group.bench_function(BenchmarkId::new(format!("{learner}, {name}"), m), |bench| {
                bench.iter(|| {
                    let mut model = spec.build().expect("sound parameters");
                    let calls = x.axis_chunks_iter(Axis(0), call);
                    for (x, y) in calls.zip(y.axis_chunks_iter(Axis(0), call)) {
                        model.learn(black_box(x), black_box(y)).expect("sound data");
                    }
                    assert_eq!(model.n_stored(), m);
                });
            });
        }
    }
    group.finish();
}

fn predict(c: &mut Criterion) {
    let (x, _) = data();
    let mut group = c.benchmark_group("predict 256 rows, d = 18");
    for m in SIZES {
        let model = model(LearnerSpec::default(), m);
        group.throughput(Throughput::Elements(256));
        group.bench_function(BenchmarkId::new("ridge", m), |bench| {
            bench.iter(|| model.predict(black_box(x.slice(s![..256, ..]))).expect("sound data"));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(600));
    targets = learn, learn_block, grow, predict
}
criterion_main!(benches);
