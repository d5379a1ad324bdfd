"""Models as ONNX graphs: columns to features, similarities to stored points, predictions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream import _core
from kernelstream.supervised.columns import named_columns

__all__ = ["onnx_model"]

Floats = NDArray[np.float64]

_PERIODS = {"day": 86_400.0, "week": 7 * 86_400.0, "year": 365.2425 * 86_400.0}
_TREND = 3.0  # deviations within which the core knows a trend
_SURE = np.array(2.0)  # log-odds beyond which the core's calibration has other slopes
# Lowest opset with ReduceSum and Clip in this form; runtimes of 2022 support it.
_OPSET, _ML_OPSET, _IR = 17, 3, 8


def onnx_model(estimator: Any, X: Any) -> Any:
    """Write a fitted estimator as an ONNX model.

    Raises
    ------
    ImportError
        If onnx is missing.
    ValueError
        The model has no such form, or a category is missing in X.
    """
    try:
        import onnx  # noqa: PLC0415 (optional)
    except ImportError as missing:
        raise ImportError(
            "to_onnx() needs the package onnx, which is not installed: "
            'pip install "kernelstream[onnx]"'
        ) from missing
    check_is_fitted(estimator)
    sums = estimator._core.sums()
    if sums is None:
        raise ValueError(
            f"{type(estimator).__name__} cannot be written as ONNX as it is: predictions must be "
            "sums of similarities to stored points (ALD, AllPoints, NoisyPoints, budgeted "
            "learners, and KernelExperts with experts=[...] of such), not shrunk "
            '(prediction="awv"); experts that choose themselves have shares that depend on the row'
        )
    graph = _Graph(onnx)
    features = _features(graph, estimator, X)
    total = ""
    for kernel, points, coefficients, constants, limits, weights in sums:
        made = _prediction(graph, features, json.loads(kernel), points, coefficients, constants)
        made = _limited(graph, made, limits)
        if not (weights == 1.0).all():
            made = graph.add("Mul", made, weights[None, :])
        total = graph.add("Add", total, made) if total else made
    if getattr(estimator, "classes_", None) is None:
        graph.output("prediction", total, graph.kinds.DOUBLE, [None, len(sums[0][3])])
    else:
        _classes(graph, estimator, total)
    return graph.model()


class _Graph:
    """Nodes, constants, inputs and outputs of a graph."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.kinds = onnx.TensorProto
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, text: bool, width: int) -> str:
        kind = self.kinds.STRING if text else self.kinds.DOUBLE
        self._inputs.append(self._onnx.helper.make_tensor_value_info(name, kind, [None, width]))
        return name

    def constant(self, value: Any) -> str:
        name = f"constant_{len(self._constants)}"
        array = np.ascontiguousarray(value)
        if array.dtype.kind == "U":
            array = array.astype(object)
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *inputs: Any, domain: str = "", **attributes: Any) -> str:
        """Add a node; inputs that are no names are constants. Gives the name of its output."""
        names = [given if isinstance(given, str) else self.constant(given) for given in inputs]
        out = f"{operator.lower()}_{len(self._nodes)}"
        node = self._onnx.helper.make_node(operator, names, [out], domain=domain, **attributes)
        self._nodes.append(node)
        return out

    def cast(self, value: str, kind: int) -> str:
        return self.add("Cast", value, to=kind)

    def doubles(self, value: str) -> str:
        return self.cast(value, self.kinds.DOUBLE)

    def output(self, name: str, value: str, kind: int, shape: Sequence[int | None]) -> None:
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        info = self._onnx.helper.make_tensor_value_info(name, kind, shape)
        self._outputs.append(info)

    def model(self) -> Any:
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, "kernelstream", self._inputs, self._outputs, self._constants
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=_IR, producer_name="kernelstream"
        )
        self._onnx.checker.check_model(model)
        return model


# ----------------------------------------------------------------------------------------- columns


class _Column:
    """A column: its type, and its encoding by the core."""

    def __init__(self, core: Any, spec: Mapping[str, Any], place: int, width: int) -> None:
        named = spec["named"]
        kind = named[place]["kind"] if named else spec["each"]
        self.name = named[place]["name"] if named else str(place)
        self.type: str = kind["type"]
        self.kind = kind
        self.fills = spec["gaps"] == "fill"
        firsts = [*core.first_features, core.features(np.zeros((0, width))).shape[1]]
        self._own = slice(firsts[place], firsts[place + 1])
        self.width = firsts[place + 1] - firsts[place]
        self.mean, self.deviation = (float(part) for part in core.scales[0][place])
        self._core, self._place, self._n = core, place, width

    @property
    def is_dated(self) -> bool:
        """Whether a column of times has a trend, which those in order do not have."""
        widths = {**dict.fromkeys(_PERIODS, 2), "elapsed": 1, "trend": 0}
        return bool(self.width > sum(widths[part] for part in self.kind["parts"]))

    def features(self, *cells: float) -> Floats:
        """Give the features of these cells of the column (n, width)."""
        rows = np.zeros((len(cells), self._n))
        rows[:, self._place] = cells
        return np.asarray(self._core.features(rows))[:, self._own]


def _features(graph: _Graph, estimator: Any, X: Any) -> str:
    """Make features of columns, as the core makes them."""
    spec = json.loads(estimator._core.spec).get("columns")
    width = int(estimator.n_features_in_)
    if spec is None:
        return graph.input("X", text=False, width=width)
    columns = [_Column(estimator._core, spec, place, width) for place in range(width)]
    texts = _texts(estimator, X, columns)
    whole = None
    if not hasattr(estimator, "feature_names_in_") and not texts:
        whole = graph.input("X", text=False, width=width)
    parts = []
    for place, column in enumerate(columns):
        if whole is None:
            cell = graph.input(column.name, text=column.type == "category", width=1)
        else:
            ends = [np.array([end], np.int64) for end in (place, place + 1, 1)]
            cell = graph.add("Slice", whole, *ends)
        if column.type == "category":
            parts.append(_category(graph, cell, column, texts[place]))
        else:
            make = {"number": _number, "boolean": _boolean, "time": _time}[column.type]
            parts.append(make(graph, cell, column))
    return graph.add("Concat", *parts, axis=1)


def _texts(estimator: Any, X: Any, columns: Sequence[_Column]) -> dict[int, list[str]]:
    """Give the categories in X, by the place of their column."""
    places = [place for place, column in enumerate(columns) if column.type == "category"]
    if not places:
        return {}
    if X is None:
        raise ValueError(
            "the model has columns of categories, whose texts it does not hold: pass rows that "
            "have all of them, to_onnx(X)"
        )
    names, given = named_columns(estimator, X)
    if names is None:
        given = list(np.asarray(X, object).T)
    objects = {place: np.asarray(given[place], object).ravel() for place in places}
    return {
        place: sorted({str(value) for value in values if isinstance(value, str | int | np.integer)})
        for place, values in objects.items()
    }


def _number(graph: _Graph, cell: str, column: _Column) -> str:
    value = cell
    if column.kind.get("logarithm"):
        grown = graph.add("Log", graph.add("Add", graph.add("Abs", cell), np.array(1.0)))
        value = graph.add("Mul", graph.add("Sign", cell), grown)
    value = _scaled(graph, value, column, 0)
    if not column.fills:
        return value
    gap = graph.add("IsNaN", cell)
    filled = graph.add("Where", gap, column.features(math.nan)[:, :1], value)
    return graph.add("Concat", filled, graph.doubles(gap), axis=1) if column.width == 2 else filled


def _scaled(graph: _Graph, value: str, column: _Column, feature: int) -> str:
    """Scale numbers as the core does, found by letting it scale some."""
    mean = column.mean
    if not column.kind.get("scale", True) and column.type == "number":
        return value
    zero, one, two = column.features(*_raised(column, [mean, mean + 1.0, mean + 2.0]))[:, feature]
    if one == two:
        # Constant so far: another value has the sign of the difference.
        apart = graph.add("Sub", value, np.array(mean))
        new = graph.add("Greater", graph.add("Abs", apart), np.array(1e-12 * abs(mean)))
        return graph.add("Where", new, graph.add("Sign", apart), np.array(0.0))
    slope = np.array(two - one)
    moved = graph.add("Sub", value, np.array(mean))
    return graph.add("Add", graph.add("Mul", moved, slope), np.array(zero))


def _raised(column: _Column, values: Sequence[float]) -> list[float]:
    """Give cells whose logarithms these are, where the column has them."""
    if not column.kind.get("logarithm"):
        return list(values)
    return [math.copysign(math.expm1(abs(value)), value) for value in values]


def _boolean(graph: _Graph, cell: str, column: _Column) -> str:
    value = graph.add("Sub", graph.add("Mul", cell, np.array(2.0)), np.array(1.0))
    if not column.fills:
        return value
    return graph.add("Where", graph.add("IsNaN", cell), np.array(0.0), value)


def _time(graph: _Graph, cell: str, column: _Column) -> str:
    parts: list[str] = []
    for part in column.kind["parts"]:
        if part == "elapsed":
            parts.append(_elapsed(graph, cell, column, len(parts)))
            continue
        if part == "trend":
            parts += [_trend(graph, cell, column)] if column.is_dated else []
            continue
        period = _PERIODS[part]
        turn = graph.add(
            "Mul", graph.add("Mod", cell, np.array(period), fmod=1), np.array(math.tau / period)
        )
        parts += [
            graph.add("Sin", turn),
            graph.add("Sin", graph.add("Add", turn, np.array(math.pi / 2))),
        ]
    value = graph.add("Concat", *parts, axis=1)
    if not column.fills:
        return value
    return graph.add("Where", graph.add("IsNaN", cell), np.array(0.0), value)


def _trend(graph: _Graph, cell: str, column: _Column) -> str:
    scaled = graph.add(
        "Div", graph.add("Sub", cell, np.array(column.mean)), np.array(column.deviation)
    )
    return graph.add("Clip", scaled, np.array(-_TREND), np.array(_TREND))


def _elapsed(graph: _Graph, cell: str, column: _Column, feature: int) -> str:
    day = _PERIODS["day"]
    zero, one = column.features(0.0, day * 365)[:, feature]
    slope = (one - zero) / (day * 365)
    return graph.add("Add", graph.add("Mul", cell, np.array(slope)), np.array(zero))


def _category(graph: _Graph, cell: str, column: _Column, texts: list[str]) -> str:
    known = column.features(*(_core.category(text) for text in texts))
    others = column.features(*(_core.category(f"\x00{i}") for i in range(8)))
    # Where the features of another category depend on its hash, it counts as none.
    other = others[0] if (others == others[0]).all() else np.zeros(column.width)
    if other[-1] == 1.0:
        missing = column.width - 1 - len(np.unique(known[known[:, -1] == 0.0], axis=0))
        if missing:
            raise ValueError(
                f"column {column.name!r}: X has {column.width - 1 - missing} of the "
                f"{column.width - 1} categories that the model knows: pass rows that have all"
            )
    code = graph.add(
        "LabelEncoder",
        cell,
        domain="ai.onnx.ml",
        keys_strings=[*texts, ""],
        values_int64s=[*range(len(texts)), len(texts) + 1],
        default_int64=len(texts),
    )
    flat = graph.add("Reshape", code, np.array([-1], np.int64))
    # The last two rows are those of another category and of none.
    return graph.add("Gather", np.vstack([known, other, np.zeros(column.width)]), flat)


# ----------------------------------------------------------------------------------------- kernels


def _prediction(
    graph: _Graph,
    features: str,
    kernel: Mapping[str, Any],
    points: Floats,
    coefficients: Floats,
    constants: Floats,
) -> str:
    similarities = _similarities(graph, features, kernel, points)
    return graph.add("Add", graph.add("MatMul", similarities, coefficients), constants[None, :])


def _similarities(graph: _Graph, x: str, kernel: Mapping[str, Any], points: Floats) -> str:
    """Give similarities of rows to points (n, m)."""
    kind = kernel["type"]
    if kind == "sum":
        total = None
        for weight, inner in zip(kernel["weights"], kernel["kernels"], strict=True):
            part = graph.add("Mul", _similarities(graph, x, inner, points), np.array(float(weight)))
            total = part if total is None else graph.add("Add", total, part)
        return str(total)
    if kind == "product":
        first, second = _parts(graph, x, points, kernel.get("second_width"))
        left = _similarities(graph, first[0], kernel["first"], first[1])
        return graph.add("Mul", left, _similarities(graph, second[0], kernel["second"], second[1]))
    if kind == "mapped":
        metric = kernel["metric"]
        if "diagonal" in metric:
            factors = np.array(metric["diagonal"], np.float64)
            return _similarities(
                graph, graph.add("Mul", x, factors[None, :]), kernel["kernel"], points * factors
            )
        matrix = np.array(metric["full"], np.float64)
        seen = graph.add("MatMul", x, np.ascontiguousarray(matrix.T))
        return _similarities(graph, seen, kernel["kernel"], points @ matrix.T)
    if kind in {"linear", "polynomial"}:
        products = graph.add("MatMul", x, np.ascontiguousarray(points.T))
        if kind == "linear":
            return products
        inner = graph.add(
            "Add",
            graph.add("Mul", products, np.array(float(kernel["scale"]))),
            np.array(float(kernel["offset"])),
        )
        return graph.add("Pow", inner, np.array(float(kernel["degree"])))
    return _of_distance(
        graph, kernel, _distances(graph, x, points, manhattan=kind == "manhattan_laplacian")
    )


def _parts(
    graph: _Graph, x: str, points: Floats, second_width: int | None
) -> tuple[tuple[str, Floats], tuple[str, Floats]]:
    if second_width is None:
        return (x, points), (x, points)
    split, width = points.shape[1] - second_width, points.shape[1]

    def some(start: int, end: int) -> tuple[str, Floats]:
        ends = [np.array([value], np.int64) for value in (start, end, 1)]
        return graph.add("Slice", x, *ends), points[:, start:end]

    return some(0, split), some(split, width)


def _distances(graph: _Graph, x: str, points: Floats, *, manhattan: bool) -> str:
    """Give squared distances, or Manhattan distances (n, m)."""
    apart = graph.add("Sub", graph.add("Unsqueeze", x, np.array([1], np.int64)), points[None, :, :])
    sizes = graph.add("Abs", apart) if manhattan else graph.add("Mul", apart, apart)
    return graph.add("ReduceSum", sizes, np.array([2], np.int64), keepdims=0)


def _of_distance(graph: _Graph, kernel: Mapping[str, Any], distance: str) -> str:
    kind, bandwidth = kernel["type"], float(kernel["bandwidth"])
    if kind == "gaussian":
        return graph.add("Exp", graph.add("Mul", distance, np.array(-0.5 / bandwidth**2)))
    if kind == "manhattan_laplacian":
        scaled = graph.add("Mul", distance, np.array(1.0 / bandwidth))
        power = float(kernel.get("exponent", 1.0))
        raised = scaled if power == 1.0 else graph.add("Pow", scaled, np.array(power))
        return graph.add("Exp", graph.add("Neg", raised))
    order = {"laplacian": 1, "matern32": 3, "matern52": 5}[kind]
    root = graph.add("Sqrt", distance)
    r = graph.add("Mul", root, np.array(math.sqrt(order) / bandwidth))
    decay = graph.add("Exp", graph.add("Neg", r))
    if order == 1:
        return decay
    factor = graph.add("Add", r, np.array(1.0))
    if order == 5:
        square = graph.add("Mul", graph.add("Mul", r, r), np.array(1.0 / 3.0))
        factor = graph.add("Add", factor, square)
    return graph.add("Mul", factor, decay)


def _limited(graph: _Graph, made: str, limits: Floats) -> str:
    for side, operator in ((0, "Max"), (1, "Min")):
        if np.isfinite(limits[:, side]).any():
            made = graph.add(operator, made, limits[None, :, side])
    return made


# ----------------------------------------------------------------------------------------- classes


def _calibrated(graph: _Graph, estimator: Any, scores: str) -> str:
    pieces = estimator._core.pieces()
    if pieces is None:
        return scores
    scale, offset, above, below = pieces.T[:, None, :]
    parts = (
        graph.add("Mul", scores, scale),
        graph.add("Mul", graph.add("Max", graph.add("Sub", scores, _SURE), np.array(0.0)), above),
        graph.add("Mul", graph.add("Min", graph.add("Add", scores, _SURE), np.array(0.0)), below),
    )
    made = graph.add("Add", graph.add("Add", *parts[:2]), parts[2])
    return graph.add("Add", made, offset)


def _classes(graph: _Graph, estimator: Any, scores: str) -> None:
    """Add the outputs of a classifier: labels, probabilities where there are, and scores."""
    kinds = graph.kinds
    classes = np.asarray(estimator.classes_)
    count = len(classes)
    scores = _calibrated(graph, estimator, scores)
    flat = np.array([-1], np.int64)
    if count == 2:
        second = graph.cast(graph.add("Greater", scores, np.array(0.0)), kinds.INT64)
        place = graph.add("Reshape", second, flat)
    elif count == 1:
        place = graph.add(
            "Reshape", graph.cast(graph.add("Mul", scores, np.array(0.0)), kinds.INT64), flat
        )
    else:
        place = graph.add("ArgMax", scores, axis=1, keepdims=0)
    kind = {"U": kinds.STRING, "O": kinds.STRING, "b": kinds.BOOL, "f": kinds.DOUBLE}
    label = classes.astype(str) if classes.dtype.kind in "UO" else classes
    if label.dtype.kind in "iu":
        label = label.astype(np.int64)
    label = label.astype(np.float64) if label.dtype.kind == "f" else label
    graph.output(
        "label", graph.add("Gather", label, place), kind.get(label.dtype.kind, kinds.INT64), [None]
    )
    width = 1 if count <= 2 else count
    graph.output("scores", scores, kinds.DOUBLE, [None, width])
    link = json.loads(estimator._core.spec)["labels"].get("link")
    if link is None or count == 1:
        return
    if "logistic" in link:
        shares = graph.add("Sigmoid", scores)
    else:
        shares = graph.add("Max", graph.add("Min", scores, np.array(1.0)), np.array(-1.0))
        shares = graph.add("Add", graph.add("Mul", shares, np.array(0.5)), np.array(0.5))
    if count == 2:
        shares = graph.add("Concat", graph.add("Sub", np.array(1.0), shares), shares, axis=1)
    else:
        total = graph.add("ReduceSum", shares, np.array([1], np.int64), keepdims=1)
        known = graph.add("Greater", total, np.array(0.0))
        safe = graph.add("Where", known, total, np.array(1.0))
        even = np.full((1, count), 1.0 / count)
        shares = graph.add("Where", known, graph.add("Div", shares, safe), even)
    graph.output("probabilities", shares, kinds.DOUBLE, [None, count])
