//! An expert: a setting, and streams that partition the space.

use std::sync::Arc;

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, Axis};

use super::AdaptiveSpec;
use super::params::MemberParams;
use super::partition::Partition;
use super::preprocessing::{Columns, Preprocessing, Views};
use super::selection::Setting;
use super::spec::of_loss;
use crate::basis::BasisSpec;
use crate::error::{Error, Result};
use crate::experts::answers::Answers;
use crate::kernel::{KernelSpec, Metric};
use crate::learner::{GaussNewtonSpec, InterpolationSpec, LearnerSpec, Loss, RidgeSpec};
use crate::linalg::{padded, with_scratch};
use crate::model::{Introspection, Model};
use crate::persist::{Persist, Reader, Writer, load_inside};
use crate::stream::{AnyStream, ModelSpec};
use crate::uncertainty::Spread;

/// Number of streams of an expert, their size and forgetting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MemberShape {
    pub cells: usize,
    pub size: usize,
    pub forgetting: f64,
    /// Whether it is exact, with one stream: kernel ridge regression on the rows that were not
    /// predicted well. With few rows it makes a tenth fewer mistakes than streams in few
    /// coordinates; it is dropped when it has become large.
    pub exact: bool,
}

/// Description of an expert of [`AdaptiveExperts`](super::AdaptiveExperts).
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct MemberReport {
    /// Kernel, applied after `metric`.
    pub kernel: KernelSpec,
    /// Factors of the transformed columns, or their map.
    pub metric: Metric,
    /// Whether columns become normal scores; otherwise they are standardized and clipped.
    pub normal_scores: bool,
    /// Regularization of the learner, or the noise of each point.
    pub regularization: f64,
    /// Forgetting of the learner.
    pub forgetting: f64,
    /// Number of dictionaries (cells).
    pub cells: usize,
    /// Whether it is exact, on the rows that were not predicted well.
    pub exact: bool,
    /// Points stored in all cells.
    pub n_stored: usize,
    /// Number of the refit that added it, from 1.
    #[serde(rename = "generation")]
    pub refit: u64,
}

/// A stream of preprocessed rows, or several, one for each k-means cell, so that a row costs one
/// cell.
#[derive(Clone, Debug)]
pub(super) struct Member {
    params: MemberParams,
    preprocessing: Arc<Preprocessing>,
    partition: Partition,
    cells: Vec<AnyStream>,
    /// Forgetting of the learners.
    forgetting: f64,
    /// Whether it is exact.
    exact: bool,
    /// Prior variance of the unexplained part of an entirely novel row, in units of the noise; 0 of a linear expert, whose
    /// points span all rows.
    open: f64,
    /// Number of the refit that added it.
    pub refit: u64,
    /// Whether it is lasting: without forgetting, and started with a sample of all rows.
    pub lasts: bool,
    /// Consecutive blocks without weight.
    pub idle: u64,
}

impl Member {
    /// An untrained expert whose cells partition the rows of `views`.
    pub fn new(
        setting: &Setting,
        shape: MemberShape,
        spec: &AdaptiveSpec,
        views: &Views,
        refit: u64,
    ) -> Result<Self> {
        let (loss, params) = (spec.loss, spec.params.members);
        let share = if shape.cells > 1 { of_loss(loss, params.cell_regularization) } else { 1.0 };
        let regularization = setting.regularization * share;
        let max_size = Some(shape.size);
        let (basis, learner) = if shape.exact {
            let tolerance = params.exact_tolerance;
            let learner = LearnerSpec::Interpolation(InterpolationSpec { center: false, tolerance });
            (BasisSpec::NoisyPoints { noise: regularization, max_size, loss_driven: true }, learner)
        } else {
            // For labels, rows beyond the margin have zero loss and are not stored. Experts with
            // forgetting store every row, because they must cover the current inputs.
            let loss_driven = loss.is_margin() && shape.forgetting >= 1.0;
            let tolerance = params.tolerance;
            let basis = BasisSpec::Ald { tolerance, max_size, loss_driven };
            let mut learner = learner(loss, regularization, shape.forgetting);
            // Fewer than two rows a coefficient do not determine a line, whose values are then kept within the range of
            // targets; with more it may extrapolate, as far as columns, which are clipped, do.
            if let (true, LearnerSpec::Ridge(ridge)) = (is_linear(&setting.kernel), &mut learner) {
                let rows = views.through(&setting.preprocessing).nrows();
                ridge.clip = rows < 2 * (setting.preprocessing.width() + 1);
            }
            (basis, learner)
        };
        let spec = ModelSpec { kernel: setting.kernel.clone(), basis, learner };
        let partition = Partition::of(views.through(&setting.preprocessing), shape.cells, params.cell_rounds);
        let cells = (0..partition.len()).map(|_| spec.build()).collect::<Result<_>>()?;
        let preprocessing = Arc::clone(&setting.preprocessing);
        let open = open(&spec, &params);
        let MemberShape { forgetting, exact, .. } = shape;
        Ok(Self {
            params,
            preprocessing,
            partition,
            cells,
            forgetting,
            exact,
            open,
            refit,
            lasts: false,
            idle: 0,
        })
    }

    /// Its preprocessing.
    pub fn preprocessing(&self) -> &Arc<Preprocessing> {
        &self.preprocessing
    }

    /// Shares the preprocessing of another expert if both are equal.
    pub fn share_preprocessing(&mut self, other: &Self) {
        if self.preprocessing.is_like(&other.preprocessing) {
            self.preprocessing = Arc::clone(&other.preprocessing);
        }
    }

    /// Number of stored points.
    pub fn n_stored(&self) -> usize {
        self.cells.iter().map(Introspection::n_stored).sum()
    }

    /// Number of learned rows.
    #[cfg(test)]
    pub fn n_seen(&self) -> u64 {
        self.cells.iter().map(Model::n_seen).sum()
    }

    /// Stored points after preprocessing, cell by cell.
    pub fn dictionaries(&self) -> impl Iterator<Item = Array2<f64>> {
        self.cells.iter().map(Introspection::dictionary)
    }

    /// Its description.
    pub fn report(&self) -> MemberReport {
        let spec = self.cells[0].spec();
        MemberReport {
            kernel: spec.kernel,
            metric: self.preprocessing.metric().clone(),
            normal_scores: self.is_of_scores(),
            regularization: match spec.basis {
                BasisSpec::NoisyPoints { noise, .. } => noise,
                _ => of_learner(&spec.learner).1,
            },
            forgetting: self.forgetting,
            cells: self.cells.len(),
            exact: self.exact,
            n_stored: self.n_stored(),
            refit: self.refit,
        }
    }

    /// Whether columns become normal scores.
    pub fn is_of_scores(&self) -> bool {
        self.preprocessing.is_of_scores()
    }

    /// Factor on the weight of a row at each later row.
    pub fn forgetting(&self) -> f64 {
        self.forgetting
    }

    /// Whether it skips this block: with slow forgetting, since slow drift needs no immediate
    /// response.
    pub fn rests(&self) -> bool {
        self.idle >= self.params.idle_blocks
            && !self.idle.is_multiple_of(self.params.skipping_period)
            && (self.params.short_memory..1.0).contains(&self.forgetting)
    }

    /// Whether it is exact.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Whether it is exact and full: it learns no more.
    pub fn is_complete(&self) -> bool {
        self.exact && self.cells.iter().all(AnyStream::is_full)
    }

    /// Learns validated rows, and outputs its predictions before. After an error it is dropped, so
    /// that no copy is needed.
    pub fn learn(
        &mut self,
        views: &Views,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<Answers> {
        if self.rests() {
            return Ok(Answers::of_none(y.dim()));
        }
        let seen = views.through(&self.preprocessing);
        let mut answers = Answers::zeros(y.dim());
        for (cell, rows) in self.partition.shared_out(seen) {
            let (x, mut y) = (seen.select(Axis(0), &rows), y.select(Axis(0), &rows));
            if self.exact {
                y *= self.params.exact_target;
            }
            let weights: Option<Array1<f64>> = weights.map(|weights| weights.select(Axis(0), &rows));
            let weights = weights.as_ref().map(|weights| weights.view());
            let mut own = Answers::zeros(y.dim());
            let prequential = own.prequential(rows.len());
            self.cells[cell].learn_rows(x.view(), y.view(), weights, prequential, &mut |_| true)?;
            answers.put(&own, &rows);
        }
        Ok(answers.being_sure(|novelty| self.sure(novelty)))
    }

    /// Outputs for rows in the current state: predictions, confidences, novelty with respect to the
    /// cells, and spreads if requested.
    pub fn answer(&self, x: ArrayView2<'_, f64>, outputs: usize, spread: Option<Spread>) -> Result<Answers> {
        let seen = self.preprocessing.apply(x);
        let mut answers = Answers::zeros((x.nrows(), outputs));
        for (cell, rows) in self.partition.shared_out(seen.view()) {
            let mut own = Answers::zeros((rows.len(), outputs));
            self.cells[cell]
                .answer(seen.select(Axis(0), &rows).view(), own.prequential_of(rows.len(), spread))?;
            answers.put(&own, &rows);
        }
        let answers = answers.being_sure(|novelty| self.sure(novelty));
        Ok(if self.is_constant() { answers.of_any_row() } else { answers })
    }

    /// Predictions for rows (n, outputs).
    pub fn predict(&self, x: ArrayView2<'_, f64>, outputs: usize) -> Result<Array2<f64>> {
        self.answer(x, outputs, None).map(Answers::into_made)
    }

    /// Confidence in a row of this novelty, from 0 to 1: noise variance over the sum of noise
    /// variance and prior variance of the unexplained part. It is 1 with forgetting and for linear
    /// experts, and small for the constant expert.
    fn sure(&self, novelty: f64) -> f64 {
        if self.is_constant() {
            self.params.constant_confidence
        } else if self.forgetting < 1.0 || self.exact {
            1.0
        } else {
            (1.0 + self.open * novelty).recip()
        }
    }

    /// Whether it is the constant expert, which uses targets only.
    pub fn is_constant(&self) -> bool {
        self.forgetting <= self.params.constant_forgetting
    }

    /// Prediction of one row, into `out`, and its confidence.
    pub fn predict_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<f64> {
        with_scratch(|scratch| {
            with_scratch(|seen| {
                let (scratch, _) = scratch.prepare(x.len());
                let width = self.preprocessing.width();
                let (seen, _) = seen.prepare(width);
                debug_assert_eq!(seen.len(), padded(width));
                self.preprocessing.write(x.iter().copied(), &mut scratch[..x.len()], seen);
                let seen = &seen[..width];
                let cell = &self.cells[self.partition.cell_of(seen)];
                cell.predict_one_and_novelty(seen, out).map(|novelty| self.sure(novelty))
            })
        })
    }

    /// Gradients of the outputs with respect to the columns of rows (n, outputs, d).
    pub fn gradient(&self, x: ArrayView2<'_, f64>, outputs: usize, columns: Columns) -> Result<Array3<f64>> {
        self.slopes(x, outputs, columns, |cell, seen| cell.gradient(seen))
    }

    /// Gradients of the log [confidence](Self::sure) with respect to the columns of rows (n, 1, d), given the
    /// confidence.
    pub fn gradient_of_sure(
        &self,
        x: ArrayView2<'_, f64>,
        sure: &Array1<f64>,
        columns: Columns,
    ) -> Result<Array3<f64>> {
        if self.forgetting < 1.0 || self.exact || self.open <= 0.0 {
            return Ok(Array3::zeros((x.nrows(), 1, x.ncols())));
        }
        let of = |cell: &AnyStream, seen: ArrayView2<'_, f64>| {
            Ok(cell.novelty_gradient(seen)?.insert_axis(Axis(1)))
        };
        let mut out = self.slopes(x, 1, columns, of)?;
        for (mut out, sure) in out.outer_iter_mut().zip(sure) {
            out *= -sure * self.open;
        }
        Ok(out)
    }

    /// Gradients with respect to the columns of rows (n, values, d), from those with respect to preprocessed
    /// rows in each cell.
    fn slopes(
        &self,
        x: ArrayView2<'_, f64>,
        values: usize,
        columns: Columns,
        of: impl Fn(&AnyStream, ArrayView2<'_, f64>) -> Result<Array3<f64>>,
    ) -> Result<Array3<f64>> {
        let seen = self.preprocessing.apply(x);
        let mut out = Array3::zeros((x.nrows(), values, x.ncols()));
        for (cell, rows) in self.partition.shared_out(seen.view()) {
            let inner = of(&self.cells[cell], seen.select(Axis(0), &rows).view())?;
            for (inner, i) in inner.outer_iter().zip(rows) {
                let x = x.row(i).to_vec();
                for (inner, mut out) in
                    inner.rows().into_iter().zip(out.index_axis_mut(Axis(0), i).rows_mut())
                {
                    self.preprocessing.add_gradient(
                        &x,
                        &inner.to_vec(),
                        columns,
                        out.as_slice_mut().unwrap_or(&mut []),
                    );
                }
            }
        }
        Ok(out)
    }

    /// How far a row is out of the range of a column that its transform was learned from, from 0 to 1: transforms clip what
    /// is beyond.
    pub fn out_of_range(&self, x: ArrayView1<'_, f64>) -> f64 {
        let each = self.preprocessing.columns().iter().zip(x).map(|(column, x)| column.excess(*x));
        1.0 - (-4.0 * each.fold(0.0, f64::max)).exp()
    }

    /// For each column, whether a row is out of the range of its transform, by this share of the
    /// range.
    pub fn beyond<'a>(&'a self, x: ArrayView1<'a, f64>, margin: f64) -> impl Iterator<Item = bool> + 'a {
        self.preprocessing.columns().iter().zip(x).map(move |(column, x)| column.is_beyond(*x, margin))
    }

    pub fn write(&self, name: &str, out: &mut Writer) -> Result<()> {
        self.preprocessing.write_file(name, out);
        let spec = serde_json::to_vec(&self.cells[0].spec()).map_err(|e| Error::file(e.to_string()))?;
        out.bytes(&format!("{name}.spec"), spec);
        out.counts(&format!("{name}.counts"), &[self.refit, self.idle, u64::from(self.lasts)]);
        self.partition.write(&format!("{name}.centres"), out);
        for (c, cell) in self.cells.iter().enumerate() {
            out.bytes(&format!("{name}.cell.{c}"), cell.to_bytes(serde_json::Value::Null)?);
        }
        Ok(())
    }
}

impl Member {
    /// Reads what [`write`](Self::write) wrote, for rows of this width and outputs.
    pub fn read(
        name: &str,
        (width, outputs): (usize, usize),
        params: MemberParams,
        from: &Reader<'_>,
    ) -> Result<Self> {
        let spec = String::from_utf8_lossy(from.bytes(&format!("{name}.spec"))?).into_owned();
        let spec = ModelSpec::from_json(&spec)?;
        let preprocessing = Arc::new(Preprocessing::read_file(name, width, from)?);
        let [refit, idle, lasts] = from.counts(&format!("{name}.counts"))?;
        let partition = Partition::read(&format!("{name}.centres"), preprocessing.width(), from)?;
        let mut cells = Vec::new();
        for c in 0..partition.len() {
            let cell = load_inside(from, &format!("{name}.cell.{c}"), &spec.build()?)?;
            if cell.n_features() != Some(preprocessing.width()) || cell.n_outputs() != Some(outputs) {
                return Err(Error::file(format!("{name}.cell.{c} does not fit the rows")));
            }
            cells.push(cell);
        }
        let (_, _, forgetting) = of_learner(&spec.learner);
        let open = open(&spec, &params);
        let exact = matches!(spec.learner, LearnerSpec::Interpolation(_));
        let lasts = lasts != 0;
        Ok(Self { params, preprocessing, partition, cells, forgetting, exact, open, refit, lasts, idle })
    }
}

/// Prior variance of what is unexplained, in units of the noise.
fn open(spec: &ModelSpec, params: &MemberParams) -> f64 {
    let (loss, regularization, _) = of_learner(&spec.learner);
    if is_linear(&spec.kernel) { 0.0 } else { of_loss(loss, params.residual_variance) / regularization }
}

/// Whether it is that of the linear expert.
fn is_linear(kernel: &KernelSpec) -> bool {
    matches!(kernel, KernelSpec::Polynomial { degree: 1, .. })
}

/// Loss, regularization and forgetting of the result of [`learner`].
fn of_learner(spec: &LearnerSpec) -> (Loss, f64, f64) {
    match spec {
        LearnerSpec::Ridge(spec) => (Loss::Squared, spec.regularization, spec.forgetting),
        LearnerSpec::GaussNewton(spec) => (spec.loss, spec.regularization, spec.forgetting),
        _ => (Loss::Squared, 1.0, 1.0),
    }
}

/// Learner for a loss, with the regularization that is best for ridge regression on the same
/// targets.
fn learner(loss: Loss, regularization: f64, forgetting: f64) -> LearnerSpec {
    match loss {
        Loss::SquaredHinge => {
            LearnerSpec::GaussNewton(GaussNewtonSpec { loss, regularization, forgetting, center: false })
        }
        _ => LearnerSpec::Ridge(RidgeSpec { regularization, forgetting, ..RidgeSpec::default() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experts::adaptive::buffer::Sample;
    use crate::experts::adaptive::selection::select;
    use crate::random::normal;
    use faer::linalg::solvers::Solve;

    /// `1 - k' K^-1 k` of the point `x` and the stored ones.
    fn novelty(points: &Array2<f64>, x: ArrayView1<'_, f64>, kernel: &KernelSpec) -> f64 {
        let kernel = kernel.resolve(x.len()).unwrap();
        let similarity =
            |a: ArrayView1<'_, f64>, b: ArrayView1<'_, f64>| kernel.eval(&a.to_vec(), &b.to_vec());
        let m = points.nrows();
        let gram = faer::Mat::from_fn(m, m, |i, j| similarity(points.row(i), points.row(j)));
        let k = faer::Mat::from_fn(m, 1, |i, _| similarity(points.row(i), x));
        1.0 - (k.transpose() * gram.partial_piv_lu().solve(&k))[(0, 0)]
    }

    #[test]
    fn confidence_follows_from_novelty() {
        let x = Array2::from_shape_fn((600, 2), |(i, k)| normal(7, (2 * i + k) as u64));
        let y = x.map_axis(Axis(1), |x| (2.0 * x[0]).sin() + x[1]).insert_axis(Axis(1));
        let sample = Sample { x: x.clone(), y: y.clone(), weights: Array1::ones(600) };
        let mut unsure = 0;
        for setting in select(&sample, None, &AdaptiveSpec { size: 30, ..AdaptiveSpec::default() }).unwrap() {
            for cells in [1, 4] {
                let views = Views::of([&setting.preprocessing], x.view());
                let shape = MemberShape { cells, size: 30, forgetting: 1.0, exact: false };
                let mut member = Member::new(&setting, shape, &AdaptiveSpec::default(), &views, 1).unwrap();
                let before = member.learn(&views, y.view(), None).unwrap();
                let regularization = member.report().regularization;
                assert!(before.sure()[0] <= before.sure()[599] && before.sure().iter().all(|s| *s > 0.0));
                let rows = &x.slice(ndarray::s![..50, ..]) * 1.5;
                let sure = member.answer(rows.view(), 1, None).unwrap();
                let seen = member.preprocessing.apply(rows.view());
                for (i, seen) in seen.rows().into_iter().enumerate() {
                    let cell = &member.cells[member.partition.cell_of(&seen.to_vec())];
                    let new = novelty(&cell.dictionary(), seen, &cell.spec().kernel);
                    let expected = regularization / (regularization + 2.0 * new.max(0.0));
                    assert!((sure.sure()[i] - expected).abs() < 1e-4, "{} {expected}", sure.sure()[i]);
                    let one = member.predict_one_into(&rows.row(i).to_vec(), &mut [0.0]).unwrap();
                    assert!((one - expected).abs() < 1e-4, "{one} {expected}");
                    unsure += usize::from(expected < 0.8);
                }
            }
        }
        assert!(unsure > 20, "{unsure}");
    }

    #[test]
    fn rows_beyond_the_margin_are_not_stored() {
        let x = Array2::from_shape_fn((600, 2), |(i, k)| normal(17, (2 * i + k) as u64));
        let y = x.map_axis(Axis(1), |x| x[0].signum()).insert_axis(Axis(1));
        let sample = Sample { x: x.clone(), y: y.clone(), weights: Array1::ones(600) };
        let spec = |loss| AdaptiveSpec { size: 100, loss, ..AdaptiveSpec::default() };
        let settings = select(&sample, None, &spec(Loss::SquaredHinge)).unwrap();
        let preprocessing = Arc::clone(&settings[0].preprocessing);
        let kernel = KernelSpec::Laplacian { bandwidth: Some(3.0) };
        let setting = Setting { preprocessing, kernel, regularization: 0.01 };
        let views = Views::of([&setting.preprocessing], x.view());
        let learned = |loss| {
            let shape = MemberShape { cells: 1, size: 600, forgetting: 1.0, exact: false };
            let mut member = Member::new(&setting, shape, &spec(loss), &views, 1).unwrap();
            let made = member.learn(&views, y.view(), None).unwrap().into_made();
            (made, member.n_stored())
        };
        let (made, points) = learned(Loss::SquaredHinge);
        let within = made.iter().zip(&y).filter(|(made, y)| *made * *y < 1.0).count();
        assert_eq!(points, within);
        assert!(points < 400, "{points}");
        assert_eq!(learned(Loss::Squared).1, 600);
    }
}
