//! A row of the stream, learned on a budget.
#![allow(missing_docs, reason = "criterion_main declares a public function")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kernelstream::budget::{BudgetedSpec, presets};
use kernelstream::kernel::KernelSpec;
use kernelstream::learner::Loss;
use kernelstream::{Introspection as _, Model as _};
use ndarray::Array2;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const BUDGETS: [usize; 3] = [50, 100, 400];
const WIDTH: usize = 18;
const ROWS: usize = 5000;

/// Labels of a curved region, a tenth of them wrong, so that there is always something to learn.
fn data() -> (Array2<f64>, Array2<f64>) {
    let mut rng = StdRng::seed_from_u64(7);
    let x = Array2::from_shape_simple_fn((ROWS, WIDTH), || rng.random_range(-1.0_f64..1.0));
    let y = x.map_axis(ndarray::Axis(1), |row| {
        if (row.sum().sin() > 0.0) == rng.random_bool(0.9) { 1.0 } else { -1.0 }
    });
    (x, y.insert_axis(ndarray::Axis(1)))
}

fn models(budget: usize) -> [(&'static str, BudgetedSpec); 5] {
    let kernel = KernelSpec::Gaussian { bandwidth: Some(2.0) };
    [
        ("KOGD, oldest", presets::kogd(kernel.clone(), Loss::Hinge, 0.2, 0.01, Some(budget))),
        ("RBP", presets::rbp(kernel.clone(), budget, 0)),
        ("BPA-S", presets::bpas(kernel.clone(), budget, 1.0)),
        ("Projectron", presets::projectron(kernel.clone(), 0.1, Some(budget), false)),
        ("BOGD", presets::bogd(kernel, Loss::Hinge, budget, 0.2, 0.01, 10.0, 0)),
    ]
}

fn learn(c: &mut Criterion) {
    let (x, y) = data();
    let mut group = c.benchmark_group("learn a row on a budget, d = 18");
    group.throughput(Throughput::Elements(ROWS as u64));
    group.sample_size(10);
    for budget in BUDGETS {
        for (name, spec) in models(budget) {
            let mut model = spec.build().expect("sound parameters");
            model.learn(x.view(), y.view()).expect("sound data");
            assert_eq!(model.n_stored(), budget);
            group.bench_function(BenchmarkId::new(name, budget), |bench| {
                bench.iter(|| model.learn(black_box(x.view()), black_box(y.view())).expect("sound data"));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, learn);
criterion_main!(benches);
