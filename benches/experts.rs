//! Twenty ridge experts: a call of many rows, learned and predicted, on one and on two threads; one row.
#![allow(missing_docs, reason = "criterion_main declares a public function")]

use std::hint::black_box;
use std::num::NonZeroUsize;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kernelstream::experts::{Experts, ExpertsSpec, MixtureSpec};
use kernelstream::threads::set_num_threads;
use kernelstream::{AnyModel, Model as _};
use ndarray::{Array2, Axis};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

const WIDTH: usize = 18;
const ROWS: usize = 8192;

fn data() -> (Array2<f64>, Array2<f64>) {
    let mut rng = StdRng::seed_from_u64(7);
    let x = Array2::from_shape_simple_fn((ROWS, WIDTH), || rng.random_range(-1.0_f64..1.0));
    let y = x.map_axis(Axis(1), |row| row.sum().sin()).insert_axis(Axis(1));
    (x, y)
}

/// Five bandwidths times four regularizations, as the Python package's default.
fn experts() -> Experts<AnyModel> {
    let root = (WIDTH as f64).sqrt();
    let mut experts = Vec::new();
    for factor in [0.25, 0.5, 1.0, 2.0, 4.0] {
        for regularization in [1e-4, 1e-3, 1e-2, 1e-1] {
            experts.push(json!({
                "kernel": {"type": "gaussian", "bandwidth": factor * root},
                "basis": {"type": "ald", "tolerance": 1e-4, "max_size": 150},
                "learner": {"type": "ridge", "regularization": regularization},
            }));
        }
    }
    ExpertsSpec { experts, mixture: MixtureSpec::default() }.build().expect("sound parameters")
}

fn learn(c: &mut Criterion) {
    let (x, y) = data();
    let mut model = experts();
    model.learn(x.view(), y.view()).expect("sound data");
    let mut group = c.benchmark_group("20 experts, d = 18, 8192 rows");
    group.throughput(Throughput::Elements(ROWS as u64));
    for threads in [1, 2] {
        set_num_threads(NonZeroUsize::new(threads));
        group.bench_function(BenchmarkId::new("learn from the first row", threads), |bench| {
            bench.iter_batched(
                experts,
                |mut model| model.learn(black_box(x.view()), black_box(y.view())).expect("sound data"),
                BatchSize::LargeInput,
            );
        });
        group.bench_function(BenchmarkId::new("learn on", threads), |bench| {
            bench.iter(|| model.learn(black_box(x.view()), black_box(y.view())).expect("sound data"));
        });
        group.bench_function(BenchmarkId::new("predict", threads), |bench| {
            bench.iter(|| model.predict(black_box(x.view())).expect("sound data"));
        });
    }
    group.finish();
    set_num_threads(None);
    let (row, target) = (x.row(0).to_vec(), y.row(0).to_vec());
    c.bench_function("20 experts, d = 18, learn one row", |bench| {
        bench.iter(|| model.learn_one(black_box(&row), black_box(&target)).expect("sound data"));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10)
        .warm_up_time(std::time::Duration::from_millis(500))
        .measurement_time(std::time::Duration::from_secs(3));
    targets = learn
}
criterion_main!(benches);
