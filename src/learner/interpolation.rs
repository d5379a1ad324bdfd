//! Interpolation: each row is fitted exactly by the coordinate that it adds.

use serde::{Deserialize, Serialize};

use super::centre::Centre;
use super::weights::{apply, beyond_bounds, read_panel, write_panel};
use super::{Learner, LearnerBlocks, LearnerFile, LearnerLimits, LearnerMemory, LearnerUncertainty};
use crate::error::{Error, Result, not_negative};
use crate::linalg::{ChangeOfBasis, Coordinates, Panel, loops};
use crate::persist::{Reader, Writer};

/// Parameters of [`Interpolation`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InterpolationSpec {
    /// Whether to learn differences to a constant: the intercept without a penalty.
    pub center: bool,
    /// Largest error without loss, zero or positive: if only rows with a loss become points, rows
    /// with smaller errors do not.
    pub tolerance: f64,
}

impl Default for InterpolationSpec {
    fn default() -> Self {
        Self { center: true, tolerance: 0.0 }
    }
}

/// The function of least norm through every row that adds a coordinate: the weight of that
/// coordinate is the error at the row divided by the row's value in it, and no other weight
/// changes.
///
/// In the coordinates of [`Nested::noisy_points`](crate::basis::Nested::noisy_points) this is
/// kernel ridge regression on all rows, the mean of a Gaussian process: with `K + noise I = M M'`
/// the weights are `M^{-1} y`, and the prequential prediction of each row is `y_t - M_tt (M^{-1}
/// y)_t`. A row costs only the `m^2` of its coordinates, a quarter of [`Ridge`](super::Ridge) on
/// all points; but rows that add no coordinate, as when the dictionary is full, change nothing. For
/// labels, targets -1 and 1, rows predicted within a tolerance of 0.2 may be left out: half of the
/// points make as few mistakes. A row of weight below 1 is fitted by that share; larger weights
/// count as 1.
#[derive(Clone, Debug)]
pub struct Interpolation {
    spec: InterpolationSpec,
    weights: Panel,
    /// Weights of the constant target 1 (dim, 1); empty if targets are not centred.
    ones: Panel,
    centre: Centre,
    /// Scratch: errors of the current row.
    errors: Vec<f64>,
    /// Coordinates of rows that were fitted.
    met: usize,
}

impl Interpolation {
    /// A learner with checked parameters.
    pub fn new(spec: InterpolationSpec) -> Result<Self> {
        not_negative("tolerance", spec.tolerance)?;
        let (weights, ones) = (Panel::default(), Panel::default());
        Ok(Self { spec, weights, ones, centre: Centre::default(), errors: Vec::new(), met: 0 })
    }

    /// Its parameters.
    #[must_use]
    pub fn spec(&self) -> &InterpolationSpec {
        &self.spec
    }

    /// Adds the intercept to predictions, given the prediction of the target 1.
    fn centred(&self, of_ones: f64, out: &mut [f64]) {
        if self.spec.center {
            out.iter_mut().enumerate().for_each(|(c, out)| *out += self.centre.value(c) * (1.0 - of_ones));
        }
    }

    /// Predictions at `z` of targets without the intercept, into `out`; returns that of the target
    /// 1.
    fn raw(&self, z: &Coordinates, out: &mut [f64]) -> f64 {
        apply(&self.weights, z, out);
        let mut of_ones = [0.0];
        if self.spec.center {
            apply(&self.ones, z, &mut of_ones);
        }
        of_ones[0]
    }

    /// Fits a row with this value in the coordinate that it added, given the predictions without
    /// the intercept, and that of the target 1.
    fn meet(&mut self, own: f64, raw: &[f64], of_ones: f64, y: &[f64], weight: f64) {
        let gain = weight.min(1.0) / own;
        for (c, (y, raw)) in y.iter().zip(raw).enumerate() {
            self.weights.set(self.met, c, gain * (y - raw));
        }
        if self.spec.center {
            self.ones.set(self.met, 0, gain * (1.0 - of_ones));
        }
        self.met += 1;
    }
}

impl Learner for Interpolation {
    fn weights(&self) -> &Panel {
        &self.weights
    }

    fn begin(&mut self, n_outputs: usize) {
        self.weights.grow_cols(n_outputs);
        self.ones.grow_cols(usize::from(self.spec.center));
        self.centre.begin(n_outputs);
    }

    fn grow(&mut self, dim: usize) {
        self.weights.grow_rows(dim);
        self.ones.grow_rows(dim);
    }

    fn shrink(&mut self, dim: usize) {
        self.weights.truncate(dim, self.weights.cols());
        self.ones.truncate(dim, self.ones.cols());
        self.met = self.met.min(dim);
    }

    fn predict(&self, z: &Coordinates, _residual: f64, out: &mut [f64]) {
        let of_ones = self.raw(z, out);
        self.centred(of_ones, out);
    }

    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, prediction: &mut [f64]) -> Result<()> {
        let of_ones = self.raw(z, prediction);
        if beyond_bounds(prediction) {
            return Err(Error::Diverged { row: 0 });
        }
        let own = z.as_slice().get(self.met).copied().filter(|own| *own > 0.0);
        self.errors.clear();
        self.errors.extend(y.iter().zip(&*prediction).map(|(y, raw)| y - raw));
        if let Some(own) = own {
            self.meet(own, prediction, of_ones, y, weight);
        }
        self.centred(of_ones, prediction);
        if let (true, Some(own)) = (self.spec.center, own) {
            // The variance of the error is the square of the row's own coordinate.
            let curvature = weight.min(1.0) / (own * own);
            self.centre.learn(1.0, curvature, self.errors.iter().copied(), 1.0 - of_ones, 0.0);
        }
        self.centre.count(y, weight, 1.0);
        Ok(())
    }

    fn change_basis(&mut self, change: &ChangeOfBasis) {
        self.shrink(0);
        self.grow(change.dim());
        self.centre = Centre::default();
        self.centre.begin(self.n_outputs());
    }
}

impl LearnerLimits for Interpolation {
    fn has_loss(&self, z: &Coordinates, y: &[f64], scratch: &mut [f64]) -> bool {
        self.predict(z, 0.0, scratch);
        scratch.iter().zip(y).any(|(made, y)| (made - y).abs() > self.spec.tolerance)
    }
}

impl LearnerBlocks for Interpolation {}

impl LearnerMemory for Interpolation {}

impl LearnerUncertainty for Interpolation {
    fn slopes(&self) -> Panel {
        let mut slopes = self.weights.clone();
        if self.spec.center {
            for c in 0..slopes.cols() {
                loops::add_scaled(-self.centre.value(c), self.ones.col(0), slopes.col_mut(c));
            }
        }
        slopes
    }
}

impl LearnerFile for Interpolation {
    fn write(&self, out: &mut Writer) {
        write_panel(out, "learner.weights", &self.weights);
        if self.spec.center {
            write_panel(out, "learner.ones", &self.ones);
        }
        self.centre.write(out);
        out.counts("learner.met", &[self.met as u64]);
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        self.weights = read_panel(from, "learner.weights")?;
        let (rows, cols) = (self.weights.rows(), self.weights.cols());
        if self.spec.center {
            let entries = from.matrix_of("learner.ones", rows, 1)?;
            self.ones = Panel::from_row_major(&entries, rows, 1);
        }
        self.centre = Centre::read(from, cols)?;
        let [met] = from.counts("learner.met")?;
        self.met = usize::try_from(met).unwrap_or(usize::MAX);
        if self.met > rows {
            return Err(Error::file("learner.met is not a count of its rows"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;
    use faer::linalg::solvers::Solve as _;
    use ndarray::{Array1, Array2, s};

    use super::*;
    use crate::basis::BasisSpec;
    use crate::kernel::KernelSpec;
    use crate::learner::LearnerSpec;
    use crate::model::{Introspection as _, Model as _};
    use crate::random::normal;
    use crate::stream::{AnyStream, ModelSpec};

    const NOISE: f64 = 0.3;

    fn model(most: usize, center: bool) -> AnyStream {
        with_tolerance(most, center, None)
    }

    fn with_tolerance(most: usize, center: bool, tolerance: Option<f64>) -> AnyStream {
        let kernel = KernelSpec::ManhattanLaplacian { bandwidth: Some(2.0), exponent: 0.75 };
        let loss_driven = tolerance.is_some();
        let basis = BasisSpec::NoisyPoints { noise: NOISE, max_size: Some(most), loss_driven };
        let tolerance = tolerance.unwrap_or(0.0);
        let learner = LearnerSpec::Interpolation(InterpolationSpec { center, tolerance });
        ModelSpec { kernel, basis, learner }.build().unwrap()
    }

    /// A table whose last rows repeat the first.
    fn table(n: usize) -> (Array2<f64>, Array2<f64>) {
        let x = Array2::from_shape_fn((n, 3), |(i, k)| normal(1 + k as u64, (i % (n - 9)) as u64));
        let y = Array2::from_shape_fn((n, 2), |(i, c)| {
            (x[(i, c)] * 2.0).sin() + 0.1 * normal(9 + c as u64, i as u64) + 5.0
        });
        (x, y)
    }

    /// Kernel ridge regression on the first `n` rows, at most `most`, at row `i`: written out.
    fn ridge(x: &Array2<f64>, y: &Array2<f64>, n: usize, i: usize, center: bool) -> Array1<f64> {
        let similarity = |a: usize, b: usize| {
            let distance: f64 = x.row(a).iter().zip(x.row(b)).map(|(a, b)| (a - b).abs()).sum();
            (-(distance / 2.0).powf(0.75)).exp()
        };
        let gram = Mat::from_fn(n, n, |a, b| similarity(a, b) + if a == b { NOISE } else { 0.0 });
        // Solved for both targets and for 1, whose inner products give the intercept.
        let targets = Mat::from_fn(n, 3, |a, c| if c < 2 { y[(a, c)] } else { 1.0 });
        let solved = gram.partial_piv_lu().solve(&targets);
        let sum = |c: usize| solved.col(c).iter().sum::<f64>();
        let at = |c: usize| {
            let constant = if center { sum(c) / sum(2) } else { 0.0 };
            constant
                + (0..n).map(|a| similarity(a, i) * (solved[(a, c)] - constant * solved[(a, 2)])).sum::<f64>()
        };
        Array1::from_shape_fn(2, at)
    }

    #[test]
    fn each_row_is_predicted_by_kernel_ridge_regression_on_those_before() {
        let (x, y) = table(200);
        for center in [false, true] {
            let made = model(1000, center).learn_and_predict(x.view(), y.view()).unwrap();
            for i in [1, 2, 17, 60, 130, 199] {
                let truth = ridge(&x, &y, i, i, center);
                let apart = (&made.row(i) - &truth).fold(0.0_f64, |most, value| most.max(value.abs()));
                assert!(apart < 1e-10, "row {i}: {} {truth}", made.row(i));
            }
        }
    }

    #[test]
    fn what_there_is_no_room_for_changes_nothing_however_a_stream_is_cut() {
        let (x, y) = table(200);
        let mut states = Vec::new();
        for size in [1, 7, 100, 200] {
            let mut model = model(110, false);
            for start in (0..200).step_by(size) {
                let rows = s![start..(start + size).min(200), ..];
                model.learn(x.slice(rows), y.slice(rows)).unwrap();
            }
            assert_eq!((model.n_stored(), model.n_seen()), (110, 200));
            states.push(model.predict(x.view()).unwrap());
        }
        let truth = ridge(&x, &y, 110, 150, false);
        for state in &states {
            assert!((state - &states[0]).iter().all(|apart| apart.abs() < 1e-10));
            assert!((&state.row(150) - &truth).iter().all(|apart| apart.abs() < 1e-10), "{truth}");
        }
    }

    #[test]
    fn a_row_is_met_by_the_share_that_it_counts() {
        let learned = |weight: f64| {
            let (x, y) = table(40);
            let mut model = model(100, false);
            model.learn(x.slice(s![..30, ..]), y.slice(s![..30, ..])).unwrap();
            let before = model.predict(x.slice(s![30..31, ..])).unwrap();
            let rows = s![30..31, ..];
            let weights = Array1::from_elem(1, weight);
            model
                .learn_while(x.slice(rows), y.slice(rows), Some(weights.view()), None, &mut |_| true)
                .unwrap();
            (model.predict(x.slice(rows)).unwrap() - before)[(0, 0)]
        };
        let whole = learned(1.0);
        assert!(whole.abs() > 1e-3 && (learned(0.25) - 0.25 * whole).abs() < 1e-12);
        assert!((learned(7.0) - whole).abs() < 1e-15);
    }

    #[test]
    fn rows_that_are_predicted_well_are_left_out_one_by_one() {
        let (x, y) = table(300);
        let mut whole = with_tolerance(1000, true, Some(0.3));
        let made = whole.learn_and_predict(x.view(), y.view()).unwrap();
        let far = |made: f64, y: f64| (made - y).abs() > 0.3;
        let beyond = made
            .rows()
            .into_iter()
            .zip(y.rows())
            .filter(|(made, y)| made.iter().zip(*y).any(|(made, y)| far(*made, *y)));
        assert_eq!(whole.n_stored(), beyond.count());
        assert!((100..250).contains(&whole.n_stored()), "{}", whole.n_stored());
        let mut single = with_tolerance(1000, true, Some(0.3));
        (0..300).for_each(|i| single.learn_one(&x.row(i).to_vec(), &y.row(i).to_vec()).unwrap());
        assert_eq!(single.dictionary(), whole.dictionary());
        let apart = single.predict(x.view()).unwrap() - whole.predict(x.view()).unwrap();
        assert!(apart.iter().all(|apart| apart.abs() < 1e-10));
    }
}
