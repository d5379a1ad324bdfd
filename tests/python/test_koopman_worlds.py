"""The operator on systems with known answers and on real data: quick versions of the real figures.

`benchmarks/koopman/tables.py` has the whole tables.
"""

from __future__ import annotations

import io
import runpy
import sys

import numpy as np
import pytest
from rich.console import Console

import kernelstream as ks
from kernelstream import datasets, demos, presets
from realdata import ROOT, table

WELLS_KERNEL = 0.4 * ks.Gaussian(0.4) + 0.6 * ks.Gaussian(0.7)
DATA_OF_EXAMPLES = {
    "alanine_dipeptide": "alanine_dipeptide_dihedrals",
    "cylinder_wake": "cylinder_wake_pod",
}


def square_grid(points):
    side = np.linspace(-2.0, 2.0, points)
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def basin_share(model, points):
    truth = datasets.duffing_basin(points)
    labels = ks.metastable_sets(model, points, 2, random_state=0)
    decided = truth != 0
    right = np.mean((labels == 1)[decided] == (truth == 1)[decided])
    return max(right, 1.0 - right)


def well_share(model, points):
    labels = ks.metastable_sets(model, points, 4, random_state=0)
    truth = 2 * (points[:, 1] > 0.0) + (points[:, 0] > 0.0)
    mass = datasets.four_well_density(points)
    shares = np.zeros((4, 4))
    np.add.at(shares, (labels, truth), mass / mass.sum())
    wells = shares.argmax(axis=1)
    assert sorted(wells) == [0, 1, 2, 3]
    return shares[np.arange(4), wells].sum()


def real(name):
    return table(name)["trajectory"]


# --------------------------------------------------------------------------------- known answers


@pytest.mark.parametrize("seed", [0, 1])
def test_ornstein_uhlenbeck_has_five_powers(seed):
    data = datasets.ornstein_uhlenbeck(10_000, tau=0.5, n_eigenvalues=5, random_state=seed)
    model = presets.recursive_koopman(ks.Gaussian(1.0), tolerance=1e-3, regularization=3.0)
    model.fit_trajectory(data.trajectories[0])
    np.testing.assert_allclose(model.eigenvalues_[:5], data.eigenvalues, atol=0.05)
    assert model.n_stored_ <= 40


def test_the_logistic_map_has_the_eigenvalues_of_its_matrix():
    # The operator is far from normal: 20,000 pairs leave an error of 0.07, with any method.
    data = datasets.noisy_logistic_map(200_000, random_state=1)
    circle = 2.0 * np.pi * data.trajectories[0]
    model = presets.recursive_koopman(ks.Gaussian(0.5), tolerance=1e-3, regularization=1.0)
    model.fit_trajectory(np.column_stack([np.cos(circle), np.sin(circle)]))
    found, known = model.eigenvalues_[:3], data.eigenvalues[:3]
    np.testing.assert_allclose(found.real, known.real, atol=0.04)
    np.testing.assert_allclose(np.abs(found.imag), np.abs(known.imag), atol=0.04)


@pytest.mark.parametrize(
    ("make", "least", "sizes"),
    [
        (lambda: presets.recursive_koopman(ks.Gaussian(0.3), 1e-2, 0.1), 0.96, (270, 300)),
        (
            lambda: presets.sparse_koopman(
                ks.Gaussian(0.3), 0.2, 2.0, power=3, regularization=1e-3, paired=True
            ),
            0.90,
            (280, 310),
        ),
        (
            lambda: presets.sparse_koopman(
                ks.Gaussian(0.3), 0.2, 1.5, power=2, regularization=1e-3, paired=True
            ),
            0.90,
            (165, 200),
        ),
    ],
    ids=["least squares", "2 eta^3", "1.5 eta^2"],
)
def test_duffing_basins_and_sizes(make, least, sizes):
    before, after = datasets.duffing(random_state=0).pairs()
    model = make().fit(before, after)
    assert sizes[0] <= model.n_stored_ <= sizes[1]
    assert basin_share(model, square_grid(41)) >= least


def test_langevin_spectrum_timescales_and_wells():
    data = datasets.four_well_langevin(random_state=0)
    model = presets.recursive_koopman(WELLS_KERNEL, tolerance=1e-2)
    model.set_params(time_step=data.time_step)
    model.fit_trajectory(data.trajectories)
    np.testing.assert_allclose(np.abs(model.eigenvalues_[:4]), data.eigenvalues[:4], atol=0.01)
    known = -data.time_step / np.log(data.eigenvalues[1:4])
    np.testing.assert_allclose(model.timescales(4)[1:], known, rtol=0.2)
    assert well_share(model, square_grid(61)) >= 0.97
    # From one well it stays there for long, and in the end it is anywhere.
    chance = model.expectation(lambda x: x[:, 0] > 0.0, [[1.0, 1.0]], [1, 30, 3000])
    assert chance[0] == pytest.approx(1.0, abs=0.05)
    assert chance[1] == pytest.approx(0.5 + 0.5 * data.eigenvalues[1] ** 30, abs=0.05)
    assert chance[2] == pytest.approx(0.5, abs=0.1)


def test_langevin_wells_by_the_sparse_gradient():
    before, after = datasets.four_well_langevin(random_state=0).pairs()
    shuffled = presets.sparse_koopman(
        WELLS_KERNEL, 0.3, 1.0, power=4, averaging=True, replay=len(before), random_state=0
    )
    shuffled.fit(before, after)
    truth = datasets.four_well_eigenvalues(4)
    np.testing.assert_allclose(np.abs(shuffled.eigenvalues_[:4]), truth, atol=0.01)
    assert well_share(shuffled, square_grid(61)) >= 0.97


def test_an_ordered_constant_step_is_biased_and_replay_mends_it():
    data = datasets.ornstein_uhlenbeck(10_000, tau=0.5, random_state=0)
    second = {}
    for name, options in {
        "ordered": {},
        "averaged": {"averaging": True},
        "replayed": {"averaging": True, "replay": 1_000, "random_state": 0},
    }.items():
        model = presets.sparse_koopman(ks.Gaussian(1.0), 0.3, 1.0, power=3, **options)
        second[name] = abs(model.fit(data.trajectories[0]).eigenvalues_[1])
    truth = data.eigenvalues[1]
    assert second["ordered"] < truth - 0.1
    assert second["averaged"] < truth - 0.2
    assert second["replayed"] == pytest.approx(truth, abs=0.03)


# ------------------------------------------------------------------------------------- real data


def test_the_slow_motion_of_alanine_dipeptide_separates_phi():
    runs = real("alanine_dipeptide_dihedrals")
    states = np.concatenate([np.cos(runs), np.sin(runs)], axis=-1)
    model = presets.recursive_koopman(ks.Gaussian(1.0), tolerance=1e-2, regularization=1e-3)
    model.fit_trajectory(states)
    assert model.timescales(3)[1:] == pytest.approx([21.4, 8.4], rel=0.1)
    values = model.eigenfunctions(states.reshape(-1, 4), 2)[:, 1].real
    side = values > 0.5 * (values.min() + values.max())
    rare = side if side.mean() < 0.5 else ~side
    phi = np.degrees(runs.reshape(-1, 2)[:, 0])
    left_handed = (phi > 0.0) & (phi < 126.0)
    assert np.mean(rare[left_handed]) > 0.95
    assert np.mean(rare[phi < 0.0]) < 0.001


@pytest.mark.parametrize("split", ["later", "between", "between, the others"])
def test_the_cylinder_wake_is_forecast_better_than_linearly(split):
    states = real("cylinder_wake_pod")
    if split == "later":  # the limit cycle alone
        seen, unseen = [states[:2000]], [states[2000:]]
    else:  # blocks on the way there too
        blocks = states.reshape(-1, 100, 9)
        first = int(split == "between, the others")
        seen, unseen = list(blocks[first::2]), list(blocks[1 - first :: 2])
    start = np.concatenate([block[:-50] for block in unseen])
    truth = np.concatenate([block[50:] for block in unseen])
    before, after = datasets.pairs(seen)
    matrix = np.linalg.lstsq(before, after, rcond=None)[0]
    linear = np.linalg.norm(start @ np.linalg.matrix_power(matrix, 50) - truth)
    model = presets.recursive_koopman(ks.Gaussian(2.0), tolerance=1e-4, regularization=1e-8)
    model.fit_trajectory(seen)
    kernel = np.linalg.norm(model.predict(start, n_steps=50) - truth)
    assert kernel < linear / (30.0 if split == "later" else 3.0)
    if split != "later":  # with nothing chosen
        chosen = ks.Koopman().fit(seen)
        assert np.linalg.norm(chosen.predict(start, n_steps=50) - truth) < linear / 3.0


# ------------------------------------------------------------------------------ demos and examples


@pytest.mark.parametrize(("name", "trajectories"), [("duffing", 60), ("langevin", 30)])
def test_demos_write_a_picture(name, trajectories, tmp_path):
    pytest.importorskip("matplotlib")
    module = __import__(f"kernelstream.demos.{name}", fromlist=["run"])
    log = io.StringIO()
    picture = module.run(tmp_path, Console(file=log, width=120), n_trajectories=trajectories)
    assert picture == tmp_path / f"{name}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "stored" in log.getvalue()
    assert name in demos.NAMES


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("first_koopman", "states stored"),
        ("alanine_dipeptide", "timescales"),
        ("cylinder_wake", "relative error"),
    ],
)
def test_examples_run(name, said, monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    monkeypatch.setattr(sys, "argv", [name])
    if name in DATA_OF_EXAMPLES:
        real(DATA_OF_EXAMPLES[name])
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    assert said in capsys.readouterr().out
    if name in DATA_OF_EXAMPLES:
        assert all(axes.has_data() for figure in shown for axes in figure.axes)
        assert shown
    plt.close("all")


@pytest.mark.parametrize("name", list(DATA_OF_EXAMPLES))
def test_examples_name_missing_packages(name, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELSTREAM_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="set KERNELSTREAM_DATA"):
        runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("n", [400, 1000])
@pytest.mark.parametrize("seed", [1, 4, 7])
def test_sets_of_few_states_are_basins_too(n, seed):
    data = datasets.duffing(1, n_trajectories=n, random_state=seed)
    before, after = data.pairs()
    model = ks.Koopman(ks.Gaussian(0.5), ks.ALD(1e-3), ks.Ridge(1e-4))
    model.partial_fit(before, after)
    assert basin_share(model, square_grid(25)) > 0.75
