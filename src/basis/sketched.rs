//! Features of sketched kernel matrices, which are updated in steps: the basis of FORKS and
//! `SkeGD`.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{Basis, BasisBlocks, BasisFile, BasisGrowth, BasisPoints, Nested};
use crate::error::{Error, Result, in_range};
use crate::kernel::{Kernel, KernelSpec, PointSet};
use crate::linalg::{
    ChangeOfBasis, Coordinates, GramSketch, Panel, SparseSketch, TruncatedEigen, loops, sketch, to_array,
};
use crate::memory::affordable;
use crate::persist::{Reader, Writer};

/// Singular values of `S'KT` below this share of the largest are not inverted: their features would
/// be magnified rounding. On the tables of the paper this makes no difference.
const NEGLIGIBLE: f64 = 1e-6;

/// Seed of the landmarks, in addition to that of the sketch.
const LANDMARKS: u64 = 0x6c61_6e64_6d61_726b;

/// Parameters of [`Sketched`]. Sizes that are not given are those of the paper's experiments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SketchedSpec {
    /// `B`: points of stage one, at least 1.
    pub size: usize,
    /// `s_p`: columns of the sketch `S`; `size` if `None`.
    pub sketch_size: Option<usize>,
    /// `s_m`: number of landmarks, at most `size`; a fifth of the sketch's columns if `None`.
    pub landmarks: Option<usize>,
    /// `k`: features, at most the sketch's columns; a tenth of `size` if `None`.
    pub rank: Option<usize>,
    /// `D`: blocks of the sketch, which divide its columns.
    pub blocks: usize,
    /// `rho`: rows between two updates of the features; no updates if `None`.
    pub period: Option<usize>,
    /// Most points in the sketch, after which it is not updated; no limit if `None`.
    pub max_size: Option<usize>,
    /// Seed of the sketch and of the choice of landmarks.
    pub random_state: u64,
}

impl Default for SketchedSpec {
    fn default() -> Self {
        Self {
            size: 100,
            sketch_size: None,
            landmarks: None,
            rank: None,
            blocks: 1,
            period: Some(3000),
            max_size: None,
            random_state: 0,
        }
    }
}

impl SketchedSpec {
    fn sketch_size(&self) -> usize {
        self.sketch_size.unwrap_or(self.size)
    }

    fn landmarks(&self) -> usize {
        self.landmarks.unwrap_or_else(|| (self.sketch_size() / 5).clamp(1, self.size))
    }

    fn rank(&self) -> usize {
        self.rank.unwrap_or_else(|| (self.size / 10).clamp(1, self.sketch_size()))
    }

    fn checked(self) -> Result<Self> {
        in_range("size", self.size, self.size > 0, "at least 1")?;
        let (width, landmarks, rank) = (self.sketch_size(), self.landmarks(), self.rank());
        SparseSketch::new(width, self.blocks, self.random_state)?;
        // Input of a symmetric decomposition, and the sketch of the first points.
        affordable("the sketch", width, width.saturating_mul(4).saturating_add(self.size))?;
        in_range("landmarks", landmarks, (1..=self.size).contains(&landmarks), "from 1 to size")?;
        in_range("rank", rank, (1..=width).contains(&rank), "from 1 to sketch_size")?;
        in_range("period", self.period, self.period != Some(0), "at least 1")?;
        in_range("max_size", self.max_size, self.max_size.is_none_or(|n| n >= self.size), "at least size")?;
        Ok(self)
    }
}

/// Features that approximate the kernel by two sketches of the Gram matrix of points of the stream, and
/// follow it: FORKS (Wen et al., 2024) and `SkeGD` (Zhang and Liao, 2019).
///
/// Stage one gathers the first `size` points whose loss is not zero, in [nested](Nested) coordinates.
/// In stage two `x` has the features
/// ```text
/// phi(x) = Z' k(x, T),   Z = (S'KT)^+ V D^{1/2},   S'KS ~ V D V'   (rank k)
/// ```
/// for the Gram matrix `K` of all points in the sketch, a sparse transform `S` and landmarks `T` drawn
/// from the first points; a row costs `O(s_m (d + k))`. Every `period` rows the row at hand enters `K`,
/// which changes `S'KS` by a symmetric matrix of rank 2, followed by [`TruncatedEigen`], and `S'KT` by a
/// matrix of rank 1; then come new features, and the learner starts again.
///
/// Memory is that of the points in the sketch, `size` and one more each period, since a new point
/// is compared with all of them; `max_size` bounds it. Departures from the paper:
///
/// - the landmarks stay those of the beginning (see [`GramSketch`]);
/// - the symmetric update in place of the general one, which needs `V` on both sides;
/// - singular values of `S'KT` below 1e-6 of the largest are not inverted;
/// - points that the others span to rounding, such as repeated ones, are gathered once;
/// - the row that changes the features is predicted and learned with the features before it.
#[derive(Clone, Debug)]
pub struct Sketched {
    pub(super) spec: SketchedSpec,
    /// Points of stage one.
    nested: Nested,
    second: Option<Box<Second>>,
}

/// Stage two.
#[derive(Clone, Debug)]
struct Second {
    kernel: Kernel,
    /// All points in the sketch.
    points: PointSet,
    landmarks: PointSet,
    sketch: GramSketch,
    eigen: TruncatedEigen,
    /// `Z'` (rank, landmarks)
    map: Panel,
    condition: f64,
    /// Rows since the features changed last.
    since: usize,
    /// The current row, and its similarities.
    row: Vec<f64>,
    similarities: Coordinates,
}

impl Second {
    /// The sketch of the first points from their Gram matrix; `None` after overflow.
    fn begin(
        spec: &SketchedSpec,
        kernel: &Kernel,
        points: &PointSet,
        gram: ArrayView2<'_, f64>,
    ) -> Option<Self> {
        let chosen = sketch::sample(spec.size, spec.landmarks(), spec.random_state ^ LANDMARKS).ok()?;
        let transform = SparseSketch::new(spec.sketch_size(), spec.blocks, spec.random_state).ok()?;
        let sketch = GramSketch::new(transform, gram, &chosen).ok()?;
        let eigen = TruncatedEigen::from_matrix(sketch.square(gram).view(), spec.rank()).ok()?;
        let mut second = Self {
            kernel: kernel.clone(),
            points: points.clone(),
            landmarks: picked(points, &chosen),
            sketch,
            eigen,
            map: Panel::default(),
            condition: 0.0,
            since: 0,
            row: Vec::new(),
            similarities: Coordinates::default(),
        };
        second.derive().then_some(second)
    }

    /// Adds the current row to the sketch; false, with unchanged features, after overflow.
    fn take(&mut self) -> bool {
        let (values, scratch) = self.similarities.prepare(self.points.len());
        self.kernel.row(&self.points, &self.row, values, scratch);
        let own = self.kernel.diag(&self.row);
        let Ok((s, u)) = self.sketch.push(self.similarities.as_slice()) else { return false };
        self.points.push(&self.row);
        self.eigen.border(s, u, own).is_ok() && self.derive()
    }

    /// Recomputes `Z`.
    fn derive(&mut self) -> bool {
        let Ok(svd) = self.sketch.mixed().thin_svd() else { return false };
        let values: Vec<f64> = svd.S().column_vector().iter().copied().collect();
        let largest = values.first().copied().unwrap_or(0.0);
        let kept = values.iter().take_while(|v| **v > NEGLIGIBLE * largest).count();
        if kept == 0 {
            return false;
        }
        self.condition = largest / values[kept - 1];
        // Z' = (V D^1/2)' U S^-1 W' for S'KT = U S W'.
        let vectors = self.eigen.vectors();
        let mut left = Mat::zeros(vectors.ncols(), kept);
        matmul(left.as_mut(), Accum::Replace, vectors.transpose(), svd.U().subcols(0, kept), 1.0, Par::Seq);
        for (i, value) in self.eigen.values().iter().enumerate() {
            for (j, singular) in values[..kept].iter().enumerate() {
                left[(i, j)] *= value.sqrt() / singular;
            }
        }
        let mut map = Panel::zeros(vectors.ncols(), self.landmarks.len());
        matmul(map.as_faer_mut(), Accum::Replace, left, svd.V().subcols(0, kept).transpose(), 1.0, Par::Seq);
        self.map = map;
        true
    }

    /// Features of `x`, into `z`.
    fn features(&self, x: &[f64], similarities: &mut Coordinates, z: &mut Coordinates) {
        let (values, scratch) = similarities.prepare(self.landmarks.len());
        self.kernel.row(&self.landmarks, x, values, scratch);
        let (to, _) = z.prepare(self.map.rows());
        loops::multiply(self.map.data(), self.map.stride(), similarities.as_slice(), to);
    }
}

/// Some of the points.
fn picked(points: &PointSet, numbers: &[usize]) -> PointSet {
    let (panel, mut out) = (points.panel(), PointSet::new(points.width()));
    let mut point = vec![0.0; points.width()];
    for &i in numbers {
        for (j, value) in point.iter_mut().enumerate() {
            *value = panel.get(i, j);
        }
        out.push(&point);
    }
    out
}

/// The points with these coordinates, row after row.
fn points_of(entries: &[f64], width: usize) -> PointSet {
    let mut out = PointSet::new(width);
    for point in entries.chunks_exact(width.max(1)) {
        out.push(point);
    }
    out
}

fn entries_of(matrix: MatRef<'_, f64>) -> Vec<f64> {
    (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| matrix[(i, j)])).collect()
}

impl Sketched {
    /// A basis without points, with validated parameters.
    pub fn new(kernel: impl Into<KernelSpec>, spec: SketchedSpec) -> Result<Self> {
        let spec = spec.checked()?;
        let nested = Nested::all_points(kernel)?.with_max_size(spec.size)?.with_loss_driven(true);
        Ok(Self { spec, nested, second: None })
    }

    /// From nested coordinates to features, once all points are stored.
    fn change(&mut self) -> Option<ChangeOfBasis> {
        let features = self.nested.dictionary()?;
        let factor = features.factor().factor().as_faer();
        let mut gram = Mat::zeros(self.spec.size, self.spec.size);
        matmul(gram.as_mut(), Accum::Replace, factor, factor.transpose(), 1.0, Par::Seq);
        let gram = to_array(gram.as_ref());
        // If the decomposition fails, the points' own coordinates stay.
        let second = Second::begin(&self.spec, features.kernel(), features.points(), gram.view())?;
        let dim = second.map.rows();
        self.second = Some(Box::new(second));
        Some(ChangeOfBasis::Restart { dim })
    }

    /// Whether the current row changes the features.
    fn due(&self, second: &Second) -> bool {
        self.spec.period.is_some_and(|period| second.since + 1 >= period)
            && self.spec.max_size.is_none_or(|most| second.points.len() < most)
    }
}

impl Basis for Sketched {
    fn dim(&self) -> usize {
        self.second.as_ref().map_or_else(|| self.nested.dim(), |second| second.map.rows())
    }

    fn width(&self) -> Option<usize> {
        self.second.as_ref().map_or_else(|| self.nested.width(), |second| Some(second.points.width()))
    }

    fn begin(&mut self, width: usize) -> Result<()> {
        self.nested.begin(width)
    }

    fn check(&self, rows: ArrayView2<'_, f64>) -> Result<()> {
        self.nested.check(rows)
    }

    fn project(&mut self, x: &[f64], z: &mut Coordinates) -> f64 {
        let Some(mut second) = self.second.take() else { return self.nested.project(x, z) };
        let mut similarities = std::mem::take(&mut second.similarities);
        second.features(x, &mut similarities, z);
        second.similarities = similarities;
        if self.due(&second) {
            second.row.clear();
            second.row.extend_from_slice(x);
        }
        self.second = Some(second);
        0.0
    }

    fn insert(&mut self, x: &[f64], z: &mut Coordinates) {
        self.nested.insert(x, z);
    }

    fn commit(&mut self) -> Option<ChangeOfBasis> {
        let Some(mut second) = self.second.take() else {
            return if self.nested.dim() < self.spec.size { None } else { self.change() };
        };
        let due = self.due(&second);
        second.since = if due { 0 } else { second.since.saturating_add(1) };
        let changed = due && second.take();
        let dim = second.map.rows();
        self.second = Some(second);
        changed.then_some(ChangeOfBasis::Restart { dim })
    }

    fn features(&self, x: &[f64], z: &mut Coordinates) -> f64 {
        let Some(second) = &self.second else { return self.nested.features(x, z) };
        second.features(x, &mut Coordinates::default(), z);
        0.0
    }

    fn rollback(&mut self, dim: usize) {
        if self.second.is_none() {
            self.nested.rollback(dim);
        }
    }
}

impl BasisBlocks for Sketched {
    fn features_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        let Some(second) = &self.second else { return self.nested.features_block(rows, z) };
        let similarities = second.kernel.similarities_of_rows(&second.landmarks, rows);
        similarities.times(second.map.as_faer().transpose(), z);
        vec![0.0; rows.nrows()]
    }

    fn max_block_len(&self) -> usize {
        match (&self.second, self.spec.period) {
            // The row that changes the features must be projected.
            (Some(second), Some(period)) => period.saturating_sub(1).saturating_sub(second.since),
            _ => usize::MAX,
        }
    }

    fn commit_block(&mut self, rows: usize) {
        if let Some(second) = &mut self.second {
            second.since = second.since.saturating_add(rows);
        }
    }
}

impl BasisGrowth for Sketched {
    fn loss_driven(&self) -> bool {
        true
    }

    fn is_full(&self) -> bool {
        self.second.is_some()
    }

    fn is_bounded(&self) -> bool {
        self.nested.is_bounded()
    }
}

impl BasisPoints for Sketched {
    fn similarity(&self, x: &[f64]) -> Option<f64> {
        // The unexplained part of features is unknown.
        if self.second.is_none() { self.nested.similarity(x) } else { None }
    }

    fn points(&self) -> Option<&PointSet> {
        self.second.as_ref().map_or_else(|| self.nested.points(), |second| Some(&second.points))
    }

    /// The condition number of the inverted part of `S'KT` in stage two, as of `Z`.
    fn condition(&self) -> Option<f64> {
        self.second.as_ref().map(|second| second.condition)
    }

    fn newest_coordinate(&self, rows: &mut dyn Iterator<Item = (&[f64], &[f64])>, out: &mut Vec<f64>) {
        self.nested.newest_coordinate(rows, out);
    }
}

impl BasisFile for Sketched {
    fn kernel(&self) -> &KernelSpec {
        self.nested.kernel()
    }

    fn write(&self, out: &mut Writer) {
        out.counts("basis.stage", &[u64::from(self.second.is_some())]);
        let Some(second) = &self.second else { return self.nested.write(out) };
        let (points, landmarks) = (&second.points, &second.landmarks);
        out.matrix("basis.points", points.len(), points.width(), &points.panel().to_row_major());
        let mixed = second.sketch.mixed();
        out.matrix("basis.mixed", mixed.nrows(), mixed.ncols(), &entries_of(mixed));
        let (vectors, values) = second.eigen.kept();
        out.matrix("basis.vectors", vectors.nrows(), vectors.ncols(), &entries_of(vectors));
        out.vector("basis.values", values);
        out.matrix("basis.map", second.map.rows(), landmarks.len(), &second.map.to_row_major());
        out.vector("basis.condition", &[second.condition]);
        out.counts("basis.counts", &[second.eigen.rounds(), second.since as u64]);
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        match from.counts("basis.stage")? {
            [0] => return self.nested.read(from),
            [1] => {}
            _ => return Err(Error::file("basis.stage is neither 0 nor 1")),
        }
        let (count, width, points) = from.matrix("basis.points")?;
        let spec = &self.spec;
        let (landmarks, rank, sketch_size) = (spec.landmarks(), spec.rank(), spec.sketch_size());
        if width == 0 || count < spec.size {
            return Err(Error::file("basis.points has the wrong shape"));
        }
        let rows = ArrayView2::from_shape((count, width), &points)
            .map_err(|_| Error::file("basis.points has the wrong shape"))?;
        self.nested.begin(width)?;
        self.nested.check(rows)?;
        let chosen = sketch::sample(spec.size, landmarks, spec.random_state ^ LANDMARKS)?;
        let transform = SparseSketch::new(sketch_size, spec.blocks, spec.random_state)?;
        let mixed = from.matrix_of("basis.mixed", sketch_size, landmarks)?;
        let mixed = ArrayView2::from_shape((sketch_size, landmarks), &mixed)
            .map_err(|_| Error::file("basis.mixed has the wrong shape"))?;
        let sketch = GramSketch::from_parts(transform, &chosen, count, mixed)?;
        let (height, kept, vectors) = from.matrix("basis.vectors")?;
        let vectors = ArrayView2::from_shape((height, kept), &vectors)
            .map_err(|_| Error::file("basis.vectors has the wrong shape"))?;
        let values = from.vector("basis.values", kept)?;
        let [rounds, since] = from.counts("basis.counts")?;
        if height != sketch_size {
            return Err(Error::file("basis.vectors has the wrong shape"));
        }
        let eigen = TruncatedEigen::from_parts(rank, vectors, &values, rounds)?;
        let map = from.matrix_of("basis.map", rank, landmarks)?;
        let condition = from.vector("basis.condition", 1)?[0];
        let points = points_of(&points, width);
        self.second = Some(Box::new(Second {
            kernel: self.nested.kernel().resolve(width)?,
            landmarks: picked(&points, &chosen),
            points,
            sketch,
            eigen,
            map: Panel::from_row_major(&map, rank, landmarks),
            condition,
            since: usize::try_from(since).unwrap_or(0),
            row: Vec::new(),
            similarities: Coordinates::default(),
        }));
        Ok(())
    }
}
