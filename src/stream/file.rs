//! Serialization of streams.

use super::schedule::Schedule;
use super::{AnyStream, ModelSpec, Stream};
use crate::basis::{Basis as _, BasisFile as _, KnownBasis};
use crate::error::{Error, Result};
use crate::learner::{KnownLearner, Learner as _, LearnerFile as _, LearnerMemory as _};
use crate::persist::{Persist, Reader, Writer, load, parse};
use crate::uncertainty::Errors;

pub(crate) const KIND: &str = "stream";

impl<B: KnownBasis, L: KnownLearner> Stream<B, L> {
    /// The specification of this model.
    #[must_use]
    pub fn spec(&self) -> ModelSpec {
        ModelSpec {
            kernel: self.basis.as_basis().kernel().clone(),
            basis: self.basis.to_spec(),
            learner: self.head.learner.to_spec(),
        }
    }

    /// The same model, its types chosen when the program runs. In this form it is an
    /// [`AnyModel`](crate::any::AnyModel) too, by `AnyModel::from(stream)`.
    #[must_use]
    pub fn into_any(self) -> AnyStream {
        let Self { basis, head, n_seen, n_outputs, bounded, schedule, seen } = self;
        Stream { basis: basis.into(), head: head.into_any(), n_seen, n_outputs, bounded, schedule, seen }
    }

    /// An untrained stream of this specification, if that is one of these types.
    fn of(spec: &ModelSpec) -> Result<Self> {
        let Stream { basis, head, .. } = spec.build()?;
        let other = |part| Error::Specification {
            part,
            reason: "it is of another type than in this Stream<...>; an AnyModel can be of any".into(),
        };
        let basis = B::from_any(basis).ok_or_else(|| other("basis"))?;
        Ok(Self::new(basis, L::from_any(head.learner).ok_or_else(|| other("learner"))?))
    }
}

/// ```
/// use kernelstream::basis::Nested;
/// use kernelstream::kernel::Kernel;
/// use kernelstream::learner::{Ridge, RidgeSpec};
/// use kernelstream::stream::Stream;
/// use kernelstream::{AnyModel, Model as _, Persist as _};
/// use serde_json::Value;
///
/// # fn main() -> kernelstream::Result<()> {
/// let basis = Nested::ald(Kernel::gaussian(0.5)?, 1e-3)?;
/// let mut model = Stream::new(basis, Ridge::new(RidgeSpec::default())?);
/// model.learn_one(&[1.0], &[2.0])?;
///
/// let bytes = model.to_bytes(Value::Null)?;
/// let (again, _) = Stream::<Nested, Ridge>::from_bytes(&bytes)?;
/// let (any, _) = AnyModel::from_bytes(&bytes)?;
/// assert_eq!(again.predict_one(&[0.5])?, any.predict_one(&[0.5])?);
/// # Ok(())
/// # }
/// ```
impl<B: KnownBasis, L: KnownLearner> Persist for Stream<B, L> {
    fn from_spec(spec: serde_json::Value) -> Result<Self> {
        Self::of(&parse("model", spec)?)
    }

    fn spec_json(&self) -> Result<serde_json::Value> {
        serde_json::to_value(self.spec()).map_err(|e| Error::file(e.to_string()))
    }

    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        // A stream put together by its types may be one that no specification allows, and no reader.
        self.spec().check()?;
        let mut out = Writer::default();
        out.counts("stream.counts", &[self.n_seen, self.schedule.rows_since_growth()]);
        if self.head.heavy {
            out.counts("stream.heavy", &[1]);
        }
        if self.n_outputs.is_some() {
            self.basis.as_basis().write(&mut out);
            self.head.learner.as_learner().write(&mut out);
            self.head.errors.write(&mut out);
        }
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        load(bytes, KIND, |spec: ModelSpec, from| {
            let mut model = Self::of(&spec)?;
            model.read(from)?;
            Ok(model)
        })
    }
}

impl<B: KnownBasis, L: KnownLearner> Stream<B, L> {
    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        let counts = from.all_counts("stream.counts")?;
        let ([n_seen] | [n_seen, _]) = counts[..] else {
            return Err(Error::file("stream.counts has the wrong length"));
        };
        self.n_seen = n_seen;
        if n_seen == 0 && !from.has("learner.weights") {
            return Ok(());
        }
        self.basis.as_basis_mut().read(from)?;
        self.head.learner.as_learner_mut().read(from)?;
        let (basis, learner) = (self.basis.as_basis(), self.head.learner.as_learner());
        let (outputs, width, dim) = (learner.n_outputs(), basis.width(), basis.dim());
        if dim != learner.dim() {
            return Err(Error::file("its basis and its learner have different sizes"));
        }
        if outputs == 0 {
            return Err(Error::file("it has no outputs"));
        }
        if let Some(memory) = learner.memory()
            && memory.rows().any(|(x, _)| Some(x.len()) != width)
        {
            return Err(Error::file("the rows that its learner remembers have another width"));
        }
        self.head.heavy = from.has("stream.heavy") && from.counts("stream.heavy")? != [0];
        // Files without it are assumed to have grown evenly.
        let even = || n_seen / dim.max(1) as u64;
        self.schedule = Schedule::of(counts.get(1).copied().unwrap_or_else(even));
        self.resume(outputs, Errors::read(outputs, from)?);
        Ok(())
    }
}
