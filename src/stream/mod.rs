//! A basis and a learner together: something that learns a stream.

mod file;
pub mod presets;
mod spec;

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, s};

pub(crate) use file::KIND;
pub use spec::ModelSpec;

use crate::basis::{Basis, Nested};
use crate::error::{Error, Result};
use crate::learner::{Learner, Rows};
use crate::linalg::{Coordinates, Panel, write_array};
use crate::threads::for_each_block;
use crate::validate::{check_lengths, check_targets, check_weights, check_width, one_row};

/// A stream learner whose basis and learner are chosen when the program runs.
pub type AnyStream = Stream<Box<dyn Basis>, Box<dyn Learner>>;

/// Rows handled at once, and by one thread, where only predictions are asked for by `dim` coordinates: enough
/// for matrix products to pay and for some hundred microseconds of work, beside which the hand-over to a
/// thread is little; few enough to stay in the cache.
fn prediction_block(dim: usize) -> usize {
    let row = dim * (dim + 80);
    (4_000_000 / row.max(1)).clamp(4 * BLOCK, 40 * BLOCK) / BLOCK * BLOCK
}

/// Rows learned together: enough for matrix products to pay, few enough for what is between the rows
/// of a block (see [`Rows`]) to stay small.
const BLOCK: usize = 48;

/// Rows of a larger weight may bring out the rounding of learners that otherwise never fail.
const HEAVY: f64 = 100.0;

/// Learns a stream of rows `(x, y)` one pass, in memory that depends on the basis alone.
///
/// Each row is predicted before it is learned. With `m` coordinates and `d` features a row costs
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
/// let predictions = model.learn_and_predict(x.view(), y.view())?;   // each before it was learned
/// let error = (&predictions - &y).mapv(f64::abs);
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
    /// Whether rows may be more similar to themselves than learners are sure to bear.
    unbounded: bool,
    /// Scratch, so that no row allocates.
    z: Coordinates,
    x: Vec<f64>,
    y: Vec<f64>,
    prediction: Vec<f64>,
    /// The coordinate just added, of rows that the learner remembers.
    newest: Vec<f64>,
    block: Block,
    /// About how many rows lie between those that enter the basis, up to `BLOCK`.
    rows_since_growth: usize,
}

/// Scratch for a block of rows.
#[derive(Clone, Debug, Default)]
struct Block {
    z: Panel,
    targets: Panel,
    novel: Vec<bool>,
    made: Panel,
}

impl<B: Basis + Clone, L: Learner + Clone> Stream<B, L> {
    /// A model that has seen nothing yet.
    pub fn new(basis: B, learner: L) -> Self {
        Self {
            unbounded: basis.kernel().is_steep(),
            basis,
            learner,
            n_seen: 0,
            n_outputs: None,
            z: Coordinates::default(),
            x: Vec::new(),
            y: Vec::new(),
            prediction: Vec::new(),
            newest: Vec::new(),
            block: Block::default(),
            rows_since_growth: 0,
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
        points.panel().to_array()
    }

    /// Learns rows `x` (n, d) with targets `y` (n, p).
    ///
    /// All rows are checked before the first is learned. On an error the model is as before.
    pub fn learn(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<()> {
        self.learn_while(x, y, None, None, |_| true).map(|_| ())
    }

    /// Learns rows, and returns each one's prediction made before it was learned (n, p).
    pub fn learn_and_predict(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
    ) -> Result<Array2<f64>> {
        let mut predictions = Array2::zeros(y.raw_dim());
        self.learn_while(x, y, None, Some(predictions.view_mut()), |_| true)?;
        Ok(predictions)
    }

    /// [`learn`](Self::learn) that can be watched and stopped: before each row `go_on` is told how
    /// many are done, and ends the call by returning false. Returns how many rows were learned.
    /// Predictions made before learning go to `predictions` (n, p).
    ///
    /// `weights` (n) says how many times each row's loss counts; `None` is once.
    pub fn learn_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut predictions: Option<ArrayViewMut2<'_, f64>>,
        mut go_on: impl FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.check(x, y, weights)?;
        if x.nrows() == 0 {
            return Ok(0);
        }
        let before = self.snapshot(x.nrows(), weights);
        self.begin(x.ncols(), y.ncols())?;
        let mut i = 0;
        while i < x.nrows() {
            let most = self.block_size(x.nrows() - i);
            let asked = (i..i + most).take_while(|row| go_on(*row)).count();
            if asked == 0 {
                return Ok(i);
            }
            let rows = s![i..i + asked, ..];
            let weights = weights.map(|weights| weights.slice_move(s![i..i + asked]));
            let mut predictions = predictions.as_mut().map(|all| all.slice_mut(rows));
            let (x, y) = (x.slice(rows), y.slice(rows));
            let mut done = self.learn_block(x, y, weights, predictions.as_mut());
            if done == 0 {
                self.x.clear();
                self.x.extend(x.row(0));
                self.y.clear();
                self.y.extend(y.row(0));
                if let Err(error) = self.learn_row(weights.map_or(1.0, |weights| weights[0])) {
                    self.restore(before);
                    return Err(error.shifted(i));
                }
                if let Some(predictions) = &mut predictions {
                    predictions
                        .row_mut(0)
                        .iter_mut()
                        .zip(&self.prediction)
                        .for_each(|(to, from)| *to = *from);
                }
                done = 1;
            }
            i += done;
            if asked < most && done == asked {
                return Ok(i);
            }
        }
        Ok(i)
    }

    /// How many of the next rows, of which there are `left`, are worth a try as a block: few where rows
    /// keep entering the basis, since a block ends at the first that does.
    fn block_size(&self, left: usize) -> usize {
        let size = left.min(self.rows_since_growth).min(self.basis.max_block_len());
        let worthwhile = size >= 16 && self.learner.dim() >= self.learner.blocks_from();
        if worthwhile { size } else { 1 }
    }

    /// Learns rows by matrix products, up to the first that enters the basis or has no weight; returns how
    /// many. 0 where only a single row will do.
    fn learn_block(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        predictions: Option<&mut ArrayViewMut2<'_, f64>>,
    ) -> usize {
        if x.nrows() == 1 {
            return 0;
        }
        let novelty = self.basis.project_block(x, &mut self.block.z);
        let weights = weights.map(|weights| weights.to_vec());
        let idle = |i: usize| weights.as_ref().is_some_and(|weights| weights[i] == 0.0);
        let loss_driven = self.basis.loss_driven();
        let end = (0..x.nrows()).find(|&i| idle(i) || !loss_driven && novelty[i] > 0.0).unwrap_or(x.nrows());
        let Block { z, targets, novel, made } = &mut self.block;
        targets.reset(y.ncols(), end);
        for (j, row) in y.rows().into_iter().take(end).enumerate() {
            targets.col_mut(j).iter_mut().zip(row).for_each(|(to, from)| *to = *from);
        }
        novel.clear();
        novel.extend(novelty[..end].iter().map(|value| *value > 0.0));
        made.reset(y.ncols(), if predictions.is_some() { end } else { 0 });
        let rows = Rows {
            z: z.as_faer().subrows(0, end),
            y: targets.as_faer(),
            weights: weights.as_deref(),
            novel,
            loss_driven,
        };
        // What fails as a block may still go row by row, and if not, that names the row.
        let done = self.learner.learn_block(&rows, predictions.is_some().then_some(&mut *made)).unwrap_or(0);
        if let Some(predictions) = predictions {
            for (mut to, j) in predictions.rows_mut().into_iter().zip(0..done) {
                to.iter_mut().zip(made.col(j)).for_each(|(to, from)| *to = *from);
            }
        }
        if self.learner.memory().is_some() {
            for (i, (x, y)) in x.rows().into_iter().zip(y.rows()).enumerate().take(done) {
                self.x.clear();
                self.x.extend(x);
                self.y.clear();
                self.y.extend(y);
                self.z.set(z.row(i));
                let weight = weights.as_ref().map_or(1.0, |weights| weights[i]);
                self.learner.store(&self.x, &self.z, &self.y, weight);
            }
        }
        self.basis.commit_block(done);
        self.n_seen += done as u64;
        self.rows_since_growth = (self.rows_since_growth + done).min(BLOCK);
        done
    }

    /// Learns one row: checks and learns, no more.
    pub fn learn_one(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        let (rows, targets) = (one_row(x), one_row(y));
        self.check(rows, targets, None)?;
        let before = self.snapshot(1, None);
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

    /// One round with the row in `self.x`, `self.y`; the prediction goes to `self.prediction`.
    fn learn_row(&mut self, weight: f64) -> Result<()> {
        if weight == 0.0 {
            // Prediction, and then as if it had not been.
            let novelty = self.basis.features(&self.x, &mut self.z);
            self.learner.grow(self.z.len());
            self.learner.predict(&self.z, novelty, &mut self.prediction);
            self.n_seen += 1;
            return Ok(());
        }
        let (points, dim) = (self.basis.dim(), self.learner.dim());
        let novelty = self.basis.project(&self.x, &mut self.z);
        if self.z.len() > dim {
            // A basis of fixed size has all of its coordinates from the first row on.
            self.learner.grow(self.z.len());
        }
        let admitted = novelty > 0.0
            && (!self.basis.loss_driven() || self.learner.has_loss(&self.z, &self.y, &mut self.prediction));
        if admitted {
            self.basis.insert(&self.x, &mut self.z);
            self.learner.grow(self.z.len());
            if let Some(memory) = self.learner.memory() {
                self.basis.newest_coordinate(&mut memory.rows(), &mut self.newest);
                self.learner.backfill(&self.newest);
            }
        }
        if let Err(error) = self.learner.learn(&self.z, &self.y, weight, &mut self.prediction) {
            self.basis.rollback(points);
            self.learner.shrink(dim);
            return Err(error);
        }
        self.learner.store(&self.x, &self.z, &self.y, weight);
        if let Some(change) = self.basis.commit() {
            self.learner.change_basis(&change);
        }
        self.n_seen += 1;
        self.rows_since_growth =
            if admitted { self.rows_since_growth / 2 } else { (self.rows_since_growth + 1).min(BLOCK) };
        Ok(())
    }

    /// Fixes widths at the first row.
    fn begin(&mut self, width: usize, outputs: usize) -> Result<()> {
        if self.n_outputs.is_none() {
            self.basis.begin(width)?;
            self.learner.begin(outputs);
            self.n_outputs = Some(outputs);
            self.prediction = vec![0.0; outputs];
        }
        Ok(())
    }

    /// Whether the learner may refuse a checked row with such weights.
    pub(crate) fn can_fail(&self, weights: Option<ArrayView1<'_, f64>>) -> bool {
        let heavy = |weights: ArrayView1<'_, f64>| weights.iter().any(|weight| *weight > HEAVY);
        self.unbounded || self.learner.can_diverge() || weights.is_some_and(heavy)
    }

    /// What an error in a call of `n` rows needs to put the model back. One row undoes itself, and
    /// learners that cannot fail on checked rows are not copied; the basis only forgets what it
    /// appended.
    fn snapshot(&self, n: usize, weights: Option<ArrayView1<'_, f64>>) -> Before<B, L> {
        if self.n_outputs.is_none() {
            Before::Fresh(Box::new((self.basis.clone(), self.learner.clone())))
        } else if n > 1 && self.can_fail(weights) {
            let basis = (!self.basis.appends_only()).then(|| Box::new(self.basis.clone()));
            let (dim, learner) = (self.basis.dim(), self.learner.clone());
            Before::Learned {
                dim,
                basis,
                learner,
                n_seen: self.n_seen,
                rows_since_growth: self.rows_since_growth,
            }
        } else {
            Before::Same
        }
    }

    fn restore(&mut self, before: Before<B, L>) {
        match before {
            Before::Fresh(parts) => *self = Self::new(parts.0, parts.1),
            Before::Learned { dim, basis, learner, n_seen, rows_since_growth } => {
                match basis {
                    Some(basis) => self.basis = *basis,
                    None => self.basis.rollback(dim),
                }
                self.learner = learner;
                (self.n_seen, self.rows_since_growth) = (n_seen, rows_since_growth);
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
        check_targets(self.n_outputs, y)
    }

    fn check_x(&self, x: ArrayView2<'_, f64>) -> Result<()> {
        check_width("X", self.basis.width(), x.ncols())?;
        self.basis.check(x)
    }

    /// Predictions for rows `x` (n, d), as the model stands (n, p).
    ///
    /// By blocks, so that the work is matrix products, on several threads (see
    /// [`threads`](crate::threads)); the same numbers as one row at a time to rounding.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let outputs = self.n_outputs.ok_or(Error::NothingLearned)?;
        self.check_x(x)?;
        let mut out = Array2::zeros((x.nrows(), outputs));
        let size = prediction_block(self.basis.dim());
        let blocks = x.axis_chunks_iter(Axis(0), size).zip(out.axis_chunks_iter_mut(Axis(0), size));
        for_each_block(blocks, |(rows, mut out)| {
            let (mut block, mut z) = (Panel::default(), Coordinates::default());
            let novelty = self.basis.features_block(rows, &mut block);
            let mut prediction = vec![0.0; outputs];
            for (i, mut out) in out.rows_mut().into_iter().enumerate() {
                z.set(block.row(i));
                self.learner.predict(&z, novelty[i], &mut prediction);
                out.iter_mut().zip(&prediction).for_each(|(to, from)| *to = *from);
            }
        });
        Ok(out)
    }

    /// The prediction for one row, into `out`. Uses scratch of the model, hence `&mut`.
    pub fn predict_one(&mut self, x: &[f64]) -> Result<&[f64]> {
        if self.n_outputs.is_none() {
            return Err(Error::NothingLearned);
        }
        self.check_x(one_row(x))?;
        let novelty = self.basis.features(x, &mut self.z);
        self.learner.predict(&self.z, novelty, &mut self.prediction);
        Ok(&self.prediction)
    }

    /// Coordinates of rows `x` (n, d) in the basis as it stands (n, m). Their inner products are the
    /// kernel of the rows' projections on the stored points.
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if self.n_outputs.is_none() {
            return Err(Error::NothingLearned);
        }
        self.check_x(x)?;
        let mut out = Array2::zeros((x.nrows(), self.basis.dim()));
        let size = prediction_block(self.basis.dim());
        let blocks = x.axis_chunks_iter(Axis(0), size).zip(out.axis_chunks_iter_mut(Axis(0), size));
        for_each_block(blocks, |(rows, out)| {
            let mut block = Panel::default();
            self.basis.features_block(rows, &mut block);
            write_array(block.as_faer(), out);
        });
        Ok(out)
    }
}

impl<L: Learner + Clone> Stream<Nested, L> {
    /// The function learned, as one coefficient for each stored point and output (m, p):
    /// `f(x) = sum_i a_i k(s_i, x)` before centring and clipping.
    pub fn coefficients(&self) -> Array2<f64> {
        let weights = self.learner.weights();
        let mut out = Array2::zeros((weights.rows(), weights.cols()));
        if let Some(features) = self.basis.dictionary() {
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
    Learned { dim: usize, basis: Option<Box<B>>, learner: L, n_seen: u64, rows_since_growth: usize },
    /// Nothing to put back.
    Same,
}
