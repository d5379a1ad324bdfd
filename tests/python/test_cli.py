"""The command line."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

import kernelstream as ks
from kernelstream.cli import app

N = 3000


def run(*args):
    # A single model is faster than experts, the default.
    if args[0] == "learn" and "--experts" not in args and "--plain" not in args:
        args = (*args, "--plain")
    return run_as_given(*args)


def run_as_given(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args], env={"COLUMNS": "200"})


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "count": rng.integers(0, 5, N),
            "weight": 1e3 * rng.normal(size=N),
            "name": "word",
            "flag": rng.uniform(size=N) < 0.5,
        }
    )
    frame["y"] = np.sin(frame["count"]) + np.tanh(frame["weight"] / 1e3)
    frame["z"] = frame["count"] + 2.0 * frame["flag"]
    return frame


def written(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.tsv", "t.csv.gz"])
def test_learn_then_predict_every_kind_of_file(name, frame, tmp_path):
    path = written(frame, tmp_path / name)
    saved, output = tmp_path / "model", tmp_path / "out.csv"
    result = run("learn", path, "-t", "y", "--target", "z", "--save", saved)
    assert result.exit_code == 0, result.output
    assert "learning y, z from: count, weight, name (category), flag (boolean)" in result.stderr
    assert re.search(r"^y .*0\.9\d+$", result.stdout, re.MULTILINE)
    assert "rows learned" in result.stdout
    assert "points stored" in result.stdout
    assert "rows per second" in result.stdout
    result = run("predict", saved, path, "--output", output)
    assert result.exit_code == 0, result.output
    predictions = pd.read_csv(output)
    assert list(predictions.columns) == ["y_predicted", "z_predicted"]
    model = ks.load(saved)
    assert list(model.columns_) == ["count", "weight", "name", "flag"]
    np.testing.assert_allclose(predictions, model.predict(frame), rtol=1e-12)
    assert np.corrcoef(predictions["y_predicted"], frame["y"])[0, 1] > 0.99


def test_the_summary_agrees_with_the_library(frame, tmp_path):
    path = written(frame, tmp_path / "t.csv")
    result = run(
        "learn", path, "-t", "y", "-x", "z", "--no-scale", "--kernel", "gaussian:3e+2",
        "--basis", "ald:1e-2", "--learner", "online-newton:2",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    X = frame[["count", "weight", "flag"]].astype(float)
    model = ks.KernelRegressor(ks.Gaussian(300.0), ks.ALD(1e-2), ks.OnlineNewton(2.0), scale=False)
    predictions = model.partial_fit_predict(X.to_numpy(), frame["y"])
    rmse = np.sqrt(np.mean((predictions - frame["y"])[1:] ** 2))
    means = frame["y"].expanding().mean().shift()
    baseline = np.sqrt(np.mean((means - frame["y"])[1:] ** 2))
    last = np.sqrt(np.mean(frame["y"].diff()[1:] ** 2))
    row = re.search(r"^y +(\S+) +(\S+) +(\S+) +(\S+)$", result.stdout, re.MULTILINE)
    assert float(row[1]) == pytest.approx(rmse, rel=1e-4)
    assert float(row[2]) == pytest.approx(baseline, rel=1e-4)
    assert float(row[3]) == pytest.approx(last, rel=1e-4)
    assert re.search(rf"points stored +{model.n_stored_:,}\b", result.stdout)
    assert re.search(rf"rows learned +{N:,}\b", result.stdout)


def test_experts_learn_and_predict(frame, tmp_path):
    path = written(frame, tmp_path / "t.csv")
    saved, output = tmp_path / "model", tmp_path / "out.csv"
    result = run("learn", path, "-t", "y", "-t", "z", "--experts", "--save", saved)
    assert result.exit_code == 0, result.output
    result = run("predict", saved, path, "--output", output)
    assert result.exit_code == 0, result.output
    model = ks.load(saved)
    assert isinstance(model, ks.KernelExperts)
    assert model.experts is None
    np.testing.assert_allclose(pd.read_csv(output), model.predict(frame), rtol=1e-12)


def test_a_compact_model_is_saved_smaller_and_its_checkpoint_exact(frame, tmp_path):
    path = written(frame, tmp_path / "t.csv")
    saved, checkpoint = tmp_path / "model", tmp_path / "checkpoint"
    result = run("learn", path, "-t", "y", "--save", saved, "--checkpoint", checkpoint, "--compact")
    assert result.exit_code == 0, result.output
    small, whole = ks.load(saved), ks.load(checkpoint)
    assert saved.stat().st_size < 0.95 * checkpoint.stat().st_size
    np.testing.assert_allclose(
        small.predict(frame), whole.predict(frame), rtol=0, atol=1e-6 * frame["y"].std()
    )


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (["-t", "y"], ks.KernelExperts),
        (["-t", "flag"], ks.KernelExpertsClassifier),
        (["-t", "y", "--kernel", "gaussian:10"], ks.KernelRegressor),
        (["-t", "y", "--plain"], ks.KernelRegressor),
        (["-t", "flag", "--plain"], ks.KernelClassifier),
    ],
    ids=str,
)
@pytest.mark.parametrize("order", ["as it comes", "sorted"])
def test_experts_are_the_default_and_a_model_resumes_with_its_kind(
    options, kind, order, frame, tmp_path
):
    frame = frame.sort_values("y") if order == "sorted" else frame
    path, saved = written(frame.head(200), tmp_path / "t.csv"), tmp_path / "model"
    result = run_as_given("learn", path, *options, "--save", saved)
    assert result.exit_code == 0, result.output
    assert type(ks.load(saved)) is kind
    result = run_as_given("learn", path, "--from", saved, "--save", saved, "--again")
    assert result.exit_code == 0, result.output
    assert (type(ks.load(saved)), ks.load(saved).n_seen_) == (kind, 400)


@pytest.mark.parametrize("targets", [["y"], ["y", "z"]])
def test_intervals_are_written_beside_predictions(targets, frame, tmp_path):
    path = written(frame, tmp_path / "t.csv")
    saved, output = tmp_path / "model", tmp_path / "out.csv"
    names = [part for name in targets for part in ("-t", name)]
    run("learn", path, *names, "--save", saved)
    result = run("predict", saved, path, "-o", output, "--coverage", "0.8")
    assert result.exit_code == 0, result.output
    table, model = pd.read_csv(output), ks.load(saved)
    said = np.asarray(model.predict(frame)).reshape(N, -1)
    ends = model.predict_interval(frame, 0.8).reshape(N, -1, 2)
    for c, name in enumerate(targets):
        columns = [f"{name}_{kind}" for kind in ("predicted", "lower", "upper")]
        expected = np.column_stack([said[:, c], ends[:, c]])
        np.testing.assert_allclose(table[columns], expected, rtol=1e-12)
        inside = np.mean((ends[:, c, 0] <= frame[name]) & (frame[name] <= ends[:, c, 1]))
        assert re.search(rf"^{name} .* {100 * inside:.1f}%$", result.stderr, re.MULTILINE)
    assert "inside 0.8 intervals" in result.stderr
    bare = written(frame.drop(columns=targets), tmp_path / "bare.csv")
    result = run("predict", saved, bare, "--coverage", "0.8")
    assert len(result.stdout.splitlines()) == N + 1
    assert "inside" not in result.stderr


def test_intervals_are_issued_before_rows_are_learned(frame, tmp_path):
    path, output = written(frame, tmp_path / "t.csv"), tmp_path / "out.jsonl"
    saved = tmp_path / "model"
    asked = ["--coverage", "0.8", "--predict-to", output]
    result = run("learn", path, "-t", "y", "--save", saved, *asked)
    assert result.exit_code == 0, result.output
    said = pd.read_json(output, lines=True)
    assert list(said.columns) == ["y_predicted", "y_lower", "y_upper"]
    by_hand = ks.KernelRegressor()
    parts = [frame[start : start + 1024] for start in range(0, N, 1024)]
    outcome = [
        by_hand.partial_fit_predict_interval(part.drop(columns="y"), part["y"], coverage=0.8)
        for part in parts
    ]
    ends = np.concatenate(outcome).reshape(N, 2)
    ends[np.isinf(ends)] = np.nan
    assert np.isnan(ends[:, 0]).nonzero()[0].tolist() == [0, 1]
    np.testing.assert_allclose(said[["y_lower", "y_upper"]], ends, rtol=1e-9)
    inside = ~((frame["y"] < said["y_lower"]) | (frame["y"] > said["y_upper"]))
    assert re.search(rf"^y .* {100 * inside.mean():.1f}%$", result.stdout, re.MULTILINE)
    assert abs(inside.mean() - 0.8) < 0.03


def test_rows_that_are_only_predicted_are_not_counted_as_learned(frame, tmp_path):
    frame.loc[:9, "y"] = np.nan
    path, output = written(frame, tmp_path / "t.csv"), tmp_path / "out.csv"
    result = run("learn", path, "-t", "y", "--predict-to", output)
    assert f"{N - 10:,} (10 skipped)" in result.stdout
    assert "in all" not in result.stdout


def test_intervals_that_there_are_not(frame, tmp_path):
    path = written(frame.assign(kind=np.where(frame["y"] > 0, "a", "b")), tmp_path / "t.csv")
    saved = tmp_path / "model"
    run("learn", path, "-t", "kind", "--save", saved)
    result = run("predict", saved, path, "--coverage", "0.9")
    assert result.exit_code == 1
    assert "--coverage is for numbers: 'kind' is a label" in result.stderr
    result = run("learn", path, "-t", "kind", "--coverage", "0.9")
    assert "is a label" in result.stderr
    for coverage in ("0", "1", "90", "nan"):
        result = run("predict", saved, path, "--coverage", coverage)
        assert result.exit_code == 1
        assert "--coverage must be above 0 and below 1" in result.stderr


def test_experts_learn_labels(frame, tmp_path):
    frame = frame[:600].assign(kind=np.where(frame["y"][:600] > 0, "above", "below"))
    path = written(frame.drop(columns=["y", "z"]), tmp_path / "t.csv")
    saved, output = tmp_path / "model", tmp_path / "out.csv"
    result = run("learn", path, "-t", "kind", "--experts", "--balance", "--save", saved)
    assert result.exit_code == 0, result.output
    result = run("predict", saved, path, "--output", output)
    assert result.exit_code == 0, result.output
    model = ks.load(saved)
    assert isinstance(model, ks.KernelExpertsClassifier)
    predicted = pd.read_csv(output)["kind_predicted"]
    np.testing.assert_array_equal(predicted, model.predict(frame))
    assert np.mean(predicted == frame["kind"]) > 0.9


def test_predictions_go_to_the_terminal_by_default(frame, tmp_path):
    path = written(frame, tmp_path / "t.csv")
    run("learn", path, "-t", "y", "--save", tmp_path / "model")
    result = run("predict", tmp_path / "model", path)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "y_predicted"
    assert len(lines) == N + 1


def test_predictions_as_parquet(frame, tmp_path):
    path = written(frame, tmp_path / "t.parquet")
    run("learn", path, "-t", "y", "--save", tmp_path / "model")
    result = run("predict", tmp_path / "model", path, "-o", tmp_path / "out.parquet")
    assert result.exit_code == 0, result.output
    assert pd.read_parquet(tmp_path / "out.parquet").shape == (N, 1)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
def test_a_model_saved_from_python_predicts_if_it_has_names(frame, tmp_path):
    path = written(frame, tmp_path / "t.csv")
    numbers = frame[["count", "weight"]].astype(float)
    model = ks.KernelRegressor(ks.Gaussian(1e3)).fit(numbers, frame["y"])
    model.save(tmp_path / "model")
    result = run("predict", tmp_path / "model", path, "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose(
        pd.read_csv(tmp_path / "out.csv")["target_predicted"], model.predict(numbers), rtol=1e-12
    )
    ks.KernelRegressor(ks.Gaussian(1e3)).fit(numbers.to_numpy(), frame["y"]).save(
        tmp_path / "nameless"
    )
    result = run("predict", tmp_path / "nameless", path)
    assert result.exit_code == 1
    assert "without column names" in result.stderr


@pytest.mark.parametrize(
    ("options", "model", "target"),
    [
        ([], ks.KernelRegressor(), "y"),
        (["--no-scale", "--kernel", "matern32:100"], None, "y"),
        (["--missing", "fill", "--learner", "ridge:1e-3"], None, "y"),
        (["-c", "count", "--basis", "ald:1e-2,max_size=40"], None, "y"),
        (["--experts"], ks.KernelExperts(), "y"),
        (["--balance"], ks.KernelClassifier(class_weight="balanced"), "kind"),
        (["--experts"], ks.KernelExpertsClassifier(), "kind"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_same_table_gives_the_same_model_to_the_bit(options, model, target, labelled, tmp_path):
    """The command line is a face of the estimators."""
    parameters = {
        "--no-scale": {"scale": False, "kernel": ks.Matern32(100.0)},
        "--missing": {"missing": "fill", "learner": ks.Ridge(1e-3)},
        "-c": {"columns": {"count": "category"}, "basis": ks.ALD(1e-2, max_size=40)},
    }
    model = model or ks.KernelRegressor(**parameters[options[0]])
    frame = labelled[:200].drop(columns="code").assign(y=np.sin(np.arange(200) / 9.0))
    frame = frame.drop(columns="kind" if target == "y" else "y").reset_index(drop=True)
    if "fill" in options:
        frame.loc[::7, "weight"] = np.nan
    saved = tmp_path / "m"
    result = run(
        "learn", written(frame, tmp_path / "t.csv"), "-t", target, "--save", saved, *options
    )
    assert result.exit_code == 0, result.output
    labels = {} if target == "y" else {"classes": np.unique(frame[target])}
    same = clone(model).partial_fit(frame.drop(columns=target), frame[target], **labels)
    loaded = ks.load(saved)
    assert type(loaded) is type(same)
    assert loaded._core.to_bytes() == same._core.to_bytes()
    assert list(loaded.feature_names_in_) == list(same.feature_names_in_)


def test_the_model_of_several_batches_is_that_of_the_frame_to_rounding(frame, tmp_path):
    saved, X = tmp_path / "m", frame.drop(columns=["y", "z"])
    path = written(frame.drop(columns="z"), tmp_path / "t.csv")
    assert run("learn", path, "-t", "y", "--save", saved).exit_code == 0
    same = ks.KernelRegressor().partial_fit(X, frame["y"])
    np.testing.assert_allclose(ks.load(saved).predict(X), same.predict(X), rtol=0, atol=1e-11)


def test_a_model_of_a_frame_continues_from_the_command_line(frame, tmp_path):
    path = written(frame[200:400], tmp_path / "t.csv")
    X = frame.drop(columns=["y", "z"])
    model = ks.KernelRegressor().fit(X[:200], frame["y"][:200], shuffle=False)
    model.save(tmp_path / "begun")
    saved = tmp_path / "m"
    result = run("learn", path, "--from", tmp_path / "begun", "-t", "y", "--save", saved)
    assert result.exit_code == 0, result.output
    model.partial_fit(X[200:400], frame["y"][200:400])
    np.testing.assert_array_equal(ks.load(saved).predict(X), model.predict(X))
    result = run("predict", saved, path)
    assert result.stdout.startswith("y_predicted")
    result = run("learn", path, "--from", tmp_path / "begun", "-t", "y", "-t", "z")
    assert "--target y, z" in result.stderr


def test_whole_numbers_may_be_followed_by_fractions(tmp_path):
    rows = [f"{i % 7},{i % 3}" for i in range(100_000)] + ["0.5,1.5"] * 100
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "\n".join(rows))
    result = run("learn", path, "-t", "y", "--basis", "first_points:3")
    assert result.exit_code == 0, result.output
    assert "100,100" in result.stdout


@pytest.mark.parametrize("column", ["weight", "y"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_values_are_named_by_row_and_column(column, value, frame, tmp_path):
    frame.loc[2000, column] = value
    path = written(frame, tmp_path / "t.csv")
    result = run("learn", path, "-t", "y", "--save", tmp_path / "model")
    assert result.exit_code == 1
    assert f"row 2001, column '{column}' (line 2002)" in result.stderr
    assert "Traceback" not in result.output
    # The rows before it are kept.
    assert 0 < ks.load(tmp_path / "model").n_seen_ <= 2000
    for option in (["--skip-missing"], ["--missing", "skip"]):
        result = run("learn", path, "-t", "y", *option)
        assert result.exit_code == 0
        assert f"{N - 1:,} (1 skipped)" in result.stdout


def test_rows_without_a_target_are_counted_where_gaps_are_filled(frame, tmp_path):
    frame.loc[[30, 2000], "y"] = np.nan
    frame.loc[40, "weight"] = np.nan
    result = run("learn", written(frame, tmp_path / "t.csv"), "-t", "y", "--missing", "fill")
    assert result.exit_code == 0, result.output
    assert f"{N - 2:,} (2 without a target)" in result.stdout


def test_predictions_stay_empty_where_values_are_missing(frame, tmp_path):
    run("learn", written(frame, tmp_path / "t.csv"), "-t", "y", "-s", tmp_path / "model")
    frame.loc[2000, "weight"] = np.nan
    path = written(frame, tmp_path / "gaps.csv")
    output = tmp_path / "out.csv"
    result = run("predict", tmp_path / "model", path, "-o", output)
    assert result.exit_code == 1
    assert "row 2001, column 'weight' (line 2002)" in result.stderr
    assert "with --skip-missing" in result.stderr
    assert not output.exists()
    assert run("predict", tmp_path / "model", path, "-o", output, "--skip-missing").exit_code == 0
    predictions = pd.read_csv(output, skip_blank_lines=False)
    assert list(np.flatnonzero(predictions["y_predicted"].isna())) == [2000]


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["-t", "nope"], "no column 'nope'; it has: count, weight, name, flag, y, z"),
        (["-t", "y", "--classify"], "column 'y' contains numbers with fractions"),
        (["-t", "name", "-t", "y"], "only one label column"),
        (["-t", "count", "--classify", "--learner", "gradient:1,loss=hing"], "loss must be one"),
        (["-t", "y", "-x", "nope"], "no column 'nope'"),
        (
            ["-t", "y", "-x", "count", "-x", "weight", "-x", "flag", "-x", "z", "-x", "name"],
            "no column to learn from",
        ),
        (["-t", "y", "--kernel", "gausian"], "did you mean 'gaussian'"),
        (["-t", "y", "--basis", "ald:5"], "tolerance"),
        (["-t", "y", "--learner", "rigde"], "did you mean 'ridge'"),
        (["-t", "y", "--save", "no/such/folder/model"], "is not a folder"),
        (["-t", "y", "--save", "/dev/null"], "/dev/null is not a regular file"),
        (
            ["-t", "y", "--experts", "--kernel", "gaussian"],
            "--experts cannot be combined with --kernel",
        ),
    ],
)
def test_mistakes_end_in_one_line(args, complaint, frame, tmp_path):
    result = run("learn", written(frame, tmp_path / "t.csv"), *args)
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert "Traceback" not in result.output
    assert result.stderr.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("missing.csv", None, "missing.csv: No such file"),
        ("empty.csv", "", "is empty"),
        ("header.csv", "a,y\n", "no row|numeric|not numbers"),
        ("twice.csv", "a,a,y\n1,2,3\n", "two columns named 'a'"),
        (
            "ragged.csv",
            "a,y\n1,2\n1,2,3\n",
            "row 2 .line 3.: it has 3 fields, but the header has 2",
        ),
        ("fake.parquet", "PAR1 but not really", "[Pp]arquet"),
        (
            "word.csv",
            "a,y\n" + "1,2\n" * 200_000 + "word,3\n",
            "row 200001, column 'a' .line 200002.: 'word' is not a number",
        ),
    ],
)
def test_bad_files_end_in_one_line(name, content, complaint, tmp_path):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    result = run("learn", path, "-t", "y", "--basis", "first_points:2")
    assert result.exit_code == 1
    assert re.search(complaint, result.stderr), result.stderr
    assert "Traceback" not in result.output


def test_a_target_is_required(frame, tmp_path):
    assert run("learn", written(frame, tmp_path / "t.csv")).exit_code == 2


def test_predict_names_the_fault_of_a_model_file(frame, tmp_path):
    path = written(frame, tmp_path / "t.csv")
    result = run("predict", path, path)
    assert result.exit_code == 1
    assert f"error: {path}: not a usable model file" in result.stderr
    run("learn", path, "-t", "y", "-s", tmp_path / "model")
    other = written(frame.drop(columns="weight"), tmp_path / "other.csv")
    result = run("predict", tmp_path / "model", other)
    assert result.exit_code == 1
    assert "no column 'weight'" in result.stderr


def test_version_and_help():
    assert run("--version").stdout.strip() == f"kernelstream {ks.__version__}"
    for command in ("learn", "predict", "demo"):
        assert run(command, "--help").exit_code == 0


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "kernelstream", "--version"], capture_output=True, check=True
    )
    assert ks.__version__.encode() in done.stdout


def test_an_unknown_demo_lists_those_there_are(tmp_path):
    result = run("demo", "moon", "--output", tmp_path)
    assert result.exit_code == 1
    assert "known: terrain" in result.stderr


def test_the_terrain_demo_learns_and_draws(tmp_path):
    result = run("demo", "terrain", "--output", tmp_path / "pictures")
    assert result.exit_code == 0, result.output
    picture = tmp_path / "pictures" / "terrain.png"
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert "terrain.png" in result.stdout


# ------------------------------------------------------------------------------------------- labels


@pytest.fixture
def labelled(frame):
    kinds = np.array(["ham, cured", "spam", "egg"])
    frame["kind"] = kinds[np.digitize(frame["y"], [0.0, 1.0])]
    frame["code"] = np.digitize(frame["y"], [0.0, 1.0])
    return frame.drop(columns=["y", "z", "name"])


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("target", ["kind", "code"])
def test_labels_are_learned_and_predicted(name, target, labelled, tmp_path):
    frame = labelled.drop(columns="code" if target == "kind" else "kind")
    path = written(frame, tmp_path / name)
    saved, output = tmp_path / "model", tmp_path / "out.csv"
    options = ["--classify"] if target == "code" else []
    result = run("learn", path, "-t", target, "--save", saved, *options)
    assert result.exit_code == 0, result.output
    assert "left out" not in result.stderr
    model = ks.load(saved)
    assert list(model.columns_) == ["count", "weight", "flag"]
    assert (model.classes_ == np.unique(frame[target])).all()
    by_hand = ks.KernelClassifier()
    said = [
        by_hand.partial_fit_predict(
            part.drop(columns=target), part[target], np.unique(frame[target])
        )
        for part in (frame[start : start + 1024] for start in range(0, N, 1024))
    ]
    row = re.search(rf"^{target} +(\S+)% +(\S+)% +(\S+)%$", result.stdout, re.MULTILINE)
    assert float(row[1]) == pytest.approx(
        100 * np.mean(np.concatenate(said) != frame[target]), abs=0.01
    )
    last = frame[target].shift(fill_value=np.unique(frame[target])[0])
    assert float(row[3]) == pytest.approx(100 * np.mean(last != frame[target]), abs=0.01)
    assert float(row[1]) < 0.5 * float(row[2])

    result = run("predict", saved, path, "--output", output, "--probabilities")
    assert result.exit_code == 0, result.output
    table = pd.read_csv(output)
    shares = [f"{target}_is_{label}" for label in np.unique(frame[target])]
    assert list(table.columns) == [f"{target}_predicted", *shares]
    assert (table[f"{target}_predicted"] == model.predict(frame)).all()
    np.testing.assert_allclose(table[shares], model.predict_proba(frame), atol=1e-12)
    assert re.search(rf"^{target} +\d", result.stderr, re.MULTILINE)


def test_rows_without_a_label_or_with_gaps(labelled, tmp_path):
    frame = labelled.drop(columns="code")
    frame.loc[7, "kind"] = None
    frame.loc[9, "weight"] = np.nan
    path = written(frame, tmp_path / "t.csv")
    result = run("learn", path, "-t", "kind")
    assert result.exit_code == 1
    assert "row 8, column 'kind' (line 9): the value is missing" in result.stderr
    saved, output = tmp_path / "model", tmp_path / "out.parquet"
    result = run("learn", path, "-t", "kind", "--skip-missing", "--balance", "--save", saved)
    assert result.exit_code == 0, result.output
    assert f"{N - 2:,} (2 skipped)" in result.stdout
    assert ks.load(saved).class_weight == "balanced"
    result = run("predict", saved, path, "-o", output, "--skip-missing")
    assert result.exit_code == 0, result.output
    said = pd.read_parquet(output)["kind_predicted"]
    assert said.isna().to_numpy().nonzero()[0].tolist() == [9]


def test_predicting_labels_of_a_table_that_has_none_or_others(labelled, tmp_path):
    path = written(labelled.drop(columns="code"), tmp_path / "t.csv")
    saved = tmp_path / "model"
    run("learn", path, "-t", "kind", "--save", saved)
    bare = written(labelled[["flag", "weight", "count"]], tmp_path / "bare.csv")
    result = run("predict", saved, bare)
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == N + 1
    assert "mistakes" not in result.stderr
    other = written(labelled.assign(kind="toast").drop(columns="code"), tmp_path / "other.csv")
    result = run("predict", saved, other, "-o", tmp_path / "out.csv")
    assert "100.00%" in result.stderr
    numbers = tmp_path / "numbers"
    run("learn", path, "-t", "weight", "--save", numbers)
    result = run("predict", numbers, path, "--probabilities")
    assert result.exit_code == 1
    assert "no probabilities" in result.stderr


def test_help_fills_its_lines():
    result = run("merge", "--help")
    about = result.output.split("╭")[0].split("Models by ridge")[1].rstrip().splitlines()
    assert all(len(line.rstrip()) > 60 for line in ["Models by ridge" + about[0], *about[1:-1]])


def test_help_and_version_import_nothing_slow():
    code = (
        "import sys; from kernelstream.cli import app;"
        "app(['learn', '--help'], standalone_mode=False);"
        "loaded = {'numpy', 'sklearn', 'pyarrow'} & set(sys.modules); assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
