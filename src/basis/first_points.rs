//! The first points of a stream, then their leading Nystrom features.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par, Side};
use ndarray::ArrayView2;

use super::{Basis, BasisBlocks, BasisFile, BasisGrowth, BasisPoints, Nested, Projection};
use crate::error::{Error, Result, in_range};
use crate::kernel::{KernelSpec, PointSet};
use crate::linalg::{ChangeOfBasis, Coordinates, Panel, loops};
use crate::persist::{Reader, Writer};

/// The first `size` points as nested features until all are there, then their `rank` leading Nystrom
/// features: the basis of NOGD (Lu, Hoi, Wang, Zhao and Liu, 2016, Algorithm 3).
///
/// With `K = L L' = V D V'` these features are `D_k^{-1/2} V_k' k(x) = U_k' z` for the leading
/// eigenvectors `U_k` of `L'L`, so the change is a rotation and truncation of the coordinates.
/// Learned weights become `w <- U_k' w`: the projection of the function on the span of the
/// features.
#[derive(Clone, Debug)]
pub struct FirstPoints {
    pub(super) nested: Nested,
    pub(super) size: usize,
    pub(super) rank: usize,
    /// `U_k' L^{-1}`, from similarities to features (rank, size), once all points are stored.
    map: Option<Panel>,
    /// Similarities of the current row.
    similarities: Coordinates,
}

impl FirstPoints {
    /// Points stored as by `nested` until there are `size`, then `rank` features, from 1 to `size`.
    pub(super) fn new(nested: Nested, size: usize, rank: usize) -> Result<Self> {
        in_range("rank", rank, (1..=size).contains(&rank), "from 1 to size")?;
        Ok(Self { nested, size, rank, map: None, similarities: Coordinates::default() })
    }

    /// Features of `x`; false before all points are stored.
    fn leading_features(&self, x: &[f64], similarities: &mut Coordinates, z: &mut Coordinates) -> bool {
        let (Some(map), Some(features)) = (&self.map, self.nested.dictionary()) else { return false };
        let (values, scratch) = similarities.prepare(self.size);
        features.kernel().row(features.points(), x, values, scratch);
        let (to, _) = z.prepare(self.rank);
        loops::multiply(map.data(), map.stride(), &similarities.as_slice()[..self.size], to);
        true
    }
}

impl Basis for FirstPoints {
    fn dim(&self) -> usize {
        if self.map.is_some() { self.rank } else { self.nested.dim() }
    }

    fn width(&self) -> Option<usize> {
        self.nested.width()
    }

    fn begin(&mut self, width: usize) -> Result<()> {
        self.nested.begin(width)
    }

    fn check(&self, rows: ArrayView2<'_, f64>) -> Result<()> {
        self.nested.check(rows)
    }

    fn project(&mut self, x: &[f64], z: &mut Coordinates) -> f64 {
        let mut similarities = std::mem::take(&mut self.similarities);
        let done = self.leading_features(x, &mut similarities, z);
        self.similarities = similarities;
        if done { 0.0 } else { self.nested.project(x, z) }
    }

    fn insert(&mut self, x: &[f64], z: &mut Coordinates) {
        self.nested.insert(x, z);
    }

    fn commit(&mut self) -> Option<ChangeOfBasis> {
        if self.map.is_some() || self.nested.dim() < self.size {
            return None;
        }
        let factor = self.nested.dictionary()?.factor();
        let lower = factor.factor().as_faer();
        let mut inner = Mat::zeros(self.size, self.size);
        matmul(inner.as_mut(), Accum::Replace, lower.transpose(), lower, 1.0, Par::Seq);
        // If the decomposition fails, the points' own coordinates stay.
        let eigen = inner.self_adjoint_eigen(Side::Lower).ok()?;
        // Eigenvalues ascend: the leading eigenvectors are the last.
        let leading = eigen.U().subcols(self.size - self.rank, self.rank).to_owned();
        let mut back = leading.clone();
        factor.solve_transposed_block(back.as_mut());
        let mut map = Panel::zeros(self.rank, self.size);
        map.as_faer_mut().copy_from(back.transpose());
        self.map = Some(map);
        Some(ChangeOfBasis::Map(leading.transpose().to_owned()))
    }

    fn features(&self, x: &[f64], z: &mut Coordinates) -> f64 {
        if self.leading_features(x, &mut Coordinates::default(), z) {
            0.0
        } else {
            self.nested.features(x, z)
        }
    }

    fn rollback(&mut self, dim: usize) {
        if self.map.is_none() {
            self.nested.rollback(dim);
        }
    }
}

impl BasisBlocks for FirstPoints {
    fn max_block_len(&self) -> usize {
        usize::MAX
    }

    fn features_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        let (Some(map), Some(features)) = (&self.map, self.nested.dictionary()) else {
            return self.nested.features_block(rows, z);
        };
        let similarities = features.kernel().similarities_of_rows(features.points(), rows);
        similarities.times(map.as_faer().transpose(), z);
        vec![0.0; rows.nrows()]
    }
}

impl BasisGrowth for FirstPoints {
    fn loss_driven(&self) -> bool {
        self.nested.loss_driven()
    }

    fn is_full(&self) -> bool {
        self.map.is_some() || self.nested.is_full()
    }

    fn is_bounded(&self) -> bool {
        self.nested.is_bounded()
    }
}

impl BasisPoints for FirstPoints {
    fn similarity(&self, x: &[f64]) -> Option<f64> {
        self.nested.similarity(x)
    }

    fn common_similarity(&self) -> Option<f64> {
        self.nested.common_similarity()
    }

    fn check_bound(&self, left: &Projection, z: &mut dyn Iterator<Item = f64>) -> Result<()> {
        self.nested.check_bound(left, z)
    }

    fn condition(&self) -> Option<f64> {
        self.nested.condition()
    }

    fn points(&self) -> Option<&PointSet> {
        self.nested.points()
    }

    fn newest_coordinate(&self, rows: &mut dyn Iterator<Item = (&[f64], &[f64])>, out: &mut Vec<f64>) {
        self.nested.newest_coordinate(rows, out);
    }
}

impl BasisFile for FirstPoints {
    fn kernel(&self) -> &KernelSpec {
        self.nested.kernel()
    }

    fn write(&self, out: &mut Writer) {
        self.nested.write(out);
        let rows = self.map.as_ref().map_or(0, Panel::rows);
        let entries = self.map.as_ref().map(Panel::to_row_major).unwrap_or_default();
        out.matrix("basis.map", rows, self.size, &entries);
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        self.nested.read(from)?;
        if from.is_empty("basis.map") {
            return Ok(());
        }
        let (rows, cols, entries) = from.matrix("basis.map")?;
        if (rows, cols) != (self.rank, self.size) || self.nested.dim() != self.size {
            return Err(Error::file("basis.map has the wrong shape"));
        }
        self.map = Some(Panel::from_row_major(&entries, rows, cols));
        Ok(())
    }
}
