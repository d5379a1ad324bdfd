//! A stream learner for Python.

use std::path::PathBuf;

use kernelstream::experts::adaptive::AdaptiveExperts;
use kernelstream::explain::{ExplainSpec, KernelSum, Method, explain, kernel_sums};
use kernelstream::stream::AnyStream;
use kernelstream::table::{Label, Table};
use kernelstream::uncertainty::Prequential;
use kernelstream::{AnyModel, Merge, PartOrder, Persist as _};
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use numpy::{IntoPyArray as _, PyArray1, PyArray2, PyArray3};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{Row, cube_mut, matrix, matrix_mut};
use crate::rows::{Rows, View};
use crate::shared::{Shared, Undo};
use crate::{parse_extra, to_python};

/// Kernel, basis and learner, or kernel and budgeted learner, or a mixture of such, as one object that
/// learns a stream.
#[pyclass(frozen, module = "kernelstream._core")]
pub struct Regressor {
    model: Shared<AnyModel>,
}

impl Regressor {
    fn holding(model: AnyModel) -> Self {
        Self { model: Shared::new(model) }
    }
}

/// The table that a model is, or the error that it is none.
fn table(model: &AnyModel) -> kernelstream::Result<&Table<AnyModel>> {
    model.as_table().ok_or_else(|| kernelstream::Error::Specification {
        part: "model",
        reason: "it has neither columns nor labels".into(),
    })
}

#[pymethods]
impl Regressor {
    #[new]
    fn new(spec_json: &str) -> PyResult<Self> {
        AnyModel::from_json(spec_json).map(Self::holding).map_err(to_python)
    }

    /// Learns rows X (n, d) with targets y (n, p) and weights (n, 1); what is known of them before they are learned
    /// goes to `predictions` and `deviations` (n, p), to `intervals` (n, p, 2), which come with their coverage, and to
    /// `probabilities` (n, classes). Errors call the first row `first_row`.
    #[pyo3(signature = (X, y, predictions=None, progress=None, weights=None, first_row=0, deviations=None,
                        intervals=None, probabilities=None))]
    #[expect(non_snake_case, reason = "the name that Python users know")]
    #[expect(clippy::too_many_arguments, reason = "named in Python")]
    fn learn(
        &self,
        X: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        predictions: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
        first_row: usize,
        deviations: Option<&Bound<'_, PyAny>>,
        intervals: Option<(f64, Bound<'_, PyAny>)>,
        probabilities: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (x, y) = (Rows::of("X", X)?, matrix("y", y)?);
        let weights = weights.map(|array| matrix("weights", array)).transpose()?;
        let weights = weights.as_ref().map(|array| array.as_array());
        if weights.is_some_and(|array| array.ncols() != 1) {
            return Err(pyo3::exceptions::PyValueError::new_err("weights must have the shape (n, 1)"));
        }
        let weights = weights.map(|array| array.index_axis_move(Axis(1), 0));
        let mut predictions = predictions.map(|array| matrix_mut("predictions", array)).transpose()?;
        let mut deviations = deviations.map(|array| matrix_mut("deviations", array)).transpose()?;
        let mut probabilities = probabilities.map(|array| matrix_mut("probabilities", array)).transpose()?;
        let mut intervals = intervals
            .map(|(coverage, array)| PyResult::Ok((coverage, cube_mut("intervals", &array)?)))
            .transpose()?;
        let (x, y) = (x.view(), y.as_array());
        let lengths = [("y", Some(y.nrows())), ("weights", weights.map(|weights| weights.len()))];
        for (right, right_rows) in lengths {
            let (left_rows, right_rows) = (x.n_rows(), right_rows.unwrap_or(x.n_rows()));
            if left_rows != right_rows {
                let error = kernelstream::Error::LengthMismatch { left: "X", left_rows, right, right_rows };
                return Err(to_python(error));
            }
        }
        let mut prequential = Prequential {
            predictions: predictions.as_mut().map(numpy::PyReadwriteArray::as_array_mut),
            deviations: deviations.as_mut().map(numpy::PyReadwriteArray::as_array_mut),
            spreads: None,
            intervals: intervals.as_mut().map(|(coverage, array)| (*coverage, array.as_array_mut())),
            probabilities: probabilities.as_mut().map(numpy::PyReadwriteArray::as_array_mut),
            novelties: None,
        };
        if !prequential.fits(y.dim()) {
            return Err(pyo3::exceptions::PyValueError::new_err(
                "predictions and deviations must have the shape of y, and intervals two ends for each",
            ));
        }
        let size = x.part_len();
        self.model.learn(
            X.py(),
            x.n_rows(),
            progress,
            |model| {
                let n = x.n_rows();
                for start in (0..n.max(1)).step_by(size) {
                    let rows = start..n.min(start + size);
                    let weights = weights.as_ref().map(|weights| weights.slice(s![rows.clone()]));
                    let x = x.dense(rows.clone());
                    let checked = model.check_known(x.view(), y.slice(s![rows, ..]), weights);
                    checked.map_err(|error| error.shifted(first_row + start))?;
                }
                // With more than one block, later blocks were validated by the state before the
                // first.
                Ok(if n > size { Undo::Copy } else { Undo::of(model.can_refuse(weights), n) })
            },
            |model, rows, should_continue| {
                let rows = rows.start..rows.end.min((rows.start / size + 1) * size);
                let prequential = prequential.rows(rows.clone());
                let weights = weights.as_ref().map(|weights| weights.slice(s![rows.clone()]));
                let (x, y) = (x.dense(rows.clone()), y.slice(s![rows, ..]));
                let learned = model.learn_known(x.view(), y, weights, prequential, should_continue);
                learned.map_err(|error| error.shifted(first_row))
            },
        )
    }

    /// Adds what others learned that are written down alike.
    fn merge(&self, py: Python<'_>, others: Vec<PyRef<'_, Self>>, successive: bool) -> PyResult<()> {
        let order = if successive { PartOrder::Successive } else { PartOrder::Any };
        let read = |other: &PyRef<'_, Self>| Ok(other.model.read(py)?.clone());
        let others = others.iter().map(read).collect::<PyResult<Vec<_>>>()?;
        let merged = |model: &AnyModel| {
            let mut merged = model.clone();
            merged.join(&others.iter().collect::<Vec<_>>(), order).map(|()| merged)
        };
        self.model.revise(py, merged, |model, merged| *model = merged)
    }

    /// Stores no further point, and forgets the rows.
    fn freeze_dictionary(&self, py: Python<'_>) -> PyResult<()> {
        self.model.change(py, Merge::freeze_dictionary)
    }

    /// Predictions for rows X (n, d), as the model stands (n, p).
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn predict<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = Rows::of("X", X)?;
        let x = x.view();
        Ok(self.model.ask(py, |model| x.ask(|x| model.predict(x)))?.into_pyarray(py))
    }

    /// Predictions for rows X, and beside them their standard deviations (n, 2 p).
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn predict_with_deviation<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = Rows::of("X", X)?;
        let x = x.view();
        let both = |model: &AnyModel| {
            x.ask(|x| {
                let (predictions, deviations) = model.predict_with_deviation(x)?;
                let both = concatenate(Axis(1), &[predictions.view(), deviations.view()]);
                Ok(both.unwrap_or_else(|_| unreachable!("as many rows")))
            })
        };
        Ok(self.model.ask(py, both)?.into_pyarray(py))
    }

    /// Intervals for rows X, lower and upper ends side by side for each output (n, 2 p).
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn interval<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        coverage: f64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = Rows::of("X", X)?;
        let x = x.view();
        let ends = |model: &AnyModel| {
            x.ask(|x| {
                let ends = model.interval(x, coverage)?;
                let (n, p, _) = ends.dim();
                Ok(ends.into_shape_with_order((n, 2 * p)).unwrap_or_else(|_| unreachable!("as many ends")))
            })
        };
        Ok(self.model.ask(py, ends)?.into_pyarray(py))
    }

    /// The share of rows X that the stored points do not explain (n).
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn novelty<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let x = Rows::of("X", X)?;
        let x = x.view();
        let column = |model: &AnyModel| x.ask(|x| Ok(model.novelty(x)?.insert_axis(Axis(1))));
        Ok(self.model.ask(py, column)?.index_axis_move(Axis(1), 0).into_pyarray(py))
    }

    /// Standard deviation of the noise of each output (p); None where the model does not know.
    #[getter]
    fn noise<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        Ok(self.model.read(py)?.noise().map(|noise| noise.into_pyarray(py)))
    }

    /// Covariance of the targets of rows X in units of the variance of the noise (n, n).
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn posterior_covariance<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = matrix("X", X)?;
        let x = x.as_array();
        let covariance = |model: &AnyModel| {
            let process = model.as_process().ok_or(kernelstream::Error::NoDeviation)?;
            match model.as_table() {
                Some(table) => process.posterior_covariance(table.features(x)?.view()),
                None => process.posterior_covariance(x),
            }
        };
        Ok(self.model.ask(py, covariance)?.into_pyarray(py))
    }

    /// Logarithm of the marginal likelihood of each output's targets (p); None where the model does not know.
    #[getter]
    fn log_marginal_likelihood<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let model = self.model.read(py)?;
        let found = model.as_process().and_then(AnyStream::log_marginal_likelihood);
        Ok(found.map(|each| each.into_pyarray(py)))
    }

    /// Specification of the model of features, with what the warm-up has chosen (JSON).
    #[getter]
    fn learned_spec(&self, py: Python<'_>) -> PyResult<String> {
        let spec = self.model.read(py)?.of_features().spec_json().map_err(to_python)?;
        Ok(spec.to_string())
    }

    /// What predictions are linear in, for rows X (n, d): coordinates in the basis, or similarities (n, m).
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn transform<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = Rows::of("X", X)?;
        let x = x.view();
        Ok(self.model.ask(py, |model| x.ask(|x| model.transform(x)))?.into_pyarray(py))
    }

    /// Learns one row.
    fn learn_one(&self, py: Python<'_>, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> PyResult<()> {
        let (x, y) = (Row::of("x", x)?, Row::of("y", y)?);
        self.model.learn_one(py, |model| model.learn_one_known(x.as_slice(), y.as_slice()))
    }

    /// The prediction for one row: a number, or an array if there are several outputs.
    fn predict_one<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let x = Row::of("x", x)?;
        let model = self.model.read(py)?;
        if model.n_outputs().is_some_and(|outputs| outputs > 1) {
            let several = model.predict_one(x.as_slice()).map_err(to_python)?;
            return Ok(PyArray1::from_vec(py, several).into_any());
        }
        let mut single = [0.0];
        model.predict_one_into(x.as_slice(), &mut single).map_err(to_python)?;
        Ok(single[0].into_pyobject(py)?.into_any())
    }

    /// The prediction for one row and its standard deviation: numbers, or arrays if there are several outputs.
    fn predict_one_with_deviation<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let x = Row::of("x", x)?;
        let row = ArrayView2::from_shape((1, x.as_slice().len()), x.as_slice());
        let row = row.map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
        let (made, deviations) = self.model.read(py)?.predict_with_deviation(row).map_err(to_python)?;
        if made.ncols() > 1 {
            let both = [made, deviations].map(|array| array.index_axis_move(Axis(0), 0).into_pyarray(py));
            return Ok(both.into_pyobject(py)?.into_any());
        }
        (made[(0, 0)], deviations[(0, 0)]).into_bound_py_any(py)
    }

    /// What decides between classes, for rows X (n, d); predictions if there are no classes.
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn outputs<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = Rows::of("X", X)?;
        let x = x.view();
        let outputs = |model: &AnyModel| match model.as_table() {
            Some(table) => x.ask(|x| table.outputs(x)),
            None => x.ask(|x| model.predict(x)),
        };
        Ok(self.model.ask(py, outputs)?.into_pyarray(py))
    }

    /// Columns of categories none of which is known, in rows X (n, d); sparse ones hold none.
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn unknown_categories(&self, py: Python<'_>, X: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let x = Rows::of("X", X)?;
        let x = x.view();
        let unknown = |model: &AnyModel| match (model.as_table(), x) {
            (Some(table), View::Dense(x)) => table.unknown_categories(x),
            _ => Ok(Vec::new()),
        };
        self.model.ask(py, unknown)
    }

    /// Probabilities of the classes, for rows X (n, d) (n, classes).
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = Rows::of("X", X)?;
        let x = x.view();
        Ok(self
            .model
            .ask(py, |model| {
                let table = table(model)?;
                x.ask(|x| table.probabilities(x))
            })?
            .into_pyarray(py))
    }

    /// Whether each class is in the set of this coverage, for rows X (n, d) (n, classes).
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn sets<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        coverage: f64,
    ) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let x = Rows::of("X", X)?;
        let x = x.view();
        let sets = self.model.ask(py, |model| {
            let table = table(model)?;
            x.ask(|x| Ok(table.sets(x, coverage)?.mapv(|held| f64::from(u8::from(held)))))
        })?;
        Ok(sets.mapv(|held| held > 0.5).into_pyarray(py))
    }

    /// How the model fares, as JSON.
    #[getter]
    fn diagnostics(&self, py: Python<'_>) -> PyResult<String> {
        let diagnostics = self.model.read(py)?.diagnostics();
        serde_json::to_string(&diagnostics)
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
    }

    /// Whether errors have risen, and whether predictions were of no use.
    #[getter]
    fn concerns(&self, py: Python<'_>) -> PyResult<(bool, bool, Vec<usize>)> {
        let quality = self.model.read(py)?.quality();
        Ok((quality.error_rose, quality.was_useless, quality.moved_columns))
    }

    /// Recent errors, one for each target; None before the first.
    #[getter]
    fn late_error(&self, py: Python<'_>) -> PyResult<Option<Vec<f64>>> {
        Ok(self.model.read(py)?.quality().late_error)
    }

    /// The same for one row (classes).
    fn probabilities_one<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let x = Row::of("x", x)?;
        let row = ArrayView2::from_shape((1, x.as_slice().len()), x.as_slice());
        let row = row.map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
        let shares = self.model.ask(py, |model| table(model)?.probabilities(row))?;
        Ok(shares.index_axis_move(Axis(0), 0).into_pyarray(py))
    }

    /// Features of rows X (n, d), as the model inside a table gets them.
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn features<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = Rows::of("X", X)?;
        let x = x.view();
        Ok(self
            .model
            .ask(py, |model| {
                let table = table(model)?;
                x.ask(|x| table.features(x))
            })?
            .into_pyarray(py))
    }

    /// Gradients of the predictions with respect to rows X (n, outputs, d).
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn gradient<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let x = matrix("X", X)?;
        let x = x.as_array();
        Ok(self.model.ask(py, |model| model.gradient(x))?.into_pyarray(py))
    }

    /// Contributions of columns to the outputs of rows X (n, outputs, d), their standard errors or None if they are
    /// exact, and the mean outputs of the background.
    #[expect(non_snake_case, reason = "the name that Python users know")]
    #[expect(clippy::type_complexity, reason = "a tuple of Python")]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        background: Option<&Bound<'py, PyAny>>,
        method: &str,
        n_permutations: usize,
        random_state: u64,
    ) -> PyResult<(Bound<'py, PyArray3<f64>>, Option<Bound<'py, PyArray3<f64>>>, Bound<'py, PyArray1<f64>>)>
    {
        let x = matrix("X", X)?;
        let background = background.map(|array| matrix("background", array)).transpose()?;
        let background = background.as_ref().map(|array| array.as_array());
        let method = Method::of_name(method).map_err(to_python)?;
        let spec = ExplainSpec { method, n_permutations, random_state };
        let x = x.as_array();
        let found = self.model.ask(py, |model| explain(model, x, background, spec))?;
        let errors = found.errors.map(|errors| errors.into_pyarray(py));
        Ok((found.values.into_pyarray(py), errors, found.base_values.into_pyarray(py)))
    }

    /// What makes outputs of the scores of its model, by `Labels::pieces` (outputs, 4); None: nothing.
    fn pieces<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let model = self.model.read(py)?;
        let Some(labels) = model.as_table().and_then(Table::labels) else { return Ok(None) };
        let pieces = labels.pieces().map_err(to_python)?;
        Ok(pieces.map(|pieces| Array2::from(pieces).into_pyarray(py)))
    }

    /// The model as a weighted sum of sums of similarities: of each the kernel as JSON, points (m, d), coefficients (m, p),
    /// constants (p), ranges (p, 2) and weights (p); None if it is none.
    #[expect(clippy::type_complexity, reason = "tuples of Python")]
    fn sums<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<
        Option<
            Vec<(
                String,
                Bound<'py, PyArray2<f64>>,
                Bound<'py, PyArray2<f64>>,
                Bound<'py, PyArray1<f64>>,
                Bound<'py, PyArray2<f64>>,
                Bound<'py, PyArray1<f64>>,
            )>,
        >,
    > {
        let Some(sums) = kernel_sums(&*self.model.read(py)?) else { return Ok(None) };
        let written = |sum: KernelSum| {
            let kernel = serde_json::to_string(&sum.kernel)
                .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
            let limits = Array2::from(sum.limits).into_pyarray(py);
            let (points, coefficients) = (sum.points.into_pyarray(py), sum.coefficients.into_pyarray(py));
            let (constants, weights) =
                (PyArray1::from_vec(py, sum.constants), PyArray1::from_vec(py, sum.weights));
            Ok((kernel, points, coefficients, constants, limits, weights))
        };
        sums.into_iter().map(written).collect::<PyResult<Vec<_>>>().map(Some)
    }

    /// The first feature of each column of a table; None if rows are taken as they are.
    #[getter]
    fn first_features(&self, py: Python<'_>) -> PyResult<Option<Vec<usize>>> {
        let model = self.model.read(py)?;
        let encoder = model.of_first_target().as_table().and_then(|table| table.encoder());
        Ok(encoder.map(kernelstream::table::Encoder::first_features))
    }

    /// How much each column matters (d), adding up to 1.
    fn importances<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.model.ask(py, |model| model.importances())?.into_pyarray(py))
    }

    /// What experts that choose themselves are, as JSON; None of any other model.
    #[getter]
    fn members(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let members = self.model.read(py)?.as_adaptive().map(AdaptiveExperts::members);
        let json = members.map(|members| serde_json::to_string(&members)).transpose();
        json.map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
    }

    /// Rows so far whose target was learned winsorized.
    #[getter]
    fn n_limited(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.model.read(py)?.n_limited())
    }

    /// Output and target of the latest of these rows, since the model was loaded.
    #[getter]
    fn latest_limited(&self, py: Python<'_>) -> PyResult<Vec<(usize, f64)>> {
        Ok(self.model.read(py)?.latest_limited())
    }

    /// A copy of the model inside a table.
    fn inner(&self, py: Python<'_>) -> PyResult<Self> {
        self.model.ask(py, |model| Ok(Self::holding(table(model)?.model().clone())))
    }

    /// Labels of the classes, sorted; None if there are none.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let model = self.model.read(py)?;
        let labels = model.as_table().and_then(|table| table.labels());
        labels
            .map(|labels| {
                let class = |label: &Label| match label {
                    Label::Boolean(value) => value.into_bound_py_any(py),
                    Label::Integer(value) => value.into_bound_py_any(py),
                    Label::Float(value) => value.into_bound_py_any(py),
                    Label::Text(value) => value.into_bound_py_any(py),
                };
                labels.classes().iter().map(class).collect()
            })
            .transpose()
    }

    /// Rows of each class learned so far; None if there are none.
    #[getter]
    fn class_count(&self, py: Python<'_>) -> PyResult<Option<Vec<u64>>> {
        let model = self.model.read(py)?;
        let labels = model.as_table().and_then(|table| table.labels());
        Ok(labels.map(|labels| labels.counts().to_vec()))
    }

    /// Whether each target has a model of its own, as rows have lacked some.
    #[getter]
    fn has_models_of_targets(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.model.read(py)?.as_targets().is_some())
    }

    /// Means and deviations of the columns of a table (d, 2), of the first target's model if each has its own, and whether they may still change; None if
    /// rows are taken as they are.
    #[getter]
    fn scales<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyArray2<f64>>, bool)>> {
        let model = self.model.read(py)?;
        let table = model.of_first_target().as_table();
        let scaled = table.and_then(|table| Some((table, table.encoder()?)));
        Ok(scaled
            .map(|(table, encoder)| (Array2::from(encoder.scales()).into_pyarray(py), table.is_warming_up())))
    }

    /// The stored points (m, d).
    fn dictionary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(self.model.read(py)?.dictionary().into_pyarray(py))
    }

    /// Rows learned so far.
    #[getter]
    fn n_seen(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.model.read(py)?.n_seen())
    }

    /// Points stored so far.
    #[getter]
    fn n_stored(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.model.read(py)?.n_stored())
    }

    /// Condition number of what coordinates are made by; None where there is nothing to worry about.
    #[getter]
    fn condition(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.model.read(py)?.condition())
    }

    /// Weights of the models that this one is a mixture of (outputs, models); None for one that is not.
    #[getter]
    fn mixture<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        Ok(self.model.read(py)?.mixture().map(|weights| weights.into_pyarray(py)))
    }

    /// Features of a row; None before the first.
    #[getter]
    fn n_features(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        Ok(self.model.read(py)?.n_features())
    }

    /// Outputs; None before the first row.
    #[getter]
    fn n_outputs(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        Ok(self.model.read(py)?.n_outputs())
    }

    /// The specification as JSON.
    #[getter]
    fn spec(&self, py: Python<'_>) -> PyResult<String> {
        self.model.read(py)?.spec_json().map(|spec| spec.to_string()).map_err(to_python)
    }

    /// The model as the bytes of a model file.
    #[pyo3(signature = (extra="{}"))]
    fn to_bytes<'py>(&self, py: Python<'py>, extra: &str) -> PyResult<Bound<'py, PyBytes>> {
        let extra = parse_extra(extra)?;
        let bytes = self.model.ask(py, |model| model.to_bytes(extra))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The model in these bytes, and what was stored beside it.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<(Self, String)> {
        let (model, extra) = AnyModel::from_bytes(data).map_err(to_python)?;
        Ok((Self::holding(model), extra.to_string()))
    }

    /// Writes a model file, in one step.
    #[pyo3(signature = (path, extra="{}", compact=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, extra: &str, compact: bool) -> PyResult<()> {
        let extra = parse_extra(extra)?;
        self.model.ask(
            py,
            |model| if compact { model.save_compact(&path, extra) } else { model.save(&path, extra) },
        )
    }

    /// Reads a model file: the model, and what was stored beside it.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<(Self, String)> {
        let (model, extra) = py.detach(|| AnyModel::load(&path)).map_err(to_python)?;
        Ok((Self::holding(model), extra.to_string()))
    }
}
