"""The command ``explain`` writes what ``model.explain`` gives."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kernelstream as ks
from kernelstream.cli.app import app

RANDOM = np.random.default_rng(0)
N = 300
FRAME = pd.DataFrame(
    {
        "id": [f"r{i}" for i in range(N)],
        "size": RANDOM.normal(size=N),
        "room": RANDOM.choice(["hall", "attic"], N),
    }
)
FRAME["price"] = 2 * FRAME["size"] + (FRAME["room"] == "hall")
FRAME["level"] = np.select([FRAME["price"] < 0, FRAME["price"] < 1], ["low", "middle"], "high")


def run(*arguments):
    if arguments[0] == "learn":
        arguments = (*arguments, "--plain")
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("target", ["price", "level"])
def test_contributions_of_a_table(target, tmp_path):
    table, saved, output = tmp_path / "t.csv", tmp_path / "model", tmp_path / "out.csv"
    columns = ["id", "size", "room", target]
    FRAME[columns].to_csv(table, index=False)
    run("learn", table, "--target", target, "--exclude", "id", "--save", saved)
    said = run("explain", saved, table, "-o", output, "--keep", "id").output
    assert "mean size of contributions: size" in said
    written = pd.read_csv(output)
    assert len(written) == N
    assert written["id"].tolist() == FRAME["id"].tolist()
    model = ks.load(saved)
    found = model.explain(FRAME[["size", "room"]])
    if target == "price":
        assert list(written.columns) == ["id", "base_value", "size", "room"]
        np.testing.assert_allclose(written[["size", "room"]], found.values, atol=1e-9)
        np.testing.assert_allclose(written["base_value"], found.base_values, atol=1e-9)
    else:
        for c, name in enumerate(model.classes_):
            own = written[[f"{name}: size", f"{name}: room"]]
            np.testing.assert_allclose(own, found.values[:, :, c], atol=1e-9)


def test_models_of_states_have_no_explanations(tmp_path):
    table = tmp_path / "t.csv"
    FRAME[["size"]].to_csv(table, index=False)
    model = ks.Koopman().fit(FRAME[["size"]])
    model.save(tmp_path / "model")
    result = CliRunner().invoke(app, ["explain", str(tmp_path / "model"), str(table)])
    assert result.exit_code != 0
