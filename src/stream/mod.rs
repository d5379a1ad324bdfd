//! A basis and a learner together: something that learns a stream.

mod file;
pub mod presets;
mod spec;

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis};

pub use spec::ModelSpec;

use crate::basis::{Basis, Nested};
use crate::door::{check_lengths, check_weights, check_width, one_row};
use crate::error::{Error, Result};
use crate::kernel::LARGEST;
use crate::learner::Learner;
use crate::linalg::Coordinates;

/// A stream learner whose basis and learner are chosen when the program runs.
pub type AnyStream = Stream<Box<dyn Basis>, Box<dyn Learner>>;

/// Rows handled at once where only forecasts are asked for: enough for matrix products to pay, few
/// enough to stay in the cache.
const BLOCK: usize = 256;

/// Learns a stream of rows `(x, y)` one pass, in memory that depends on the basis alone.
///
/// Each row is forecast before it is learned. With `m` coordinates and `d` features a row costs
/// `O(m d + m^2)` for its coordinates and what the learner adds; nothing is allocated for a row
/// that does not enter the basis. Any way of cutting a stream into calls gives the same model.
///
/// ```
/// use kernelstream::basis::Nested;
/// use kernelstream::kernel::Kernel;
/// use kernelstream::learner::{Ridge, RidgeSpec};
/// use kernelstream::stream::Stream;
/// use ndarray::{Array1, Array2};
///
/// # fn main() -> kernelstream::Result<()> {
/// let basis = Nested::ald(Kernel::gaussian(0.5)?, 1e-3)?;
/// let mut model = Stream::new(basis, Ridge::new(RidgeSpec::default())?);
///
/// let x = Array2::from_shape_fn((2000, 1), |(i, _)| (i as f64 * 0.618).fract() * 6.0);
/// let y = x.mapv(f64::sin);
/// let forecasts = model.learn_and_forecast(x.view(), y.view())?;   // each before it was learned
/// let error = (&forecasts - &y).mapv(f64::abs);
/// assert!(error.slice(ndarray::s![1000.., ..]).iter().all(|e| *e < 1e-2));
/// assert!(model.n_stored() < 30);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Stream<B, L> {
    basis: B,
    learner: L,
    n_seen: u64,
    n_outputs: Option<usize>,
    /// Scratch, so that no row allocates.
    z: Coordinates,
    x: Vec<f64>,
    y: Vec<f64>,
    forecast: Vec<f64>,
}

impl<B: Basis + Clone, L: Learner + Clone> Stream<B, L> {
    /// A model that has seen nothing yet.
    pub fn new(basis: B, learner: L) -> Self {
        Self {
            basis,
            learner,
            n_seen: 0,
            n_outputs: None,
            z: Coordinates::default(),
            x: Vec::new(),
            y: Vec::new(),
            forecast: Vec::new(),
        }
    }

    /// The basis.
    pub fn basis(&self) -> &B {
        &self.basis
    }

    /// The learner.
    pub fn learner(&self) -> &L {
        &self.learner
    }

    /// Rows learned so far.
    pub fn n_seen(&self) -> u64 {
        self.n_seen
    }

    /// Points stored so far.
    pub fn n_stored(&self) -> usize {
        self.basis.points().map_or(0, crate::kernel::PointSet::len)
    }

    /// Features of a row; `None` before the first.
    pub fn n_features(&self) -> Option<usize> {
        self.basis.width()
    }

    /// Outputs; `None` before the first row.
    pub fn n_outputs(&self) -> Option<usize> {
        self.n_outputs
    }

    /// The stored points, one a row (m, d).
    pub fn dictionary(&self) -> Array2<f64> {
        let Some(points) = self.basis.points() else { return Array2::zeros((0, 0)) };
        let panel = points.panel();
        Array2::from_shape_fn((panel.rows(), panel.cols()), |(i, j)| panel.get(i, j))
    }

    /// Learns rows `x` (n, d) with targets `y` (n, p).
    ///
    /// All rows are checked before the first is learned. On an error the model is as before.
    pub fn learn(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<()> {
        self.learn_while(x, y, None, None, |_| true).map(|_| ())
    }

    /// Learns rows, and returns each one's forecast made before it was learned (n, p).
    pub fn learn_and_forecast(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
    ) -> Result<Array2<f64>> {
        let mut forecasts = Array2::zeros(y.raw_dim());
        self.learn_while(x, y, None, Some(forecasts.view_mut()), |_| true)?;
        Ok(forecasts)
    }

    /// [`learn`](Self::learn) that can be watched and stopped: before each row `go_on` is told how
    /// many are done, and ends the call by returning false. Returns how many rows were learned.
    /// Forecasts made before learning go to `forecasts` (n, p).
    ///
    /// `weights` (n) says how many times each row's loss counts; `None` is once.
    pub fn learn_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut forecasts: Option<ArrayViewMut2<'_, f64>>,
        mut go_on: impl FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.check(x, y, weights)?;
        if x.nrows() == 0 {
            return Ok(0);
        }
        let before = self.snapshot(x.nrows());
        self.begin(x.ncols(), y.ncols())?;
        for (i, (x, y)) in x.rows().into_iter().zip(y.rows()).enumerate() {
            if !go_on(i) {
                return Ok(i);
            }
            self.x.clear();
            self.x.extend(x);
            self.y.clear();
            self.y.extend(y);
            if let Err(error) = self.learn_row(weights.map_or(1.0, |weights| weights[i])) {
                self.restore(before);
                return Err(error.shifted(i));
            }
            if let Some(forecasts) = &mut forecasts {
                for (to, from) in forecasts.row_mut(i).iter_mut().zip(&self.forecast) {
                    *to = *from;
                }
            }
        }
        Ok(x.nrows())
    }

    /// Learns one row: checks and learns, no more.
    pub fn learn_one(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        let (rows, targets) = (one_row(x), one_row(y));
        self.check(rows, targets, None)?;
        let before = self.snapshot(1);
        self.begin(x.len(), y.len())?;
        self.x.clear();
        self.x.extend_from_slice(x);
        self.y.clear();
        self.y.extend_from_slice(y);
        if let Err(error) = self.learn_row(1.0) {
            self.restore(before);
            return Err(error);
        }
        Ok(())
    }

    /// One round with the row in `self.x`, `self.y`; the forecast goes to `self.forecast`.
    fn learn_row(&mut self, weight: f64) -> Result<()> {
        if weight == 0.0 {
            // Forecast, and then as if it had not been.
            let novelty = self.basis.locate(&self.x, &mut self.z);
            self.learner.grow(self.z.len());
            self.learner.forecast(&self.z, novelty, &mut self.forecast);
            self.n_seen += 1;
            return Ok(());
        }
        let (points, dim) = (self.basis.dim(), self.learner.dim());
        let novelty = self.basis.offer(&self.x, &mut self.z);
        if self.z.len() > dim {
            // A basis of fixed size has all of its coordinates from the first row on.
            self.learner.grow(self.z.len());
        }
        if novelty > 0.0
            && (!self.basis.selective() || self.learner.moves(&self.z, &self.y, &mut self.forecast))
        {
            self.basis.admit(&self.x, &mut self.z);
            self.learner.grow(self.z.len());
        }
        if let Err(error) = self.learner.learn(&self.z, &self.y, weight, &mut self.forecast) {
            self.basis.rollback(points);
            self.learner.shrink(dim);
            return Err(error);
        }
        if let Some(rebase) = self.basis.settle() {
            self.learner.rebase(&rebase);
        }
        self.n_seen += 1;
        Ok(())
    }

    /// Fixes widths at the first row.
    fn begin(&mut self, width: usize, outputs: usize) -> Result<()> {
        if self.n_outputs.is_none() {
            self.basis.begin(width)?;
            self.learner.begin(outputs);
            self.n_outputs = Some(outputs);
            self.forecast = vec![0.0; outputs];
        }
        Ok(())
    }

    /// What an error in a call of `n` rows needs to put the model back. One row undoes itself, and
    /// learners that cannot fail on checked rows are not copied; the basis only forgets what it
    /// appended.
    fn snapshot(&self, n: usize) -> Before<B, L> {
        if self.n_outputs.is_none() {
            Before::Fresh(Box::new((self.basis.clone(), self.learner.clone())))
        } else if n > 1 && self.learner.can_diverge() {
            let basis = (!self.basis.appends_only()).then(|| Box::new(self.basis.clone()));
            let (dim, learner) = (self.basis.dim(), self.learner.clone());
            Before::Learned { dim, basis, learner, n_seen: self.n_seen }
        } else {
            Before::Same
        }
    }

    fn restore(&mut self, before: Before<B, L>) {
        match before {
            Before::Fresh(parts) => *self = Self::new(parts.0, parts.1),
            Before::Learned { dim, basis, learner, n_seen } => {
                match basis {
                    Some(basis) => self.basis = *basis,
                    None => self.basis.rollback(dim),
                }
                self.learner = learner;
                self.n_seen = n_seen;
            }
            Before::Same => {}
        }
    }

    /// Refuses what cannot be learned, naming the row: what [`learn`](Self::learn) asks first.
    pub fn check(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        check_lengths(x, "y", y)?;
        check_weights(x, weights)?;
        self.check_x(x)?;
        check_width("y", self.n_outputs, y.ncols())?;
        for ((row, column), &value) in y.indexed_iter() {
            if !value.is_finite() {
                return Err(Error::NotFinite { what: "y", row, column, value });
            }
            if value.abs() > LARGEST {
                return Err(Error::TooLarge { what: "y", row, magnitude: value.abs() });
            }
        }
        Ok(())
    }

    fn check_x(&self, x: ArrayView2<'_, f64>) -> Result<()> {
        check_width("X", self.basis.width(), x.ncols())?;
        self.basis.check(x)
    }

    /// Forecasts for rows `x` (n, d), as the model stands (n, p).
    ///
    /// By blocks, so that the work is matrix products; the same numbers as one row at a time to
    /// rounding.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let outputs = self.n_outputs.ok_or(Error::NothingLearned)?;
        self.check_x(x)?;
        let mut out = Array2::zeros((x.nrows(), outputs));
        let mut z = Coordinates::default();
        let mut forecast = vec![0.0; outputs];
        for (rows, mut out) in
            x.axis_chunks_iter(Axis(0), BLOCK).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK))
        {
            let (block, novelty) = self.basis.locate_block(rows);
            for (i, mut out) in out.rows_mut().into_iter().enumerate() {
                z.set(block.col(i).iter().copied());
                self.learner.forecast(&z, novelty[i], &mut forecast);
                out.iter_mut().zip(&forecast).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(out)
    }

    /// The forecast for one row, into `out`. Uses scratch of the model, hence `&mut`.
    pub fn predict_one(&mut self, x: &[f64]) -> Result<&[f64]> {
        if self.n_outputs.is_none() {
            return Err(Error::NothingLearned);
        }
        self.check_x(one_row(x))?;
        let novelty = self.basis.locate(x, &mut self.z);
        self.learner.forecast(&self.z, novelty, &mut self.forecast);
        Ok(&self.forecast)
    }

    /// Coordinates of rows `x` (n, d) in the basis as it stands (n, m). Their inner products are the
    /// kernel of the rows' projections on the stored points.
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if self.n_outputs.is_none() {
            return Err(Error::NothingLearned);
        }
        self.check_x(x)?;
        let mut out = Array2::zeros((x.nrows(), self.basis.dim()));
        for (rows, mut out) in
            x.axis_chunks_iter(Axis(0), BLOCK).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK))
        {
            let (block, _) = self.basis.locate_block(rows);
            out.indexed_iter_mut().for_each(|((i, j), to)| *to = block[(j, i)]);
        }
        Ok(out)
    }
}

impl<L: Learner + Clone> Stream<Nested, L> {
    /// The function learned, as one coefficient for each stored point and output (m, p):
    /// `f(x) = sum_i a_i k(s_i, x)` before centring and clipping.
    pub fn coefficients(&self) -> Array2<f64> {
        let weights = self.learner.weights();
        let mut out = Array2::zeros((weights.rows(), weights.cols()));
        if let Some(features) = self.basis.features() {
            for (c, mut out) in out.columns_mut().into_iter().enumerate() {
                let mut column = weights.col(c).to_vec();
                features.factor().solve_transposed(&mut column);
                out.iter_mut().zip(column).for_each(|(to, from)| *to = from);
            }
        }
        out
    }
}

/// What a model was before a call that may fail.
enum Before<B, L> {
    /// It had seen nothing.
    Fresh(Box<(B, L)>),
    /// It had learned rows, and its learner may refuse one.
    Learned { dim: usize, basis: Option<Box<B>>, learner: L, n_seen: u64 },
    /// Nothing to put back.
    Same,
}
