//! Each primitive from 8 to 512 coordinates, own loops beside faer.
//!
//! `own` is what a row of the stream uses; `faer` is the same operation through faer's routine for
//! blocks, on one column; `faer, block of 64` is its cost per column in a block. See
//! `docs/performance.md` for what was measured.
#![allow(missing_docs, reason = "criterion_main declares a public function")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use kernelstream::basis::NestedFeatures;
use kernelstream::kernel::Kernel;
use kernelstream::linalg::{Coordinates, GrowingCholesky, SymmetricInverse, padded};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const SIZES: [usize; 7] = [8, 16, 32, 64, 128, 256, 512];
const BLOCK: usize = 64;

fn vector(rng: &mut StdRng, n: usize) -> Vec<f64> {
    let mut v: Vec<f64> = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
    v.resize(padded(n), 0.0);
    v
}

/// A well-conditioned factor.
fn factor(rng: &mut StdRng, m: usize) -> GrowingCholesky {
    let mut factor = GrowingCholesky::default();
    for i in 0..m {
        let row: Vec<f64> = vector(rng, i).iter().map(|v| v / (m as f64)).collect();
        factor.append(&row, 1.0, 1.0);
    }
    factor
}

fn inverse(rng: &mut StdRng, m: usize) -> SymmetricInverse {
    let mut inverse = SymmetricInverse::default();
    inverse.grow(m, 1.0);
    let mut pv = vec![0.0; padded(m)];
    for _ in 0..m {
        let v = vector(rng, m);
        let q = inverse.multiply(&v, &mut pv);
        inverse.add(1.0, 1.0, &pv, q);
    }
    inverse
}

fn solve(c: &mut Criterion) {
    let mut group = c.benchmark_group("triangular solve");
    for m in SIZES {
        let mut rng = StdRng::seed_from_u64(m as u64);
        let factor = factor(&mut rng, m);
        let b = vector(&mut rng, m);
        let mut x = b.clone();
        group.throughput(Throughput::Bytes((m * m * 4) as u64));
        group.bench_function(BenchmarkId::new("own", m), |bench| {
            bench.iter(|| {
                x.copy_from_slice(&b);
                factor.solve(black_box(&mut x));
            });
        });
        group.bench_function(BenchmarkId::new("faer", m), |bench| {
            bench.iter(|| {
                x.copy_from_slice(&b);
                factor.solve_block(MatMut::from_column_major_slice_mut(black_box(&mut x[..m]), m, 1));
            });
        });
        group.throughput(Throughput::Bytes((BLOCK * m * m * 4) as u64));
        let block = Mat::from_fn(m, BLOCK, |i, _| b[i]);
        let mut out = block.clone();
        group.bench_function(BenchmarkId::new("faer, block of 64", m), |bench| {
            bench.iter(|| {
                out.copy_from(&block);
                factor.solve_block(black_box(out.as_mut()));
            });
        });
    }
    group.finish();
}

fn symmetric(c: &mut Criterion) {
    let mut group = c.benchmark_group("P v");
    for m in SIZES {
        let mut rng = StdRng::seed_from_u64(m as u64);
        let inverse = inverse(&mut rng, m);
        let matrix = inverse.matrix();
        let v = vector(&mut rng, m);
        let mut pv = vec![0.0; padded(m)];
        group.throughput(Throughput::Bytes((m * m * 4) as u64));
        group.bench_function(BenchmarkId::new("own", m), |bench| {
            bench.iter(|| black_box(inverse.multiply(black_box(&v), &mut pv)));
        });
        group.bench_function(BenchmarkId::new("faer", m), |bench| {
            bench.iter(|| {
                matmul(
                    MatMut::from_column_major_slice_mut(&mut pv[..m], m, 1),
                    Accum::Replace,
                    matrix.as_faer(),
                    MatRef::from_column_major_slice(black_box(&v[..m]), m, 1),
                    1.0,
                    Par::Seq,
                );
            });
        });
    }
    group.finish();

    let mut group = c.benchmark_group("rank-one update of P");
    for m in SIZES {
        let mut rng = StdRng::seed_from_u64(m as u64);
        let mut inverse = inverse(&mut rng, m);
        let v = vector(&mut rng, m);
        let mut pv = vec![0.0; padded(m)];
        let q = inverse.multiply(&v, &mut pv);
        group.throughput(Throughput::Bytes((m * m * 8) as u64));
        group.bench_function(BenchmarkId::new("own", m), |bench| {
            // A weight so small that P stays what it is through millions of updates.
            bench.iter(|| inverse.add(1.0, 1e-12, black_box(&pv), q));
        });
        let mut matrix = inverse.matrix().as_faer().to_owned();
        let u = MatRef::from_column_major_slice(&pv[..m], m, 1);
        group.bench_function(BenchmarkId::new("faer", m), |bench| {
            bench.iter(|| {
                matmul(matrix.as_mut(), Accum::Add, black_box(u), u.transpose(), -1e-12, Par::Seq);
            });
        });
        let block = Mat::from_fn(m, BLOCK, |i, k| 1e-9 * v[(i + k) % m]);
        group.throughput(Throughput::Bytes((BLOCK * m * m * 16) as u64));
        group.bench_function(BenchmarkId::new("block of 64", m), |bench| {
            bench.iter(|| inverse.subtract_products(black_box(block.as_ref())));
        });
    }
    group.finish();
}

fn growth(c: &mut Criterion) {
    let mut group = c.benchmark_group("append a point");
    for m in SIZES {
        let mut rng = StdRng::seed_from_u64(m as u64);
        let z = vector(&mut rng, m);
        let grown = factor(&mut rng, m);
        group.bench_function(BenchmarkId::new("own", m), |bench| {
            let mut factor = grown.clone();
            bench.iter(|| {
                factor.append(black_box(&z), 1.0, 1.0);
                factor.truncate(m);
            });
        });
    }
    group.finish();
}

fn project(c: &mut Criterion) {
    let mut group = c.benchmark_group("coordinates of a row, d = 18");
    for m in SIZES {
        let mut rng = StdRng::seed_from_u64(m as u64);
        let mut features = NestedFeatures::new(Kernel::gaussian(1.0).expect("positive"), 18);
        let mut z = Coordinates::default();
        while features.dim() < m {
            let x = &vector(&mut rng, 18)[..18];
            let projection = features.project(x, &mut z);
            features.append(x, &mut z, &projection);
        }
        let x = vector(&mut rng, 18);
        group.bench_function(BenchmarkId::new("Gaussian", m), |bench| {
            bench.iter(|| features.project(black_box(&x[..18]), &mut z));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(600));
    targets = solve, symmetric, growth, project
}
criterion_main!(benches);
