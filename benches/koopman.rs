//! A pair of states, learned one by one and in blocks, at fixed dictionary sizes; and the spectrum.
#![allow(missing_docs, reason = "criterion_main declares a public function")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kernelstream::basis::BasisSpec;
use kernelstream::kernel::KernelSpec;
use kernelstream::koopman::{AdmissionSpec, DictionariesSpec, HilbertSchmidt, Koopman, KoopmanSpec};
use kernelstream::learner::{GradientSpec, LearnerSpec, Loss, RidgeSpec, Schedule};
use ndarray::Array2;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const SIZES: [usize; 6] = [16, 64, 96, 128, 256, 512];
const PAIRS: usize = 1024;

fn data() -> (Array2<f64>, Array2<f64>) {
    let mut rng = StdRng::seed_from_u64(7);
    let x = Array2::from_shape_simple_fn((PAIRS, 4), || rng.random_range(-1.0_f64..1.0));
    let next = x.mapv(|v| 0.9 * v);
    (x, next)
}

/// Operators that store `m` states and no more.
fn models(m: usize) -> [(&'static str, Koopman); 2] {
    let kernel = || KernelSpec::Gaussian { bandwidth: Some(0.7) };
    let ridge = KoopmanSpec {
        kernel: kernel(),
        dictionaries: DictionariesSpec::Shared(BasisSpec::FirstPoints {
            size: m,
            loss_driven: false,
            rank: None,
        }),
        learner: LearnerSpec::Ridge(RidgeSpec::default()),
        ..KoopmanSpec::default()
    };
    let rule = HilbertSchmidt { budget: 0.0, power: 0.0, max_size: Some(m), pivot_floor: 1e-10 };
    let gradient = KoopmanSpec {
        kernel: kernel(),
        dictionaries: DictionariesSpec::Separate(AdmissionSpec::HilbertSchmidt(rule)),
        learner: LearnerSpec::Gradient(GradientSpec {
            loss: Loss::HalfSquared,
            step: Some(0.2),
            schedule: Schedule::Constant,
            ..GradientSpec::default()
        }),
        ..KoopmanSpec::default()
    };
    [("least squares", ridge), ("sparse gradient", gradient)].map(|(name, spec)| {
        let (x, next) = data();
        let mut model = spec.build().expect("sound parameters");
        model.learn(x.view(), next.view()).expect("sound data");
        assert_eq!(model.n_stored().0, m);
        (name, model)
    })
}

fn learn(c: &mut Criterion) {
    let (x, next) = data();
    let rows: Vec<(Vec<f64>, Vec<f64>)> =
        x.rows().into_iter().zip(next.rows()).map(|(x, next)| (x.to_vec(), next.to_vec())).collect();
    let mut group = c.benchmark_group("learn pairs, d = 4");
    group.throughput(Throughput::Elements(PAIRS as u64));
    for m in SIZES {
        for (name, mut model) in models(m) {
            group.bench_function(BenchmarkId::new(format!("{name}, one by one"), m), |bench| {
                bench.iter(|| {
                    for (x, next) in &rows {
                        model.learn_one(black_box(x), black_box(next)).expect("sound data");
                    }
                });
            });
            group.bench_function(BenchmarkId::new(format!("{name}, at once"), m), |bench| {
                bench.iter(|| model.learn(black_box(x.view()), black_box(next.view())).expect("sound data"));
            });
        }
    }
    group.finish();
}

fn spectrum(c: &mut Criterion) {
    let mut group = c.benchmark_group("spectrum");
    group.sample_size(10);
    for m in SIZES {
        let [(_, mut model), _] = models(m);
        let (x, next) = data();
        let (x, next) = (x.row(0).to_vec(), next.row(0).to_vec());
        group.bench_function(BenchmarkId::from_parameter(m), |bench| {
            bench.iter(|| {
                // what was known of the spectrum is forgotten when a pair is learned
                model.learn_one(black_box(&x), black_box(&next)).expect("sound data");
                model.spectrum().expect("a spectrum")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, learn, spectrum);
criterion_main!(benches);
