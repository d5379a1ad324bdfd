//! Python bindings: arrays in, arrays out, no mathematics.
//!
//! Models are shared by threads and every call that may take long runs detached from the
//! interpreter, so that several threads can predict while another learns.

mod control;
mod convert;
mod koopman;
mod regressor;
mod rows;
mod shared;
mod signals;
mod svd;

use std::num::NonZeroUsize;

use kernelstream::basis::BasisSpec;
use kernelstream::error::Column;
use kernelstream::kernel::KernelSpec;
use kernelstream::koopman::AdmissionSpec;
use kernelstream::{Error, lock};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict};

/// More threads than this are taken for a mistake.
const MOST_THREADS: usize = 1024;

pyo3::create_exception!(kernelstream, ModelFileError, PyValueError, "A model file that cannot be used.");

pyo3::create_exception!(
    kernelstream.exceptions,
    DataError,
    PyValueError,
    "Rows or columns that cannot be used: `array` is the name of their array, `row` and `column` (a number or a name) \
     the place of the first one, `reason` what is wrong there; each is None where it does not apply."
);

/// The Python exception for an error of the crate.
fn to_python(error: Error) -> PyErr {
    match error {
        Error::Io { path, source } => {
            // (errno, text, file name) lets Python choose FileNotFoundError, PermissionError, ...
            let text = source.to_string();
            match source.raw_os_error() {
                Some(code) => PyOSError::new_err((code, text, path)),
                None => PyOSError::new_err(format!("{path}: {text}")),
            }
        }
        Error::Forked | Error::Nested | Error::Interrupted => PyRuntimeError::new_err(error.to_string()),
        Error::ModelFile { .. } => ModelFileError::new_err(error.to_string()),
        _ if error.row().is_none() && error.array().is_none() => PyValueError::new_err(error.to_string()),
        _ => data_error(&error),
    }
}

/// The exception for an error about rows or columns, with the place as attributes.
fn data_error(error: &Error) -> PyErr {
    let raised = DataError::new_err(error.to_string());
    let located = Python::attach(|py| {
        let value = raised.value(py);
        value.setattr("array", error.array())?;
        value.setattr("row", error.row())?;
        value.setattr("reason", error.reason())?;
        match error.column() {
            Some(Column::Number(number)) => value.setattr("column", number),
            Some(Column::Name(name)) => value.setattr("column", name),
            None => value.setattr("column", py.None()),
        }
    });
    located.map_or_else(|failed| failed, |()| raised)
}

fn specification<T: serde::de::DeserializeOwned>(part: &'static str, json: &str) -> PyResult<T> {
    serde_json::from_str(json)
        .map_err(|error| to_python(Error::Specification { part, reason: error.to_string() }))
}

/// What goes beside a model in its file.
fn parse_extra(extra: &str) -> PyResult<serde_json::Value> {
    specification("extra", extra)
}

/// Raises `ValueError` if the specification of a kernel, basis, learner or admission rule has a bad
/// parameter.
#[pyfunction]
fn check(part: &str, spec_json: &str) -> PyResult<()> {
    match part {
        "kernel" => specification::<KernelSpec>("kernel", spec_json)?.resolve(0).map(|_| ()),
        "basis" => specification::<BasisSpec>("basis", spec_json)?.build(&KernelSpec::default()).map(|_| ()),
        "learner" => kernelstream::any::check_learner(spec_json),
        "admission" => specification::<AdmissionSpec>("admission", spec_json)?.build().map(|_| ()),
        _ => {
            return Err(PyValueError::new_err(format!(
                "part must be kernel, basis, learner or admission, got {part:?}"
            )));
        }
    }
    .map_err(to_python)
}

/// The number that stands for a category in a row.
#[pyfunction]
fn category(text: &str) -> f64 {
    kernelstream::table::category(text)
}

/// At most two periods of a series, in rows, the more important first.
#[pyfunction]
fn find_periods(py: Python<'_>, values: Vec<f64>) -> Vec<usize> {
    py.detach(|| kernelstream::dynamics::find_periods(&values))
}

/// What kind of model a file holds: "stream", "koopman", ...
#[pyfunction]
fn model_kind(py: Python<'_>, path: std::path::PathBuf) -> PyResult<String> {
    py.detach(|| kernelstream::persist::kind_of(&path)).map_err(to_python)
}

/// Sets how many threads predictions and forecasts for many rows, experts, and models of many points may use, 1 or
/// more; `None` is as many as the environment says (`KERNELSTREAM_NUM_THREADS`), or else as many as there are processors.
#[pyfunction]
#[pyo3(signature = (n))]
fn set_num_threads(py: Python<'_>, n: Option<usize>) -> PyResult<()> {
    let threads = n.map(|n| {
        NonZeroUsize::new(n)
            .filter(|n| n.get() <= MOST_THREADS)
            .ok_or_else(|| PyValueError::new_err(format!("n must be from 1 to {MOST_THREADS}, got {n}")))
    });
    let threads = threads.transpose()?;
    py.detach(|| kernelstream::threads::set_num_threads(threads));
    Ok(())
}

/// How many threads they may use.
#[pyfunction]
fn get_num_threads() -> usize {
    kernelstream::threads::num_threads().get()
}

/// To be called right before a fork.
#[pyfunction]
fn before_fork(py: Python<'_>) {
    // A thread that learns may need the interpreter to release its model.
    py.detach(lock::prepare_fork);
    lock::before_fork();
}

/// Registers the locks' hooks with Python's fork.
fn watch_forks(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    let Ok(register) = py.import("os")?.getattr("register_at_fork") else {
        // There are no forks on this system.
        return Ok(());
    };
    let after = |child: bool| PyCFunction::new_closure(py, None, None, move |_, _| lock::after_fork(child));
    let hooks = PyDict::new(py);
    hooks.set_item("before", wrap_pyfunction!(before_fork, module)?)?;
    hooks.set_item("after_in_parent", after(false)?)?;
    hooks.set_item("after_in_child", after(true)?)?;
    register.call((), Some(&hooks)).map(|_| ())
}

/// The compiled core of kernelstream.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DataError", module.py().get_type::<DataError>())?;
    module.add("ModelFileError", module.py().get_type::<ModelFileError>())?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(category, module)?)?;
    module.add_function(wrap_pyfunction!(find_periods, module)?)?;
    module.add_function(wrap_pyfunction!(model_kind, module)?)?;
    module.add_function(wrap_pyfunction!(set_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(get_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(signals::interrupt_after, module)?)?;
    watch_forks(module.py(), module)?;
    module.add_class::<shared::Turn>()?;
    module.add_class::<regressor::Regressor>()?;
    module.add_class::<koopman::Koopman>()?;
    module.add_class::<control::Controller>()?;
    module.add_class::<svd::TruncatedSVD>()?;
    module.add_class::<svd::TruncatedEigen>()?;
    module.add_function(wrap_pyfunction!(svd::sparse_sketch, module)?)
}
