//! Nested features of points admitted by approximate linear dependence.

use ndarray::{Array2, Array3, ArrayView2};

use super::prefetch::Prefetch;
use super::{Basis, BasisBlocks, BasisFile, BasisGrowth, BasisPoints, NestedFeatures, Projection};
use crate::error::{Error, Result, in_range, positive};
use crate::kernel::{KernelSpec, PointSet};
use crate::linalg::{BLOCK, Coordinates, Panel, own_coordinate, resolution};
use crate::persist::{Reader, Writer};
use crate::validate::check_rows;

/// Nested features whose points are admitted if the dictionary does not explain them.
///
/// A point is stored if its squared distance to the span of the stored ones, relative to `k(x, x)`,
/// exceeds `tolerance` (the ALD test of Engel, Mannor and Meir, 2004; Li and Liao, 2023, eq. 5) and
/// the [`resolution`] of rounding, while there is room. After that, points are used through their
/// projection.
///
/// A tolerance of 0 admits all points that are not already in the span to rounding.
///
/// With noise, each point is novel, even a repeated one: see [`Nested::noisy_points`].
#[derive(Clone, Debug)]
pub struct Nested {
    kernel: KernelSpec,
    pub(super) tolerance: f64,
    pub(super) max_size: Option<usize>,
    pub(super) loss_driven: bool,
    pub(super) noise: f64,
    /// Whether the dictionary is frozen.
    pub(super) frozen: bool,
    /// `None` until the width is known.
    features: Option<NestedFeatures>,
    /// Position of the last projected row.
    latest: Projection,
    /// Coordinates of later rows.
    prefetch: Prefetch,
}

impl Nested {
    /// Admission by approximate linear dependence. `tolerance` is from 0 to below 1.
    pub fn ald(kernel: impl Into<KernelSpec>, tolerance: f64) -> Result<Self> {
        let kernel = kernel.into();
        let tolerance =
            in_range("tolerance", tolerance, (0.0..1.0).contains(&tolerance), "from 0 to below 1")?;
        kernel.resolve(0)?;
        Ok(Self {
            kernel,
            tolerance,
            max_size: None,
            loss_driven: false,
            noise: 0.0,
            frozen: false,
            features: None,
            latest: Projection::default(),
            prefetch: Prefetch::default(),
        })
    }

    /// Every point that the others do not explain to rounding: exact, with memory that grows with
    /// the stream.
    pub fn all_points(kernel: impl Into<KernelSpec>) -> Result<Self> {
        Self::ald(kernel, 0.0)
    }

    /// All points, while there is room, each with its own noise: the kernel plus `noise`, positive,
    /// for a point and itself. The factor is that of `K + noise I`, as of a Gaussian process, and
    /// the coordinates of later rows are computed together as matrix products: see
    /// [`Interpolation`](crate::learner::Interpolation).
    pub fn noisy_points(kernel: impl Into<KernelSpec>, noise: f64) -> Result<Self> {
        let noise = positive("noise", noise)?;
        Ok(Self { noise, ..Self::ald(kernel, 0.0)? })
    }

    /// At most `max_size` points, at least 1.
    pub fn with_max_size(mut self, max_size: usize) -> Result<Self> {
        self.max_size = Some(in_range("max_size", max_size, max_size > 0, "at least 1")?);
        Ok(self)
    }

    /// Only points with nonzero loss, if `loss_driven`: for losses of labels, where a point far on
    /// the right side of the margin need not be stored.
    #[must_use]
    pub fn with_loss_driven(mut self, loss_driven: bool) -> Self {
        self.loss_driven = loss_driven;
        self
    }

    /// Coordinates of `x`, which becomes a point if it is novel.
    pub(crate) fn take(&mut self, x: &[f64], z: &mut Coordinates) -> Result<()> {
        let is_novel = self.project(x, z) > 0.0;
        self.latest.check_bound(z.as_slice().iter().copied())?;
        if is_novel {
            self.insert(x, z);
        }
        Ok(())
    }

    /// Reads features, and refuses more of them than there may be.
    pub(crate) fn read_features(&mut self, from: &Reader<'_>, name: &str, kernel: &KernelSpec) -> Result<()> {
        let features = NestedFeatures::read(from, name, kernel, self.noise)?;
        if self.max_size.is_some_and(|most| features.dim() > most) {
            return Err(Error::file(format!("{name}.points are more than its size allows")));
        }
        let frozen = format!("{name}.frozen");
        self.frozen = from.has(&frozen) && from.counts(&frozen)? != [0];
        self.features = Some(features);
        Ok(())
    }

    /// Writes what [`read_features`](Self::read_features) reads.
    pub(crate) fn write_features(&self, out: &mut Writer, name: &str) {
        if let Some(features) = &self.features {
            features.write(out, name);
        }
        if self.frozen {
            out.counts(&format!("{name}.frozen"), &[1]);
        }
    }

    /// Whether another basis has the same points, and keeps them as long as both learn the same
    /// rows: false for points that depend on the learner.
    pub(super) fn has_points_of(&self, other: &Self) -> bool {
        let points =
            |basis: &Self| basis.features.as_ref().map(|features| features.points().panel().to_row_major());
        self.kernel == other.kernel
            && self.spec() == other.spec()
            && !self.loss_driven
            && self.frozen == other.frozen
            && self.width() == other.width()
            && points(self) == points(other)
    }

    /// Copies the additional points of another basis.
    pub(super) fn follow(&mut self, leader: &Self) {
        if let (Some(features), Some(longer)) = (&mut self.features, &leader.features) {
            features.follow(longer);
        }
    }

    /// Stores no further point.
    pub(super) fn set_frozen(&mut self) {
        self.frozen = true;
    }

    pub(super) fn set_dictionary(&mut self, features: NestedFeatures) {
        self.features = Some(features);
    }

    pub(crate) fn dictionary_mut(&mut self) -> Option<&mut NestedFeatures> {
        self.features.as_mut()
    }

    /// The features, once the width is known.
    #[must_use]
    pub fn dictionary(&self) -> Option<&NestedFeatures> {
        self.features.as_ref()
    }

    /// Whether a point at this position relative to `dim` stored points is admitted.
    pub(crate) fn admits(&self, dim: usize, projection: &Projection) -> bool {
        let residual = projection.relative_residual();
        !self.frozen
            && residual > self.tolerance
            && (self.noise > 0.0 || residual > resolution(dim))
            && self.max_size.is_none_or(|most| dim < most)
    }

    fn residual_coordinate(&self, dim: usize, projection: &Projection) -> f64 {
        if self.admits(dim, projection) {
            own_coordinate(dim, projection.residual, projection.similarity)
        } else {
            0.0
        }
    }
}

impl Basis for Nested {
    fn dim(&self) -> usize {
        self.features.as_ref().map_or(0, NestedFeatures::dim)
    }

    fn width(&self) -> Option<usize> {
        self.features.as_ref().map(|features| features.points().width())
    }

    fn begin(&mut self, width: usize) -> Result<()> {
        if self.features.is_none() {
            let features = NestedFeatures::new(self.kernel.resolve(width)?, width);
            let mut features = features.with_noise(self.noise);
            features.expect(self.max_size.unwrap_or(0));
            self.features = Some(features);
        }
        Ok(())
    }

    fn check(&self, rows: ArrayView2<'_, f64>) -> Result<()> {
        match &self.features {
            Some(features) => check_rows(features.kernel(), "X", rows),
            None => check_rows(&self.kernel.resolve(rows.ncols())?, "X", rows),
        }
    }

    fn project(&mut self, x: &[f64], z: &mut Coordinates) -> f64 {
        let Some(features) = &self.features else { return 0.0 };
        let prefetched = self.prefetch.project(features, x, z);
        let projection = prefetched.unwrap_or_else(|| features.project(x, z));
        self.latest = projection;
        self.residual_coordinate(features.dim(), &projection)
    }

    fn insert(&mut self, x: &[f64], z: &mut Coordinates) {
        if let Some(features) = &mut self.features {
            features.append(x, z, &self.latest);
            self.prefetch.inserted(z);
        }
    }

    fn features(&self, x: &[f64], z: &mut Coordinates) -> f64 {
        let Some(features) = &self.features else { return 0.0 };
        let projection = features.project(x, z);
        self.residual_coordinate(features.dim(), &projection)
    }

    fn rollback(&mut self, dim: usize) {
        if let Some(features) = &mut self.features {
            features.truncate(dim);
        }
        self.prefetch.end();
    }
}

impl BasisBlocks for Nested {
    /// 0 for points with noise: their own coordinates are never so small that rounding is
    /// magnified.
    fn prefetch(&self) -> usize {
        if self.noise > 0.0 && self.dim() >= BLOCK { BLOCK } else { 0 }
    }

    fn prefetch_rows(&mut self, rows: ArrayView2<'_, f64>) {
        if let Some(features) = &self.features {
            self.prefetch.begin(features, rows);
        }
    }

    fn max_block_len(&self) -> usize {
        usize::MAX
    }

    fn features_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        let Some(features) = &self.features else {
            z.reshape(rows.nrows(), 0);
            return vec![0.0; rows.nrows()];
        };
        let projections = features.project_block(&PointSet::gather(rows), z);
        projections.iter().map(|p| self.residual_coordinate(features.dim(), p)).collect()
    }
}

impl BasisGrowth for Nested {
    fn loss_driven(&self) -> bool {
        self.loss_driven
    }

    fn appends_only(&self) -> bool {
        true
    }

    fn most(&self) -> Option<usize> {
        self.max_size
    }

    fn is_full(&self) -> bool {
        self.frozen || self.max_size.is_some_and(|most| self.dim() >= most)
    }

    fn is_bounded(&self) -> bool {
        !self.kernel.is_steep() && self.noise <= 1.0
    }
}

impl BasisPoints for Nested {
    fn gradient(&self, x: ArrayView2<'_, f64>, weights: &Panel) -> Option<Array3<f64>> {
        self.features.as_ref().map(|features| features.gradient(x, weights))
    }

    fn squared_norm_gradient(&self, x: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
        self.features.as_ref().map(|features| features.squared_norm_gradient(x))
    }

    fn similarity(&self, x: &[f64]) -> Option<f64> {
        self.features.as_ref().map(|features| features.similarity(x))
    }

    fn common_similarity(&self) -> Option<f64> {
        let common = self.features.as_ref().and_then(|features| features.kernel().constant_diag());
        common.map(|similarity| similarity + self.noise)
    }

    fn check_bound(&self, left: &Projection, z: &mut dyn Iterator<Item = f64>) -> Result<()> {
        left.check_bound(z)
    }

    fn condition(&self) -> Option<f64> {
        self.features.as_ref()?.factor().condition()
    }

    fn points(&self) -> Option<&PointSet> {
        self.features.as_ref().map(NestedFeatures::points)
    }

    fn newest_coordinate(&self, rows: &mut dyn Iterator<Item = (&[f64], &[f64])>, out: &mut Vec<f64>) {
        if let Some(features) = &self.features {
            features.newest_coordinate(rows, out);
        }
    }
}

impl BasisFile for Nested {
    fn kernel(&self) -> &KernelSpec {
        &self.kernel
    }

    fn write(&self, out: &mut Writer) {
        self.write_features(out, "basis");
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        self.read_features(from, "basis", &self.kernel.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::GrowingCholesky;

    #[test]
    fn coordinates_beyond_the_kernel_are_an_error_that_names_the_row() {
        let mut nested = Nested::all_points(KernelSpec::Gaussian { bandwidth: Some(1.0) }).unwrap();
        nested.begin(1).unwrap();
        let (mut z, point) = (Coordinates::default(), [0.5]);
        nested.take(&point, &mut z).unwrap();
        nested.take(&point, &mut z).unwrap();
        // The factor of another Gram matrix.
        let features = nested.dictionary().unwrap();
        let (kernel, points) = (features.kernel().clone(), features.points().clone());
        let factor = GrowingCholesky::from_row_major(&[0.9], 1).unwrap();
        nested.set_dictionary(NestedFeatures::from_parts(kernel, points, factor).unwrap());
        let error = nested.take(&point, &mut z).unwrap_err().shifted(3);
        assert!(matches!(error, Error::Unbounded { .. }));
        assert_eq!(error.row(), Some(3));
        assert_eq!(nested.dim(), 1);
    }
}
