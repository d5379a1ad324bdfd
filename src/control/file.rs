//! Serialization of controllers.

use ndarray::Array2;

use super::controller::Controller;
use super::policy::Policy;
use super::spec::ControllerSpec;
use crate::error::{Error, Result};
use crate::kernel::PointSet;
use crate::koopman::Koopman;
use crate::linalg::Panel;
use crate::persist::{Persist, Reader, Writer, load, parse};
use crate::validate::check_rows;

const KIND: &str = "control";

/// With its operator, its values, its policy and the one it keeps.
impl Persist for Controller {
    fn from_spec(spec: serde_json::Value) -> Result<Self> {
        parse::<ControllerSpec>("controller", spec)?.build()
    }

    fn spec_json(&self) -> Result<serde_json::Value> {
        serde_json::to_value(&self.spec).map_err(|e| Error::file(e.to_string()))
    }

    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        self.model.write(&mut out);
        out.vector("control.values", &self.values);
        if let Some(policy) = &self.policy {
            policy.write(&mut out, "policy");
        }
        if let Some((policy, score)) = &self.kept {
            policy.write(&mut out, "kept");
            out.vector("kept.score", &[*score]);
        }
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        load(bytes, KIND, |spec: ControllerSpec, from| {
            let mut controller = spec.build()?;
            controller.model = Koopman::from_reader(&spec.model, from)?;
            let (rows, n_values, values) = from.matrix("control.values")?;
            if rows != 1 || n_values > controller.model.n_stored().1 {
                return Err(Error::file("control.values are more than there are stored states"));
            }
            controller.values = values;
            if from.has("policy.states") {
                controller.policy = Some(Policy::read(from, "policy", &controller)?);
            }
            if from.has("kept.states") {
                let score = from.vector("kept.score", 1)?[0];
                controller.kept = Some((Policy::read(from, "kept", &controller)?, score));
            }
            Ok(controller)
        })
    }
}

impl Policy {
    fn write(&self, out: &mut Writer, name: &str) {
        let (m, width) = (self.states.len(), self.states.width());
        out.matrix(&format!("{name}.states"), m, width, &self.states.panel().to_row_major());
        let actions = self.actions.nrows();
        out.matrix(&format!("{name}.coefficients"), m, actions, &self.coefficients.to_row_major());
        out.vector(&format!("{name}.bounds"), &[self.bounds.0, self.bounds.1]);
    }

    fn read(from: &Reader<'_>, name: &str, controller: &Controller) -> Result<Self> {
        let (m, width, states) = from.matrix(&format!("{name}.states"))?;
        if controller.model.n_features() != Some(width) {
            return Err(Error::file(format!("{name}.states have another width than the model")));
        }
        let kernel = controller.spec.model.kernel.resolve(width)?;
        let rows = Array2::from_shape_vec((m, width), states)
            .map_err(|_| Error::file(format!("{name}.states has the wrong shape")))?;
        check_rows(&kernel, "a stored state", rows.view())?;
        let actions = controller.actions.clone();
        let coefficients = from.matrix_of(&format!("{name}.coefficients"), m, actions.nrows())?;
        let bounds = from.vector(&format!("{name}.bounds"), 2)?;
        if bounds[0] > bounds[1] {
            return Err(Error::file(format!("{name}.bounds are in the wrong order")));
        }
        Ok(Self {
            kernel,
            states: PointSet::gather(rows.view()),
            coefficients: Panel::from_row_major(&coefficients, m, actions.nrows()),
            actions,
            discount: controller.spec.discount,
            bounds: (bounds[0], bounds[1]),
        })
    }
}
