"""Budgeted learners against their papers' algorithms written out, and all else they must do."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelstream as ks
import reference as ref
import reference_budget as slow
from kernelstream.components.parser import parse_learner
from modelbytes import pack, unpack
from realdata import real_stream
from scikit_checks import IN_THEIR_ORDER

SEED = 7


def gram(X, bandwidth):
    kernel = ref.gaussian(bandwidth)
    return np.vstack([kernel(rows, X) for rows in np.array_split(X, 40)])


def german():
    """A thousand rows of two classes, standardized; labels of -1 and 1."""
    X, y = real_stream("german_numer", 1000, seed=1)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y[:, None] > 0, 1.0, -1.0), 6.0


def digits():
    """A thousand rows of ten classes, a column of labels for each."""
    X, y = load_digits(return_X_y=True)
    return X[:1000] / 16.0, np.where(y[:1000, None] == np.arange(10), 1.0, -1.0), 2.0


def diabetes():
    """442 rows and two targets to regress on."""
    X, y = real_stream("diabetes", 442)
    return X, np.column_stack([y, X[:, 0] * y]), 2.0


STREAMS = {"german": german, "digits": digits, "diabetes": diabetes}
LABELLED = ["german", "digits"]


@pytest.fixture(scope="module", params=STREAMS)
def stream(request):
    X, Y, bandwidth = STREAMS[request.param]()
    return X, Y, bandwidth, gram(X, bandwidth)


@pytest.fixture(scope="module", params=LABELLED)
def labelled(request):
    X, Y, bandwidth = STREAMS[request.param]()
    return X, Y, bandwidth, gram(X, bandwidth)


def by_rows(X):
    return X[np.lexsort(X.T)]


def assert_same(learner, stream, expected):
    """The same predictions, the same stored points, the same function."""
    X, Y, bandwidth, K = stream
    predictions, A = expected
    model = ks.KernelRegressor(ks.Gaussian(bandwidth), learner=learner, scale=False)
    ours = np.vstack(
        [model.partial_fit_predict(X[:137], Y[:137]), np.zeros((len(X) - 137, Y.shape[1]))]
    )
    ours[137:] = model.partial_fit_predict(X[137:], Y[137:])
    scale = max(1.0, np.abs(predictions).max())
    np.testing.assert_allclose(ours, predictions, atol=1e-10 * scale, rtol=0)
    stored = np.flatnonzero(A.any(axis=1))
    np.testing.assert_array_equal(by_rows(model.dictionary_), by_rows(X[stored]))
    predicted = model.predict(X).reshape(Y.shape)
    np.testing.assert_allclose(predicted, K @ A, atol=1e-10 * scale, rtol=0)
    assert model.n_stored_ == len(stored) <= (learner.budget or len(X))


SLOPES = {
    "squared": slow.squared_slope,
    "hinge": slow.hinge_slope,
    "logistic": slow.logistic_slope,
}


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("budget", [None, 60])
@pytest.mark.parametrize("loss", SLOPES)
def test_kogd_is_the_papers(stream, loss, budget):
    model = ks.presets.kogd(
        loss=loss, step=0.15, schedule="inverse_sqrt", regularization=0.01, budget=budget
    )
    _, Y, _, K = stream
    expected = slow.kogd(K, Y, SLOPES[loss], 0.15, 0.01, budget, root=True)
    assert_same(model.learner, stream, expected)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_rbp_is_the_papers(labelled):
    _, Y, _, K = labelled
    expected = slow.rbp(K, Y, 50, slow.draws(SEED, 50))
    assert_same(ks.presets.rbp(budget=50, random_state=SEED).learner, labelled, expected)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("most", [0.3, 5.0])
def test_bpas_is_the_papers(labelled, most):
    _, Y, _, K = labelled
    assert_same(
        ks.presets.bpas(budget=40, aggressiveness=most).learner, labelled, slow.bpas(K, Y, 40, most)
    )


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("margin", [False, True])
@pytest.mark.parametrize(("tolerance", "budget"), [(0.5, None), (0.2, 40)])
def test_projectron_is_the_papers(labelled, tolerance, budget, margin):
    _, Y, _, K = labelled
    learner = ks.presets.projectron(tolerance=tolerance, budget=budget, margin=margin).learner
    assert_same(learner, labelled, slow.projectron(K, Y, tolerance, budget, margin))


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("loss", SLOPES)
def test_bogd_is_the_papers(stream, loss):
    _, Y, _, K = stream
    model = ks.presets.bogd(
        None, 50, 0.2, loss=loss, regularization=0.02, max_coefficient=3.0, random_state=SEED
    )
    expected = slow.bogd(K, Y, SLOPES[loss], 0.2, 0.02, 3.0, 50, slow.draws(SEED, 50))
    assert_same(model.learner, stream, expected)


def test_the_coefficient_of_bpas_is_the_best_there_is(labelled):
    """The closed form of the reference, against the objective around it."""
    _, Y, _, K = labelled
    _, A = slow.bpas(K[:60, :60], Y[:60], 60, 0.3)
    (r, *_), t, most = np.flatnonzero(A.any(axis=1)), 60, 0.3
    f = A.T @ K[:60, t]

    def objective(new):
        moved = np.stack([-A[r], new])
        pair = K[np.ix_([r, t], [r, t])]
        loss = np.maximum(0.0, 1.0 - Y[t] * (f - A[r] * K[r, t] + new * K[t, t]))
        return 0.5 * np.einsum("ic,ij,jc->c", moved, pair, moved) + most * loss

    best = A[r] * K[r, t] + Y[t] * np.clip(1.0 - Y[t] * f, 0.0, most)
    for nudge in (1e-3, -1e-3, 0.1, -0.1):
        assert np.all(objective(best + nudge) >= objective(best))


# ------------------------------------------------------------------------------------- estimators

COMPONENTS = [
    ks.BudgetedPerceptron(),
    ks.BudgetedPerceptron(20, "oldest"),
    ks.BudgetedPerceptron(30, {"project": 0.3}, margin=True),
    ks.BudgetedPerceptron(None, {"project": 0.3}),
    ks.BudgetedPassiveAggressive(20, aggressiveness=0.5),
    ks.BudgetedPassiveAggressive(None, "none"),
    ks.BudgetedGradient(30, "unbiased", "hinge", 0.1, max_coefficient=5.0, random_state=3),
    ks.BudgetedGradient(30, schedule="inverse_sqrt"),
    ks.BudgetedGradient(
        None, "none", {"huber": 1.0}, 0.1, {"power": {"half_life": 10.0, "exponent": 0.5}}, 1e-3
    ),
]


@pytest.mark.parametrize("part", COMPONENTS, ids=repr)
def test_components_are_values(part):
    assert clone(part) == part
    assert pickle.loads(pickle.dumps(part)) == part
    assert type(part).from_spec(part.to_spec()) == part


def expected_failed_checks(estimator):
    if isinstance(estimator, ks.KernelRegressor):
        return IN_THEIR_ORDER
    return IN_THEIR_ORDER | {
        "check_class_weight_classifiers": "the check's points are far apart on the scale of the "
        "kernel, and nothing is centred, so that nothing is said between them"
    }


@parametrize_with_checks(
    [
        ks.KernelRegressor(learner=ks.BudgetedGradient(100, {"project": 0.1}), scale=False),
        ks.presets.kogd(),
        ks.presets.rbp(),
        ks.presets.bpas(),
        ks.presets.projectron(margin=True),
        ks.presets.bogd(),
    ],
    expected_failed_checks=expected_failed_checks,
)
def test_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("learner", COMPONENTS, ids=repr)
@pytest.mark.parametrize("estimator", [ks.KernelRegressor, ks.KernelClassifier])
def test_a_model_file_gives_the_same_model_to_the_bit(estimator, learner, tmp_path):
    X, Y, bandwidth = digits()
    y = Y[:, 0]
    model = estimator(ks.Gaussian(bandwidth), learner=learner).fit(X[:300], y[:300])
    model.save(tmp_path / "model")
    for again in (ks.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert type(again) is estimator
        assert again.get_params() == model.get_params()
        again.partial_fit(X[300:], y[300:])
        whole = estimator(ks.Gaussian(bandwidth), learner=learner).fit(X, y)
        np.testing.assert_array_equal(again.predict(X), whole.predict(X))
        assert again._core.to_bytes() == whole._core.to_bytes()


@pytest.mark.parametrize("learner", COMPONENTS, ids=repr)
def test_rows_one_by_one_are_rows_at_once(learner):
    X, Y, bandwidth = digits()
    kernel = ks.Gaussian(bandwidth)
    single = ks.KernelRegressor(kernel, learner=learner, scale=False)
    predictions = []
    for x, y in zip(X[:200], Y[:200], strict=True):
        predictions.append(single.predict_one(x) if predictions else np.zeros(10))
        single.learn_one(x, y)
    whole = ks.KernelRegressor(kernel, learner=learner, scale=False)
    np.testing.assert_array_equal(whole.partial_fit_predict(X[:200], Y[:200]), predictions)
    assert whole._core.to_bytes() == single._core.to_bytes()


def test_classes_by_their_labels():
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {k}" for k in range(10)])[y]
    for learner, worst in [
        (ks.BudgetedPerceptron(300, {"project": 0.1}, margin=True), 0.05),
        (ks.BudgetedPassiveAggressive(300), 0.07),
        (ks.BudgetedGradient(300, "oldest", "hinge"), 0.12),
    ]:
        model = ks.KernelClassifier(ks.Gaussian(1.5), learner=learner, scale=False)
        model.partial_fit(X[:1] / 16.0, names[:1], classes=np.unique(names))
        mistakes = model.partial_fit_predict(X[1:] / 16.0, names[1:]) != names[1:]
        assert mistakes[len(mistakes) // 2 :].mean() < worst
        assert model.n_stored_ <= 300


def test_predictions_are_linear_in_transformed_rows():
    X, Y, bandwidth = digits()
    kernel = ks.Gaussian(bandwidth)
    model = ks.KernelRegressor(kernel, learner=ks.BudgetedGradient(40), scale=False).fit(X, Y)
    expected = ref.gaussian(bandwidth)(X[:50], model.dictionary_)
    np.testing.assert_allclose(model.transform(X[:50]), expected, atol=1e-12)
    assert len(model.get_feature_names_out()) == 40


def test_a_basis_beside_a_budgeted_learner_is_refused():
    X, Y, _ = digits()
    model = ks.KernelRegressor(basis=ks.ALD(), learner=ks.BudgetedPerceptron(), scale=False)
    with pytest.raises(ValueError, match="chooses the stored points itself: leave the basis out"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="perceptron"):
        ks.Koopman(learner=ks.BudgetedPerceptron()).partial_fit(X, X)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_the_loss_of_a_classifier_reaches_the_learner():
    X, Y, _ = digits()
    y = Y[:, 3]
    own = ks.KernelClassifier(learner=ks.BudgetedGradient(40, loss="logistic"), scale=False).fit(
        X, y
    )
    given = ks.KernelClassifier(learner=ks.BudgetedGradient(40), loss="logistic", scale=False).fit(
        X, y
    )
    np.testing.assert_array_equal(own.predict_proba(X), given.predict_proba(X))
    for learner, loss in [
        (ks.BudgetedPerceptron(), "perceptron"),
        (ks.BudgetedPassiveAggressive(), "hinge"),
    ]:
        model = ks.KernelClassifier(learner=learner, scale=False).fit(X, y)
        assert not hasattr(model, "predict_proba")
        with pytest.raises(ValueError, match="cannot have loss='logistic'"):
            ks.KernelClassifier(learner=learner, loss="logistic", scale=False).fit(X, y)
        ks.KernelClassifier(learner=learner, loss=loss, scale=False).fit(X, y)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: ks.BudgetedPerceptron(0), "budget"),
        (lambda: ks.BudgetedPerceptron(-1), "budget|invalid value"),
        (lambda: ks.BudgetedPerceptron(None), "removal"),
        (lambda: ks.BudgetedPerceptron(10, "newest"), "newest"),
        (lambda: ks.BudgetedPerceptron(10, {"project": 1.0}), "tolerance"),
        (lambda: ks.BudgetedPerceptron(10, margin=True), "margin"),
        (lambda: ks.BudgetedPerceptron(random_state=-1), "random_state"),
        (lambda: ks.BudgetedPassiveAggressive(aggressiveness=0.0), "aggressiveness"),
        (lambda: ks.BudgetedGradient(step=-1.0), "step"),
        (lambda: ks.BudgetedGradient(loss="nothing"), "nothing"),
        (lambda: ks.BudgetedGradient(schedule="adaptive"), "schedule"),
        (lambda: ks.BudgetedGradient(max_coefficient=0.0), "max_coefficient"),
        (lambda: ks.BudgetedGradient(regularization=-1.0), "regularization"),
    ],
)
def test_parameters_out_of_range(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()


@pytest.mark.parametrize("learner", COMPONENTS, ids=repr)
@pytest.mark.parametrize("learned", [0, 100])
def test_bad_rows_are_named_and_change_nothing(learner, learned):
    X, Y, _ = digits()
    model = ks.KernelRegressor(learner=learner, scale=False)
    if learned:
        model.partial_fit(X[:learned], Y[:learned])
    before = pickle.dumps(model)
    for spoil in (np.nan, np.inf):
        bad = X.copy()
        bad[150, 2] = spoil
        with pytest.raises(ValueError, match="row 150"):
            model.partial_fit(bad, Y)
        wrong = Y.copy()
        # A row that lacks some of its targets is learned with the others.
        wrong[160, slice(None) if np.isnan(spoil) else 1] = spoil
        with pytest.raises(ValueError, match="row 160"):
            model.partial_fit(X, wrong)
    assert pickle.dumps(model) == before


# ------------------------------------------------------------------------------------ model files


@pytest.fixture
def saved(tmp_path):
    X, Y, bandwidth = digits()
    learner = ks.BudgetedPerceptron(20, {"project": 0.2})
    ks.KernelRegressor(ks.Gaussian(bandwidth), learner=learner, scale=False).fit(
        X[:200], Y[:200]
    ).save(tmp_path / "model")
    return (tmp_path / "model").read_bytes()


def without(name):
    return lambda _, arrays: arrays.pop(name)


def change(name, edit):
    def damage(_, arrays):
        arrays[name] = edit(arrays[name])

    return damage


def configure(**values):
    def damage(config, _):
        config["spec"]["learner"].update(values)

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        without("budget.points"),
        without("budget.coefficients"),
        without("budget.factor"),
        without("budget.counts"),
        change("budget.points", lambda a: a[:-1]),
        change("budget.points", lambda a: a[:, :0]),
        change("budget.points", lambda a: a * 1e60),
        change("budget.coefficients", lambda a: a[:, :0]),
        change("budget.coefficients", lambda a: a * np.nan),
        change("budget.factor", lambda a: a[:-1, :-1]),
        change("budget.factor", lambda a: -a),
        change("budget.factor", np.transpose),
        change("budget.counts", lambda a: a[:-1]),
        change("budget.counts", lambda a: a + np.uint64(2**60)),
        configure(budget=19),
        configure(budget=0),
        configure(removal="nothing"),
        configure(type="ridge"),
        configure(margn=True),
        lambda config, _: config.update(kind="stream"),
    ],
)
def test_damaged_files_are_refused(damage, saved, tmp_path):
    config, arrays = unpack(saved)
    damage(config, arrays)
    (tmp_path / "damaged").write_bytes(pack(config, arrays))
    with pytest.raises(ks.ModelFileError):
        ks.load(tmp_path / "damaged")


def test_a_sound_file_passes_the_same_way(saved, tmp_path):
    (tmp_path / "again").write_bytes(pack(*unpack(saved)))
    assert ks.load(tmp_path / "again").n_stored_ == 20


# ----------------------------------------------------------------------------------- command line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("budgeted_perceptron:50", ks.BudgetedPerceptron(50)),
        (
            "budgeted_perceptron:none,removal=project:0.2,margin=true",
            ks.BudgetedPerceptron(None, {"project": 0.2}, margin=True),
        ),
        (
            "budgeted-passive-aggressive:50,aggressiveness=0.5",
            ks.BudgetedPassiveAggressive(50, aggressiveness=0.5),
        ),
        (
            "budgeted_gradient:0.1,budget=30,removal=unbiased,loss=huber:0.5,random_state=4",
            ks.BudgetedGradient(30, "unbiased", {"huber": 0.5}, 0.1, random_state=4),
        ),
    ],
)
def test_the_command_line_writes_them(text, expected):
    assert parse_learner(text) == expected


def test_the_command_line_learns_with_them(tmp_path):
    from typer.testing import CliRunner

    from kernelstream.cli import app

    X, y = real_stream("diabetes", 442)
    table = tmp_path / "table.csv"
    names = [f"x{j}" for j in range(X.shape[1])]
    np.savetxt(
        table, np.column_stack([X, y]), delimiter=",", header=",".join([*names, "y"]), comments=""
    )
    model = tmp_path / "model"
    run = CliRunner().invoke(
        app,
        [
            "learn",
            str(table),
            "-t",
            "y",
            "--learner",
            "budgeted_gradient:0.3,budget=40",
            "-s",
            str(model),
        ],
    )
    assert run.exit_code == 0, run.output
    assert ks.load(model).n_stored_ == 40
    run = CliRunner().invoke(app, ["predict", str(model), str(table)])
    assert run.exit_code == 0, run.output
