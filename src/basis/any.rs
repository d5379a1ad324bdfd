//! All bases.

use std::convert::identity;
use std::ops::{Deref, DerefMut};

use super::{AsBasis, BasisFile, BasisSpec, FirstPoints, Fourier, Kors, Nested, Sketched, Taylor};
use crate::error::Result;
use crate::kernel::KernelSpec;

/// A basis that specifications and model files have: [`AnyBasis`], or the type of one of its variants. A
/// [`Stream`](crate::stream::Stream) of it and of a [`KnownLearner`](crate::learner::KnownLearner) can be saved, and
/// becomes an [`AnyModel`](crate::any::AnyModel).
#[diagnostic::on_unimplemented(
    message = "the basis `{Self}` is not in the format of model files",
    label = "not an `AnyBasis`, nor the type of one of its variants",
    note = "a stream with a basis of your own learns and predicts, but cannot be saved: save what your basis is made \
            of yourself, and learn the rows again"
)]
pub trait KnownBasis: AsBasis<Target: BasisFile> + Into<AnyBasis> {
    /// Its specification, without the kernel.
    fn to_spec(&self) -> BasisSpec;

    /// The basis as this type; `None` if it is of another one.
    fn from_any(basis: AnyBasis) -> Option<Self>;
}

/// The conversions of the type of one variant.
macro_rules! known {
    ($basis:ident, $wrap:expr, $unwrap:expr, $spec:expr) => {
        impl From<$basis> for AnyBasis {
            fn from(basis: $basis) -> Self {
                Self::$basis($wrap(basis))
            }
        }

        impl KnownBasis for $basis {
            fn to_spec(&self) -> BasisSpec {
                $spec(self)
            }

            fn from_any(basis: AnyBasis) -> Option<Self> {
                if let AnyBasis::$basis(basis) = basis { Some($unwrap(basis)) } else { None }
            }
        }
    };
}

known!(Nested, identity, identity, Nested::spec);
known!(FirstPoints, identity, identity, |basis: &FirstPoints| BasisSpec::FirstPoints {
    size: basis.size,
    loss_driven: basis.nested.loss_driven,
    rank: Some(basis.rank),
});
known!(Kors, Box::new, |basis: Box<Kors>| *basis, |basis: &Kors| BasisSpec::Kors(basis.spec.clone()));
known!(Taylor, identity, identity, |basis: &Taylor| BasisSpec::Taylor { degree: basis.functions().degree });
known!(Fourier, identity, identity, |basis: &Fourier| BasisSpec::Fourier(basis.functions().spec.clone()));
known!(Sketched, Box::new, |basis: Box<Sketched>| *basis, |basis: &Sketched| BasisSpec::Sketched(
    basis.spec.clone()
));

impl KnownBasis for AnyBasis {
    fn to_spec(&self) -> BasisSpec {
        self.spec()
    }

    fn from_any(basis: AnyBasis) -> Option<Self> {
        Some(basis)
    }
}

/// A basis selected at run time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyBasis {
    /// Approximate linear dependence, all points, or the first ones.
    Nested(Nested),
    /// The first points, then their leading Nystrom features.
    FirstPoints(FirstPoints),
    /// Points sampled by ridge leverage scores.
    Kors(Box<Kors>),
    /// The Taylor expansion of the Gaussian kernel.
    Taylor(Taylor),
    /// Random Fourier features.
    Fourier(Fourier),
    /// Features of a sketched Gram matrix.
    Sketched(Box<Sketched>),
}

impl AnyBasis {
    /// The specification.
    #[must_use]
    pub fn spec(&self) -> BasisSpec {
        match self {
            Self::Nested(basis) => basis.to_spec(),
            Self::FirstPoints(basis) => basis.to_spec(),
            Self::Kors(basis) => basis.to_spec(),
            Self::Taylor(basis) => basis.to_spec(),
            Self::Fourier(basis) => basis.to_spec(),
            Self::Sketched(basis) => basis.to_spec(),
        }
    }

    /// Whether another basis has the same coordinates, and keeps them as long as both learn the
    /// same rows, which only append. False for random or replaced points.
    #[must_use]
    pub fn has_points_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nested(basis), Self::Nested(other)) => basis.has_points_of(other),
            (Self::Taylor(_), Self::Taylor(_)) | (Self::Fourier(_), Self::Fourier(_)) => {
                self.spec() == other.spec()
                    && self.kernel() == other.kernel()
                    && self.width() == other.width()
            }
            _ => false,
        }
    }

    /// Copies the additional coordinates of another basis with the [same points](Self::has_points_of).
    /// O(m) each.
    pub(crate) fn follow(&mut self, leader: &Self) {
        if let (Self::Nested(basis), Self::Nested(leader)) = (self, leader) {
            basis.follow(leader);
        }
    }
}

impl Nested {
    /// The specification.
    #[must_use]
    pub fn spec(&self) -> BasisSpec {
        let &Self { tolerance, max_size, loss_driven, noise, .. } = self;
        if noise > 0.0 {
            return BasisSpec::NoisyPoints { noise, max_size, loss_driven };
        }
        BasisSpec::Ald { tolerance, max_size, loss_driven }
    }
}

impl BasisSpec {
    /// The basis without points, with validated parameters.
    pub fn build(&self, kernel: &KernelSpec) -> Result<AnyBasis> {
        Ok(match self {
            Self::NoisyPoints { noise, max_size, loss_driven } => {
                let mut basis = Nested::noisy_points(kernel.clone(), *noise)?;
                if let Some(most) = max_size {
                    basis = basis.with_max_size(*most)?;
                }
                AnyBasis::Nested(basis.with_loss_driven(*loss_driven))
            }
            Self::Kors(spec) => AnyBasis::Kors(Box::new(Kors::new(kernel.clone(), spec.clone())?)),
            Self::Taylor { degree } => AnyBasis::Taylor(Taylor::new(kernel.clone(), *degree)?),
            Self::Fourier(spec) => AnyBasis::Fourier(Fourier::new(kernel.clone(), spec.clone())?),
            Self::Sketched(spec) => {
                AnyBasis::Sketched(Box::new(Sketched::new(kernel.clone(), spec.clone())?))
            }
            Self::FirstPoints { size, loss_driven, rank: Some(rank) } => {
                let (size, loss_driven) = (*size, *loss_driven);
                let all = Self::FirstPoints { size, loss_driven, rank: None };
                AnyBasis::FirstPoints(FirstPoints::new(all.nested(kernel)?, size, *rank)?)
            }
            Self::Ald { .. } | Self::AllPoints { .. } | Self::FirstPoints { rank: None, .. } => {
                AnyBasis::Nested(self.nested(kernel)?)
            }
        })
    }
}

impl Deref for AnyBasis {
    type Target = dyn BasisFile;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Nested(basis) => basis,
            Self::FirstPoints(basis) => basis,
            Self::Kors(basis) => &**basis,
            Self::Taylor(basis) => basis,
            Self::Fourier(basis) => basis,
            Self::Sketched(basis) => &**basis,
        }
    }
}

impl DerefMut for AnyBasis {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Nested(basis) => basis,
            Self::FirstPoints(basis) => basis,
            Self::Kors(basis) => &mut **basis,
            Self::Taylor(basis) => basis,
            Self::Fourier(basis) => basis,
            Self::Sketched(basis) => &mut **basis,
        }
    }
}

impl AsBasis for AnyBasis {
    type Target = dyn BasisFile;

    fn as_basis(&self) -> &Self::Target {
        &**self
    }

    fn as_basis_mut(&mut self) -> &mut Self::Target {
        &mut **self
    }
}
