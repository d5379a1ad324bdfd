//! One update of a truncated decomposition, beside a new decomposition by faer.
#![allow(missing_docs, reason = "criterion_main declares a public function")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use kernelstream::linalg::{TruncatedEigen, TruncatedSvd};
use ndarray::Array2;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Rows, columns and rank.
const CASES: [(usize, usize); 4] = [(50, 5), (100, 10), (100, 30), (1000, 30)];

fn matrix(rng: &mut StdRng, m: usize, n: usize) -> Array2<f64> {
    Array2::from_shape_simple_fn((m, n), || rng.random_range(-1.0..1.0))
}

fn general(c: &mut Criterion) {
    let mut group = c.benchmark_group("A + U V' of rank 3");
    for (n, rank) in CASES {
        let mut rng = StdRng::seed_from_u64(n as u64);
        let a = matrix(&mut rng, n, n);
        let (u, v) = (matrix(&mut rng, n, 3), matrix(&mut rng, n, 3));
        for extra in [0, 10] {
            let mut svd = TruncatedSvd::with_extra(a.view(), rank, extra).expect("a matrix");
            let name = format!("{n}, rank {rank} + {extra}");
            group.bench_function(BenchmarkId::new("update", name), |bench| {
                bench.iter(|| svd.update(black_box(u.view()), v.view(), 0.99));
            });
        }
        if n <= 100 {
            group.bench_function(BenchmarkId::new("from scratch", format!("{n}, rank {rank}")), |bench| {
                bench.iter(|| TruncatedSvd::from_matrix(black_box(a.view()), rank));
            });
        }
    }
    group.finish();
}

fn symmetric(c: &mut Criterion) {
    let mut group = c.benchmark_group("A + s u' + u s' + s s'");
    for (n, rank) in CASES {
        let mut rng = StdRng::seed_from_u64(n as u64);
        let half = matrix(&mut rng, n, n);
        let mut eigen = TruncatedEigen::from_matrix(half.dot(&half.t()).view(), rank).expect("a matrix");
        let s: Vec<f64> = matrix(&mut rng, n, 1).into_iter().collect();
        let u: Vec<f64> = matrix(&mut rng, n, 1).into_iter().map(|v| 1e-3 * v).collect();
        group.bench_function(BenchmarkId::new("update", format!("{n}, rank {rank}")), |bench| {
            bench.iter(|| eigen.border(black_box(&s), &u, 1.0));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(600));
    targets = general, symmetric
}
criterion_main!(benches);
