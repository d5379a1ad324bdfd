//! Serialization of budgeted models.

use super::sum::Sum;
use super::{Budgeted, BudgetedSpec, Removal};
use crate::error::{Error, Result};
use crate::linalg::GrowingCholesky;
use crate::persist::{Persist, Reader, Writer, load, parse};
use crate::uncertainty::Errors;
use crate::validate::check_row;

pub(crate) const KIND: &str = "budget";

impl Persist for Budgeted {
    fn from_spec(spec: serde_json::Value) -> Result<Self> {
        parse::<BudgetedSpec>("model", spec)?.build()
    }

    fn spec_json(&self) -> Result<serde_json::Value> {
        serde_json::to_value(self.spec()).map_err(|e| Error::file(e.to_string()))
    }

    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        out.counts("budget.counts", &[self.n_seen, self.n_rounds, self.n_removed]);
        if let Some(sum) = &self.sum {
            let (points, coefficients) = (sum.points().panel(), sum.coefficients());
            out.matrix("budget.points", points.rows(), points.cols(), &points.to_row_major());
            let (rows, cols) = (coefficients.rows(), coefficients.cols());
            out.matrix("budget.coefficients", rows, cols, &coefficients.to_row_major());
            let factor = sum.factor().factor();
            out.lower("budget.factor", factor.rows(), &factor.to_row_major());
            self.errors.write(&mut out);
        }
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        load(bytes, KIND, |spec: BudgetedSpec, from| {
            let mut model = spec.build()?;
            [model.n_seen, model.n_rounds, model.n_removed] = from.counts("budget.counts")?;
            if model.n_seen > 0 || from.has("budget.points") {
                let sum = model.read_sum(from)?;
                model.errors = Errors::read(sum.coefficients().cols(), from)?;
                model.sum = Some(sum);
            }
            Ok(model)
        })
    }
}

impl Budgeted {
    fn read_sum(&self, from: &Reader<'_>) -> Result<Sum> {
        let (m, width, points) = from.matrix("budget.points")?;
        let (rows, outputs, coefficients) = from.matrix("budget.coefficients")?;
        if width == 0 || outputs == 0 || rows != m {
            return Err(Error::file("the sizes of budget.points and budget.coefficients do not fit"));
        }
        if self.limits.budget.is_some_and(|most| m > most) {
            return Err(Error::file("it holds more points than its budget"));
        }
        let kernel = self.kernel.resolve(width)?;
        let mut sum = Sum::new(kernel.clone(), width, outputs);
        for (i, (x, a)) in points.chunks_exact(width).zip(coefficients.chunks_exact(outputs)).enumerate() {
            check_row(&kernel, "a stored point", i, x)?;
            sum.push(x, a);
        }
        let dim = if matches!(self.limits.removal, Removal::Project(_)) { m } else { 0 };
        let (known, factor) = from.lower("budget.factor", false)?;
        let factor = (known == dim)
            .then(|| GrowingCholesky::from_row_major(&factor, dim))
            .flatten()
            .ok_or_else(|| Error::file("budget.factor is not a Cholesky factor"))?;
        sum.set_factor(factor);
        Ok(sum)
    }
}
