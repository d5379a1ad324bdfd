//! Operators to bytes and back.

use std::path::Path;

use super::{Dictionaries, Koopman, KoopmanSpec};
use crate::basis::{Basis, NestedFeatures};
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer, read_file, write_file};

const KIND: &str = "koopman";

impl Koopman {
    /// The operator as the bytes of a model file (see [`crate::persist`]). `extra` is any JSON of the
    /// caller's, handed back on loading.
    pub fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        out.counts("koopman.counts", &[self.n_seen]);
        if let Some(dictionaries) = &self.dictionaries {
            match dictionaries {
                Dictionaries::Shared(nested) => nested.write(&mut out),
                Dictionaries::Separate(pair) => {
                    pair.inputs.write(&mut out, "inputs");
                    pair.outputs.write(&mut out, "outputs");
                }
            }
            self.operator.learner().write(&mut out);
            if let Some(replay) = &self.replay {
                replay.write(&mut out);
            }
            if self.recent.valid {
                out.vector("recent.point", &self.recent.point);
                out.vector("recent.coordinates", self.recent.coordinates.as_slice());
            }
        }
        let spec = serde_json::to_value(&self.spec).map_err(|e| Error::file(e.to_string()))?;
        out.finish(KIND, spec, extra)
    }

    /// Writes the operator to a file, in one step: there is never half a file under this name.
    pub fn save(&self, path: &Path, extra: serde_json::Value) -> Result<()> {
        write_file(path, &self.to_bytes(extra)?)
    }

    /// An operator from the bytes of a model file, with the caller's JSON. It goes on as the saved one
    /// would have, to the last bit.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        let from = Reader::open(bytes)?;
        if from.kind() != KIND {
            return Err(Error::file(format!("it holds a model of another kind, {:?}", from.kind())));
        }
        let spec: KoopmanSpec = serde_json::from_value(from.spec().clone())
            .map_err(|e| Error::file(format!("its configuration is broken ({e})")))?;
        let mut model = spec.build().map_err(|e| Error::file(e.to_string()))?;
        [model.n_seen] = from.counts("koopman.counts")?;
        if from.has("learner.weights") {
            model.read(&from)?;
        }
        Ok((model, from.extra().clone()))
    }

    /// Reads an operator from a file.
    pub fn load(path: &Path) -> Result<(Self, serde_json::Value)> {
        Self::from_bytes(&read_file(path)?)
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        let mut dictionaries = Dictionaries::new(&self.spec.dictionaries, &self.spec.kernel, 1)
            .map_err(|e| Error::file(e.to_string()))?;
        match &mut dictionaries {
            Dictionaries::Shared(nested) => nested.read(from)?,
            Dictionaries::Separate(pair) => {
                pair.inputs = NestedFeatures::read(from, "inputs", &self.spec.kernel)?;
                pair.outputs = NestedFeatures::read(from, "outputs", &self.spec.kernel)?;
            }
        }
        self.operator.learner_mut().read(from)?;
        let (width, (inputs, outputs)) = (dictionaries.width(), dictionaries.sizes());
        let learner = self.operator.learner();
        if dictionaries.outputs().points().width() != width
            || (learner.dim(), learner.n_outputs()) != (inputs, width + outputs)
        {
            return Err(Error::file("its dictionaries and its operator have different sizes"));
        }
        if let Some(replay) = &mut self.replay {
            replay.read(from, width)?;
        }
        if from.has("recent.point") {
            self.recent.point = from.vector("recent.point", width)?;
            self.recent.coordinates.set(from.vector("recent.coordinates", inputs)?);
            self.recent.valid = matches!(dictionaries, Dictionaries::Shared(_));
        }
        self.dictionaries = Some(dictionaries);
        Ok(())
    }
}
