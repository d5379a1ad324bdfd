"""The two rounds of distributed learning, on any engine."""

from __future__ import annotations

import warnings
from copy import deepcopy
from os import PathLike, fspath
from typing import Any, Protocol, TypeVar

import numpy as np
from sklearn.base import clone, is_classifier

from kernelstream.columns.delayed import is_delayed
from kernelstream.distributed import dask, ray, spark, threads
from kernelstream.distributed.models import model_of
from kernelstream.distributed.rounds import SAMPLE_SIZE, begin
from kernelstream.estimators.merging import MergingEstimator
from kernelstream.estimators.validation import whole_number
from kernelstream.koopman import Koopman

__all__ = ["fit", "partial_fit", "predict"]

Estimator = TypeVar("Estimator", bound=MergingEstimator)


class _Parts(Protocol):
    """Rows in parts, and the operations on all of them."""

    def draw(self, model: Any, size: int) -> list[list[dict[str, Any]]]:
        """Sample the parts, together at least `size` rows if there are as many."""

    def learn(self, begun: Any, *, successive: bool) -> Any:
        """Give one estimator, merged of copies that learned the parts."""


def fit(
    model: Estimator,
    data: Any,
    target: Any = None,
    *,
    weight: Any = None,
    sample_weight: Any = None,
    sample_size: int | None = SAMPLE_SIZE,
    successive: bool = False,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Estimator:
    """Reset, then learn distributed rows, in two rounds.

    Parameters
    ----------
    model : estimator
        One that `merge` works for, such as ``KernelRegressor()``, ``KernelClassifier(learner=
        Ridge())`` or ``Koopman()``.
    data : array-like, source of batches, list of parts, or collection of Dask, Spark or Ray
        Rows as for the estimator's ``fit``, or what it reads in batches, which are divided among
        threads. Or a list of parts, each a pair (X, y), a mapping with the arguments of
        ``partial_fit``, or of a `Koopman` a trajectory. Of Dask: an array, a data frame, a bag of
        parts, or a list of delayed parts. Of Spark: a data frame. Of Ray: a ``Dataset``, or a list
        of references to parts. The engine learns them where they are.
    target : array-like, Dask array or series, or str or list of str, optional
        Targets, labels, or next states of the rows; or the names of their columns. None: parts have
        them.
    weight : array-like, Dask array or series, or str, optional
        How many times each row's loss counts; or the name of its column. None: 1, or parts have
        them.
    sample_weight : object, optional
        Scikit-learn's name of `weight`.
    sample_size : int or None, default=10000
        The dictionary is made of this many rows, drawn from all alike. None: it is that of `model`,
        which has learned.
    successive : bool, default=False
        The parts follow one another in time, as a learner with ``forgetting`` needs it.
    n_jobs : int, optional
        Number of threads where no engine does the work. None: one for each processor.
    verbose : bool, default=False
        Whether to show progress of threads, or Dask's bar; engines have pages of their own.

    Returns
    -------
    model : estimator
        `model`.

    Raises
    ------
    ValueError, TypeError
        The estimator does not add up, or a name is no column, before a row is read; a row is bad
        (the message names its part, and the row in it), or there is none. `model` is as it was.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> from kernelstream import distributed
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(20000, 2))
    >>> model = distributed.fit(ks.KernelRegressor(ks.Gaussian(0.5)), X, np.sin(3 * X[:, 0]))
    >>> model.n_seen_
    20000
    """
    if sample_size is not None:
        whole_number("sample_size", sample_size)
    _check_adds(model, successive)
    if sample_size is None:
        begun = deepcopy(model).freeze_dictionary()
    weight = _one_weight(weight, sample_weight)
    parts = _parts(model, data, target, weight, n_jobs, once=sample_size is None, verbose=verbose)
    if sample_size is not None:
        begun = begin(model, parts.draw(model, sample_size), sample_size)
    learned = parts.learn(begun, successive=successive)
    if not learned.n_seen_:
        raise ValueError("there is no row in any part")
    with model._learning(reset=True) as new:
        new._take_over(learned)
    return model


def partial_fit(
    model: Estimator,
    data: Any,
    target: Any = None,
    *,
    weight: Any = None,
    sample_weight: Any = None,
    successive: bool = False,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Estimator:
    """Continue learning with distributed rows, in one round: today's, or a micro-batch.

    Copies of the model that have forgotten its rows and store no further point learn the parts, and
    are merged into it. So its dictionary stays as it is.

    Parameters
    ----------
    model : estimator
        One that has learned, beyond its warm-up: what `fit` gave, or another that adds up.
    data : array-like, source of batches, list of parts, or collection of Dask, Spark or Ray
        As for `fit`; read once.
    target, weight, sample_weight : object, optional
        As for `fit`.
    successive : bool, default=False
        As for `fit`; the rows of the parts came after those of the model.
    n_jobs : int, optional
        As for `fit`.
    verbose : bool, default=False
        As for `fit`.

    Returns
    -------
    model : estimator
        `model`.

    Raises
    ------
    NotFittedError
        The model has learned nothing: use `fit`.
    ValueError, TypeError
        As for `fit`; `model` is as it was.
    """
    begun = deepcopy(model).freeze_dictionary()
    # Estimators that cannot be merged are refused before work starts.
    deepcopy(model).merge(begun, successive=successive)
    weight = _one_weight(weight, sample_weight)
    parts = _parts(model, data, target, weight, n_jobs, once=True, verbose=verbose)
    learned = parts.learn(begun, successive=successive)
    return model.merge(learned, successive=successive)


def predict(model: Any, data: Any, *, n_jobs: int | None = None) -> Any:
    """Predict rows where they are.

    Parameters
    ----------
    model : estimator or path
        What predicts; or the model file, which each worker reads.
    data : array-like, source of batches, or collection of Dask, Spark or Ray
        Rows, as for ``predict``. A frame may have further columns.
    n_jobs : int, optional
        Number of threads for rows in memory. None: one for each processor.

    Returns
    -------
    predictions : object
        Of Dask a lazy array or series (of several targets a frame), or delayed parts; of Spark and
        Ray the lazy frame with a further column ``prediction``; of a source an iterator of arrays,
        one for each batch; of rows in memory an array.

    Raises
    ------
    NotFittedError, ValueError, TypeError
        As of ``predict``: at once, or once the engine computes.
    """
    given = fspath(model) if isinstance(model, str | PathLike) else model
    for engine in (dask, spark, ray):
        if engine.has(data):
            return engine.predict(given, data)
    return threads.predict(model_of(given), data, n_jobs)


def _parts(
    model: Any,
    data: Any,
    target: Any,
    weight: Any,
    n_jobs: int | None,
    *,
    once: bool,
    verbose: bool,
) -> _Parts:
    """Give the parts of any data; refuses what is invalid without reading rows."""
    if is_delayed(data):
        return dask.Parts(model, data, target, weight, verbose=verbose)
    if spark.has(data):
        return spark.Parts(data, target, weight)
    if ray.has(data):
        of_ray: _Parts = ray.parts(data, target, weight)
        return of_ray
    return threads.Parts(model, data, target, weight, n_jobs, once=once, verbose=verbose)


def _one_weight(weight: Any, sample_weight: Any) -> Any:
    if weight is not None and sample_weight is not None:
        raise TypeError("weight and sample_weight are two names of one thing: pass one of them")
    return sample_weight if weight is None else weight


def _check_adds(model: Any, successive: bool) -> None:
    """Refuse an estimator that cannot be merged, by one that has learned a few artificial rows."""
    random = np.random.default_rng(0)
    rows, y = random.normal(size=(8, 2)), random.normal(size=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            probe = clone(model)
            if isinstance(model, Koopman):
                probe.partial_fit(rows[:-1], rows[1:])
            elif is_classifier(model):
                probe.partial_fit(rows, np.where(y > 0, "a", "b"), classes=["a", "b"])
            else:
                probe.partial_fit(rows, y)
        except (ValueError, TypeError):
            return  # parameters that do not fit these rows raise their error later
        probe.freeze_dictionary()
        clone(model).merge(probe, deepcopy(probe), successive=successive)
