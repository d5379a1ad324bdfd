//! Similarities of a row and of a block to the stored points, kernel by kernel.
//!
//! See `docs/performance.md` for what was measured.
#![allow(missing_docs, reason = "criterion_main declares a public function")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kernelstream::kernel::{Kernel, PointSet};
use kernelstream::linalg::padded;
use ndarray::Array2;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const SIZES: [usize; 5] = [8, 32, 128, 512, 1024];
const WIDTHS: [usize; 6] = [1, 4, 18, 64, 256, 784];
const BLOCK: usize = 64;

fn kernels() -> Vec<(&'static str, Kernel)> {
    let sound = "sound parameters";
    vec![
        ("Gaussian", Kernel::gaussian(4.0).expect(sound)),
        ("Laplacian", Kernel::laplacian(4.0).expect(sound)),
        ("Matern 5/2", Kernel::matern52(4.0).expect(sound)),
        ("polynomial", Kernel::polynomial(3, 0.1, 1.0).expect(sound)),
        ("linear", Kernel::linear()),
    ]
}

fn points(m: usize, d: usize) -> (PointSet, Array2<f64>) {
    let mut rng = StdRng::seed_from_u64((m * d) as u64);
    let mut set = PointSet::new(d);
    for _ in 0..m {
        let point: Vec<f64> = (0..d).map(|_| rng.random_range(-1.0..1.0)).collect();
        set.push(&point);
    }
    let rows = Array2::from_shape_simple_fn((BLOCK, d), || rng.random_range(-1.0..1.0));
    (set, rows)
}

fn row(c: &mut Criterion) {
    let mut group = c.benchmark_group("similarities of a row, d = 18");
    for m in SIZES {
        let (set, rows) = points(m, 18);
        let x = rows.row(0).to_vec();
        let mut out = vec![0.0; padded(m)];
        group.throughput(Throughput::Elements(m as u64));
        for (name, kernel) in kernels() {
            group.bench_function(BenchmarkId::new(name, m), |bench| {
                bench.iter(|| kernel.similarities(&set, black_box(&x), &mut out));
            });
        }
        let stored: Vec<f64> = set.panel().to_row_major();
        group.bench_function(BenchmarkId::new("Gaussian, plain loop", m), |bench| {
            bench.iter(|| {
                for (out, point) in out.iter_mut().zip(stored.chunks_exact(18)) {
                    let r2: f64 = point.iter().zip(black_box(&x)).map(|(a, b)| (a - b) * (a - b)).sum();
                    *out = (-r2 / 32.0).exp();
                }
            });
        });
    }
    group.finish();
}

fn block(c: &mut Criterion) {
    for m in [32, 256] {
        let mut group = c.benchmark_group(format!("similarities of 64 rows to {m} points"));
        for d in WIDTHS {
            let (set, rows) = points(m, d);
            group.throughput(Throughput::Elements((m * BLOCK) as u64));
            let kernel = Kernel::gaussian(4.0).expect("sound parameters");
            group.bench_function(BenchmarkId::new("Gaussian", d), |bench| {
                bench.iter(|| kernel.similarities_of_rows(&set, black_box(rows.view())));
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30)
        .warm_up_time(std::time::Duration::from_millis(100))
        .measurement_time(std::time::Duration::from_millis(300));
    targets = row, block
}
criterion_main!(benches);
