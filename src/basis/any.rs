//! All bases.

use std::ops::{Deref, DerefMut};

use super::{AsBasis, BasisFile, BasisSpec, FirstPoints, Fourier, Kors, Nested, Sketched, Taylor};
use crate::error::Result;
use crate::kernel::KernelSpec;

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
            Self::Nested(basis) => basis.spec(),
            Self::FirstPoints(FirstPoints { nested, size, rank, .. }) => {
                BasisSpec::FirstPoints { size: *size, loss_driven: nested.loss_driven, rank: Some(*rank) }
            }
            Self::Kors(basis) => BasisSpec::Kors(basis.spec.clone()),
            Self::Taylor(basis) => BasisSpec::Taylor { degree: basis.functions().degree },
            Self::Fourier(basis) => BasisSpec::Fourier(basis.functions().spec.clone()),
            Self::Sketched(basis) => BasisSpec::Sketched(basis.spec.clone()),
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
