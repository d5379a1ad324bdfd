//! Models to bytes and back.

use std::path::Path;

use super::{AnyStream, BLOCK, ModelSpec, Stream};
use crate::basis::Basis;
use crate::error::{Error, Result};
use crate::learner::Learner;
use crate::persist::{Reader, Writer, read_file, write_file};

pub(crate) const KIND: &str = "stream";

impl<B: Basis + Clone, L: Learner + Clone> Stream<B, L> {
    /// How this model is written down.
    pub fn spec(&self) -> ModelSpec {
        ModelSpec { kernel: self.basis.kernel(), basis: self.basis.spec(), learner: self.learner.spec() }
    }

    /// The model as the bytes of a model file (see [`crate::persist`]). `extra` is any JSON of the
    /// caller's, handed back on loading.
    pub fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        // How rows went together last matters to rounding: a saved model goes on to the last bit.
        out.counts("stream.counts", &[self.n_seen, self.rows_since_growth as u64]);
        if self.n_outputs.is_some() {
            self.basis.write(&mut out);
            self.learner.write(&mut out);
        }
        let spec = serde_json::to_value(self.spec()).map_err(|e| Error::file(e.to_string()))?;
        out.finish(KIND, spec, extra)
    }

    /// Writes the model to a file, in one step: there is never half a file under this name.
    pub fn save(&self, path: &Path, extra: serde_json::Value) -> Result<()> {
        write_file(path, &self.to_bytes(extra)?)
    }
}

impl AnyStream {
    /// A model from the bytes of a model file, with the caller's JSON. The model goes on as the saved
    /// one would have, to the last bit.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        let (from, spec) = Reader::open_as::<ModelSpec>(bytes, KIND)?;
        let mut model = spec.build().map_err(|e| Error::file(e.to_string()))?;
        let rows_since_growth;
        [model.n_seen, rows_since_growth] = from.counts("stream.counts")?;
        model.rows_since_growth = usize::try_from(rows_since_growth).unwrap_or(0).min(BLOCK);
        if model.n_seen > 0 || from.has("learner.weights") {
            model.basis.read(&from)?;
            model.learner.read(&from)?;
            if model.basis.dim() != model.learner.dim() {
                return Err(Error::file("its basis and its learner have different sizes"));
            }
            let outputs = model.learner.n_outputs();
            if outputs == 0 {
                return Err(Error::file("it has no outputs"));
            }
            model.n_outputs = Some(outputs);
            model.prediction = vec![0.0; outputs];
        }
        Ok((model, from.extra().clone()))
    }

    /// Reads a model from a file.
    pub fn load(path: &Path) -> Result<(Self, serde_json::Value)> {
        Self::from_bytes(&read_file(path)?)
    }
}
