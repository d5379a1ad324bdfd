"""Models as ONNX graphs: the runtime predicts what the model does."""

import sys

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

RANDOM = np.random.default_rng(0)
N = 400
X = RANDOM.normal(size=(N, 3)) * [1.0, 20.0, 0.1] + [0.0, 5.0, 1.0]
Y = np.sin(X[:, 0]) + 0.05 * X[:, 1] * X[:, 2]
FRAME = pd.DataFrame(
    {
        "size": X[:, 0],
        "income": np.exp(RANDOM.normal(size=N) * 2) * 1e4,
        "room": RANDOM.choice(["hall", "attic", "cellar"], N),
        "lit": RANDOM.random(N) < 0.5,
        "at": pd.date_range("1969-06-01", periods=N, freq="37h"),
    }
)
GAPPED = FRAME.assign(size=FRAME["size"].where(RANDOM.random(N) < 0.8))


def predicted(model, rows, like=None):
    """What the runtime says of rows."""
    written = model.to_onnx(like).SerializeToString()
    session = runtime.InferenceSession(written, providers=["CPUExecutionProvider"])
    names = [put.name for put in session.get_inputs()]
    if names == ["X"]:
        given = {"X": np.asarray(rows, np.float64)}
    else:
        given = {name: _cells(rows[name]) for name in names}
    outputs = [put.name for put in session.get_outputs()]
    return dict(zip(outputs, session.run(None, given), strict=True))


def _cells(column):
    if column.dtype.kind == "M":
        return column.to_numpy("datetime64[ns]").astype(np.int64)[:, None] / 1e9
    if column.dtype.kind in "bif":
        return column.to_numpy(np.float64)[:, None]
    return column.to_numpy(object).astype(str).astype(object)[:, None]


@pytest.mark.parametrize(
    "kernel",
    [
        ks.Gaussian(),
        ks.Laplacian(),
        ks.ManhattanLaplacian(),
        ks.ManhattanLaplacian(exponent=0.75),
        ks.Matern32(),
        ks.Matern52(),
        ks.Polynomial(2),
        ks.Linear(),
        0.3 * ks.Gaussian(1.0) + 0.7 * ks.Matern32() * ks.Linear(),
        ks.Mapped(ks.Gaussian(), [1.0, 0.0, 2.0]),
        ks.Mapped(ks.Matern52(), [[1.0, 0.5, 0.0], [0.0, 0.2, 1.0]]),
    ],
    ids=repr,
)
def test_kernels(kernel):
    model = ks.KernelRegressor(kernel).fit(X, Y)
    rows = 1.5 * X
    made = predicted(model, rows)["prediction"]
    np.testing.assert_allclose(made[:, 0], model.predict(rows), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        ks.KernelRegressor(scale=False, kernel=ks.Gaussian(3.0)),
        ks.KernelRegressor(learner=ks.Ridge(center=False, clip=False)),
        ks.KernelRegressor(learner=ks.Gradient()),
        ks.KernelRegressor(learner=ks.OnlineNewton()),
        ks.KernelRegressor(learner=ks.GaussNewton(loss="squared")),
        ks.KernelRegressor(learner=ks.BudgetedGradient()),
        ks.KernelRegressor(basis=ks.NoisyPoints(0.1), learner=ks.Interpolation()),
        ks.KernelExperts([ks.KernelRegressor(ks.Gaussian(b)) for b in (1.0, 3.0)]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("targets", [Y, np.column_stack([Y, 3 - Y])], ids=["one", "two"])
def test_regressors(model, targets):
    model.fit(X, targets)
    rows = 1.5 * X
    made = predicted(model, rows)["prediction"]
    np.testing.assert_allclose(
        made.reshape(N, -1)[:, : targets.ndim],
        model.predict(rows).reshape(N, -1),
        rtol=0,
        atol=1e-6,
    )


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "hinge"])
@pytest.mark.parametrize(
    "classes", [["no", "yes"], ["a", "b", "c"], [0, 1], [10, 20, 30], [False, True], [1.0, 2.0]]
)
def test_classifiers(loss, classes):
    places = np.digitize(Y, np.quantile(Y, np.arange(1, len(classes)) / len(classes)))
    model = ks.KernelClassifier(loss=loss).fit(X, np.array(classes)[places])
    rows = 1.5 * X
    made = predicted(model, rows)
    assert made["label"].tolist() == model.predict(rows).tolist()
    scores = made["scores"][:, 0] if len(classes) == 2 else made["scores"]
    np.testing.assert_allclose(scores, model.decision_function(rows), rtol=0, atol=1e-6)
    assert ("probabilities" in made) == (loss != "hinge")
    if loss != "hinge":
        np.testing.assert_allclose(
            made["probabilities"], model.predict_proba(rows), rtol=0, atol=1e-6
        )


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UnknownCategoriesWarning")
@pytest.mark.parametrize("frame", [FRAME, GAPPED], ids=["whole", "gaps"])
def test_frames(frame):
    missing = "fill" if frame["size"].hasnans else "error"
    columns = {"income": {"type": "number", "logarithm": True}}
    target = FRAME["size"] + (FRAME["room"] == "hall") + 0.1 * np.log(FRAME["income"])
    model = ks.KernelRegressor(columns=columns, missing=missing).fit(frame, target)
    made = predicted(model, frame, frame)["prediction"]
    np.testing.assert_allclose(made[:, 0], model.predict(frame), rtol=0, atol=1e-6)
    strange = frame[:3].assign(room="garden")
    made = predicted(model, strange, frame)["prediction"]
    np.testing.assert_allclose(made[:, 0], model.predict(strange), rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="texts it does not hold: pass rows"):
        model.to_onnx()
    with pytest.raises(ValueError, match="'room': X has 1 of the 3 categories"):
        model.to_onnx(frame[frame["room"] == "hall"])


def test_many_categories_and_elapsed_time():
    names = [f"user {i}" for i in range(60)]
    frame = pd.DataFrame(
        {"user": RANDOM.choice(names, N), "at": FRAME["at"], "fixed": np.full(N, 7.0)}
    )
    columns = {
        "user": {"type": "category", "max_size": 8},
        "at": {"type": "time", "parts": ["week", "elapsed"]},
    }
    model = ks.KernelRegressor(columns=columns).fit(frame, Y)
    made = predicted(model, frame, frame)["prediction"]
    np.testing.assert_allclose(made[:, 0], model.predict(frame), rtol=0, atol=1e-6)
    other = frame.assign(fixed=8.0)
    made = predicted(model, other, frame)["prediction"]
    np.testing.assert_allclose(made[:, 0], model.predict(other), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        ks.KernelExperts(size=20),
        ks.KernelRegressor(basis=ks.Fourier(30)),
        ks.KernelRegressor(learner=ks.Ridge(prediction="awv")),
    ],
    ids=repr,
)
def test_unwritable_outputs_are_refused_with_the_reason(model):
    with pytest.raises(ValueError, match="cannot be written as ONNX"):
        model.fit(X, Y).to_onnx()


def test_without_onnx_the_error_says_what_to_install(monkeypatch):
    model = ks.KernelRegressor().fit(X, Y)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"kernelstream\[onnx\]"):
        model.to_onnx()


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("order", ["as drawn", "in time"])
def test_dates_with_and_without_a_trend(order):
    days = np.random.default_rng(3).integers(0, 4000, 700)
    days = np.sort(days) if order == "in time" else days
    frame = pd.DataFrame({"at": pd.Timestamp("2010-01-01") + pd.to_timedelta(days, unit="D")})
    model = ks.KernelRegressor().partial_fit(frame, days / 365.0)
    asked = pd.DataFrame({"at": pd.to_datetime(["1950-03-04", "2015-06-07", "2090-01-02"])})
    made = predicted(model, asked, like=frame)["prediction"]
    np.testing.assert_allclose(made[:, 0], model.predict(asked), rtol=1e-9, atol=1e-9)
