//! What this machine can do at best, on one thread: the rate of matrix products, and how fast vectors are
//! read from each level of its memory. One line of JSON, for `benchmarks/speed/roofline.py`.
#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use kernelstream::linalg::Coordinates;

/// Seconds of the fastest of many calls.
fn least(mut act: impl FnMut()) -> f64 {
    let (start, mut best) = (Instant::now(), f64::INFINITY);
    while start.elapsed() < Duration::from_secs(1) {
        let before = Instant::now();
        act();
        best = best.min(before.elapsed().as_secs_f64());
    }
    best
}

/// Billions of operations a second of the product of two square matrices.
fn product_rate(n: usize) -> f64 {
    let fill = |i: usize, j: usize| ((i * 31 + j * 17) % 101) as f64 / 101.0;
    let (a, b) = (Mat::from_fn(n, n, fill), Mat::from_fn(n, n, fill));
    let mut c = Mat::zeros(n, n);
    let seconds = least(|| {
        matmul(c.as_mut(), Accum::Replace, black_box(a.as_ref()), black_box(b.as_ref()), 1.0, Par::Seq);
    });
    2.0 * (n as f64).powi(3) / seconds / 1e9
}

/// Billions of bytes a second, read to be summed up, of a vector of this many kilobytes.
fn read_rate(kilobytes: usize) -> f64 {
    let n = kilobytes * 128;
    let vector = Coordinates::from_slice(&vec![1.0; n]);
    let repeats = (16_384 / kilobytes).max(1);
    let seconds = least(|| {
        for _ in 0..repeats {
            black_box(black_box(&vector).squared_norm());
        }
    });
    // The norm reads the vector as both of its arguments: once from memory, and again from a register.
    (repeats * n * 8) as f64 / seconds / 1e9
}

fn main() {
    let products: Vec<String> =
        [64, 128, 256, 512].iter().map(|&n| format!("\"{n}\": {:.3}", product_rate(n))).collect();
    let reads: Vec<String> =
        [16, 256, 16_384, 65_536].iter().map(|&n| format!("\"{n}\": {:.3}", read_rate(n))).collect();
    println!("{{\"products\": {{{}}}, \"reads\": {{{}}}}}", products.join(", "), reads.join(", "));
}
