//! Streaming decompositions and sketched features allocate nothing in steady state.

use allocation_counter::measure;
use kernelstream::basis::SketchedSpec;
use kernelstream::kernel::KernelSpec;
use kernelstream::linalg::{TruncatedEigen, TruncatedSvd};
use kernelstream::stream::presets;
use kernelstream::{Introspection as _, Model as _};
use ndarray::Array2;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn matrix(rng: &mut StdRng, m: usize, n: usize) -> Array2<f64> {
    Array2::from_shape_simple_fn((m, n), || rng.random_range(-1.0..1.0))
}

fn allocations(act: impl FnOnce()) -> u64 {
    measure(act).count_total
}

#[test]
fn updates_of_a_decomposition_allocate_nothing() {
    let mut rng = StdRng::seed_from_u64(0);
    for (n, rank) in [(30, 4), (100, 30)] {
        let a = matrix(&mut rng, n, n);
        let mut svd = TruncatedSvd::from_matrix(a.view(), rank).expect("a sound matrix");
        let mut eigen = TruncatedEigen::from_matrix(a.dot(&a.t()).view(), rank).expect("a sound matrix");
        let updates: Vec<_> = (0..200).map(|_| (matrix(&mut rng, n, 3), matrix(&mut rng, n, 3))).collect();
        let mut run = || {
            for (u, v) in &updates {
                svd.update(u.view(), v.view(), 0.99).expect("a sound update");
                let (s, t) = (u.column(0).to_vec(), v.column(0).to_vec());
                eigen.border(&s, &t, 1.0).expect("a sound update");
            }
        };
        run();
        // Two vectors a round are the test's own.
        assert_eq!(allocations(run), 2 * updates.len() as u64, "{n}, rank {rank}");
    }
}

#[test]
fn rows_of_the_second_stage_allocate_nothing() {
    let mut rng = StdRng::seed_from_u64(1);
    let x = matrix(&mut rng, 800, 5);
    let y = Array2::from_shape_fn((800, 1), |(i, _)| if x.row(i).sum() > 0.0 { 1.0 } else { -1.0 });
    for make in [presets::forks, presets::skegd] {
        let points = SketchedSpec { size: 40, period: None, ..SketchedSpec::default() };
        let mut model =
            make(KernelSpec::Gaussian { bandwidth: Some(1.0) }, points).build().expect("sound parameters");
        model.learn(x.view(), y.view()).expect("sound rows");
        assert_eq!((model.n_stored(), model.basis().dim()), (40, 4));
        let found = allocations(|| {
            for (x, y) in x.outer_iter().zip(y.outer_iter()) {
                let (Some(x), Some(y)) = (x.as_slice(), y.as_slice()) else { return };
                model.learn_one(x, y).expect("a sound row");
            }
        });
        assert_eq!(found, 0);
    }
}
