//! A joint basis for models learned in several places.

use std::cmp::Ordering;

use faer::Mat;

use super::{AnyBasis, Basis as _, BasisFile as _, Nested, NestedFeatures, Projection};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, PointSet};
use crate::linalg::{Coordinates, Panel, Spanning};
use crate::threads::map_each;
use crate::validate::{check_alike, check_width};

/// Tolerance of the joint points, as a share of the tolerance of the parts, whose points represent
/// rows only up to their own tolerance. At 1 predictions of eight parts were 3 to 15 percent worse
/// than those of one stream, at this share 1 to 5 percent, with a third to two thirds more points
/// (see `docs/merging.md`).
const FINER: f64 = 0.1;

/// The map (joint, own) from the coordinates of a part to joint ones. `None`: the identity.
pub type Lift = Option<Mat<f64>>;

/// A basis whose coordinates can be mapped to those of a joint basis.
pub trait MergeBasis: Sized {
    /// Refuses a basis with another specification or width.
    fn check_merge(&self, other: &Self) -> Result<()>;

    /// A basis for all `parts`, which are [compatible](Self::check_merge) and have learned rows,
    /// and the map from the coordinates of each. It does not depend on the order of the parts.
    fn joint(parts: &[&Self]) -> Result<(Self, Vec<Lift>)>;

    /// Stores no further point.
    fn freeze(&mut self) -> Result<()>;
}

/// Points that span those of all parts up to a tenth of the tolerance, while there is room. The
/// least explained point comes next (a Cholesky factorization with pivots); of equal ones the first
/// in the order of their features.
///
/// Coordinates of a part are mapped by `T = L^{-1} K(D, D_A) L_A^{-T}`, for which `T'T = I` if the
/// joint points `D` span the part's.
impl MergeBasis for Nested {
    fn check_merge(&self, other: &Self) -> Result<()> {
        check_alike("kernel", self.kernel(), other.kernel())?;
        check_alike("basis", &self.spec(), &other.spec())?;
        self.check_spans()?;
        let (Some(width), Some(other_width)) = (self.width(), other.width()) else { return Ok(()) };
        check_width("X of a part", Some(width), other_width)?;
        let same = || match (self.dictionary(), other.dictionary()) {
            (Some(own), Some(its)) => same_points(own, its),
            _ => false,
        };
        // A frozen copy can be added to its original, which may store more points later.
        if self.frozen == other.frozen || same() {
            return Ok(());
        }
        Err(Error::merge("one dictionary is frozen and another is not; freeze both, or neither"))
    }

    fn joint(parts: &[&Self]) -> Result<(Self, Vec<Lift>)> {
        let dictionaries: Vec<_> = parts.iter().filter_map(|part| part.dictionary()).collect();
        let [first, others @ ..] = &dictionaries[..] else { return Err(Error::NothingLearned) };
        if others.iter().all(|other| same_points(first, other)) {
            return Ok((parts[0].clone(), vec![None; parts.len()]));
        }
        let candidates = Candidates::of(&dictionaries);
        let (features, coordinates) = candidates.spanned(parts[0], first.kernel());
        let lifts = map_each(&dictionaries, |part| Some(candidates.lift(part, &coordinates)));
        let mut joint = parts[0].clone();
        joint.set_dictionary(features);
        Ok((joint, lifts))
    }

    fn freeze(&mut self) -> Result<()> {
        self.set_frozen();
        Ok(())
    }
}

impl MergeBasis for AnyBasis {
    fn check_merge(&self, other: &Self) -> Result<()> {
        if let (Self::Nested(own), Self::Nested(other)) = (self, other) {
            return own.check_merge(other);
        }
        check_alike("kernel", self.kernel(), other.kernel())?;
        check_alike("basis", &self.spec(), &other.spec())?;
        self.check_adds()?;
        match (self.width(), other.width()) {
            (Some(width), Some(other)) => check_width("X of a part", Some(width), other),
            _ => Ok(()),
        }
    }

    fn joint(parts: &[&Self]) -> Result<(Self, Vec<Lift>)> {
        let Some(first) = parts.first() else { return Err(Error::NothingLearned) };
        first.check_adds()?;
        let nested = |part: &&Self| if let Self::Nested(basis) = part { Some(basis.clone()) } else { None };
        let Some(nested) = parts.iter().map(nested).collect::<Option<Vec<_>>>() else {
            // Fixed functions are the same in all parts.
            return Ok(((*first).clone(), vec![None; parts.len()]));
        };
        let (joint, lifts) = Nested::joint(&nested.iter().collect::<Vec<_>>())?;
        Ok((Self::Nested(joint), lifts))
    }

    fn freeze(&mut self) -> Result<()> {
        self.check_adds()?;
        if let Self::Nested(basis) = self { basis.freeze() } else { Ok(()) }
    }
}

impl Nested {
    /// Refuses points with noise, whose coordinates are not those of their span.
    fn check_spans(&self) -> Result<()> {
        if self.noise == 0.0 {
            return Ok(());
        }
        Err(Error::merge("points with noise of their own are those of one stream; take ald or all_points"))
    }
}

impl AnyBasis {
    /// Refuses bases that replace coordinates.
    fn check_adds(&self) -> Result<()> {
        match self {
            Self::Nested(basis) => basis.check_spans(),
            Self::Taylor(_) | Self::Fourier(_) => Ok(()),
            Self::FirstPoints(_) | Self::Kors(_) | Self::Sketched(_) => Err(Error::merge(
                "this basis draws its points at random or replaces its coordinates; take ald, all_points, \
                 first_points without a rank, fourier or taylor",
            )),
        }
    }
}

fn same_points(one: &NestedFeatures, other: &NestedFeatures) -> bool {
    one.dim() == other.dim() && one.points().panel().to_row_major() == other.points().panel().to_row_major()
}

/// Points of several dictionaries, without repetitions, in the order of their features.
struct Candidates {
    points: Vec<Vec<f64>>,
}

impl Candidates {
    fn of(parts: &[&NestedFeatures]) -> Self {
        let points = |part: &NestedFeatures| -> Vec<Vec<f64>> {
            (0..part.dim()).map(|i| part.points().point(i).to_vec()).collect()
        };
        let mut points: Vec<_> = parts.iter().flat_map(|part| points(part)).collect();
        points.sort_by(|a, b| by_features(a, b));
        points.dedup();
        Self { points }
    }

    /// Their dictionary, for `basis`, and the coordinates of all points in it.
    fn spanned(&self, basis: &Nested, kernel: &Kernel) -> (NestedFeatures, Panel) {
        let set = |points: &mut dyn Iterator<Item = &Vec<f64>>| {
            let mut set = PointSet::new(self.points[0].len());
            points.for_each(|point| set.push(point));
            set
        };
        let all = set(&mut self.points.iter());
        let diagonal: Vec<f64> = self.points.iter().map(|point| kernel.diag(point)).collect();
        let least = FINER * basis.tolerance;
        let most = basis.max_size.unwrap_or(usize::MAX);
        let spanning = Spanning::choose(&diagonal, least, most, |next, columns| {
            kernel.block(&all, &set(&mut next.iter().map(|&i| &self.points[i])), columns);
        });
        let mut features = NestedFeatures::new(kernel.clone(), all.width());
        for (&pivot, &residual) in spanning.pivots.iter().zip(&spanning.residuals) {
            let mut z = Coordinates::default();
            z.set(spanning.coordinates.row(pivot).take(features.dim()));
            let projection = Projection { similarity: diagonal[pivot], residual };
            features.append(&self.points[pivot], &mut z, &projection);
        }
        (features, spanning.coordinates)
    }

    /// `L^{-1} K(D, D_A) L_A^{-T}`, from a part's coordinates to those of the candidates.
    fn lift(&self, part: &NestedFeatures, coordinates: &Panel) -> Mat<f64> {
        let index = |i| self.points.binary_search_by(|point| by_features(point, part.points().point(i)));
        let rows: Vec<usize> = (0..part.dim()).filter_map(|i| index(i).ok()).collect();
        let mut of_part = Mat::from_fn(rows.len(), coordinates.cols(), |i, j| coordinates.get(rows[i], j));
        part.factor().solve_block(of_part.as_mut());
        of_part.transpose().to_owned()
    }
}

fn by_features(a: &[f64], b: &[f64]) -> Ordering {
    let orders = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
    orders.fold(Ordering::Equal, Ordering::then)
}
