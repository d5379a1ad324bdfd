"""Raw states: in any units, with nothing chosen, and with what helps said where it goes wrong."""

from __future__ import annotations

import itertools
import pickle
import warnings
from copy import deepcopy

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelstream as ks
from kernelstream import datasets
from kernelstream.estimators.advice import naming_options

UNLIKE = "nearly orthogonal"


def kelvin(count: int = 1500, seed: int = 0) -> np.ndarray:
    """A slow process about 280 K beside a fast one about 1e5 Pa, with one that never changes."""
    rng = np.random.default_rng(seed)
    x = np.zeros((count, 2))
    for t in range(1, count):
        x[t] = [0.98, 0.7] * x[t - 1] + [0.2, 0.7] * rng.standard_normal(2)
    return np.column_stack([280.0 + 3.0 * x[:, 0], 1e5 + 400.0 * x[:, 1], np.full(count, 7.0)])


def fitted(**parameters: object) -> ks.Koopman:
    return ks.Koopman(**parameters).fit_trajectory(kelvin())


def test_forecasts_are_in_the_units_given() -> None:
    T = kelvin()
    model = fitted()
    assert model.chosen_["scale"] == "each"
    np.testing.assert_allclose(model.center_, T.mean(axis=0), rtol=1e-3)
    np.testing.assert_allclose(model.scale_[:2], T.std(axis=0)[:2], rtol=0.01)
    known = T.mean(axis=0)[:2] + [0.98**4, 0.7**4] * (T[-1] - T.mean(axis=0))[:2]
    assert np.all(np.abs(model.predict(T[-1:], 4)[0, :2] - known) < [0.7, 80.0])
    assert np.all(np.abs(model.predict(T[-1:], 1000)[0] - T.mean(axis=0)) < [1.0, 60.0, 1e-6])
    for states in (model.dictionary_, model.dictionary_next_):
        assert np.all((states >= T.min(axis=0)) & (states <= T.max(axis=0) + 1e-9))
    np.testing.assert_allclose(
        model.expectation(lambda x: x[:, 0], T[:5]), model.predict(T[:5])[:, 0], atol=0.6
    )


def test_novelty_is_the_unexplained_share_of_a_state() -> None:
    T, model = kelvin(), fitted()
    D = (model.dictionary_ - model.center_) / model.scale_
    bandwidth = model.chosen_["kernel"].bandwidth

    def similarity(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp(-np.sum((A[:, None] - B) ** 2, axis=2) / (2 * bandwidth**2))

    asked = np.vstack([T[:50], T[:50] + np.array([8.0, 900.0, 0.0])])
    across = similarity((asked - model.center_) / model.scale_, D)
    dense = 1.0 - np.sum(across * np.linalg.solve(similarity(D, D), across.T).T, axis=1)
    np.testing.assert_allclose(model.novelty(asked), np.clip(dense, 0, 1), atol=1e-6)
    assert model.novelty(T).max() < 0.2
    assert model.novelty(T[:5] - np.array([273.15, 0.0, 0.0])).min() > 0.999
    delayed = fitted(n_delays=2)
    assert delayed.novelty(T[:30]).shape == (28,)
    with pytest.raises(ValueError, match="row 1"):
        model.novelty([T[0], [np.nan, 1.0, 7.0]])


def test_units_do_not_matter() -> None:
    T, A, b = kelvin(), np.array([10.0, 1e-4, 3.0]), np.array([-50.0, 2.0, 1e3])
    one, other = ks.Koopman().fit_trajectory(T), ks.Koopman().fit_trajectory(A * T + b)
    np.testing.assert_allclose(one.eigenvalues_[:3], other.eigenvalues_[:3], rtol=1e-6)
    there = other.predict(A * T[:9] + b, 3)
    np.testing.assert_allclose(A * one.predict(T[:9], 3) + b, there, rtol=1e-6)


def test_standardization_equals_scaling_by_hand() -> None:
    """With a kernel of one's own and all pairs within the warm-up, and modes that add up."""
    T = kelvin()[:, :2]
    x, after = T[:-1], T[1:]
    mean, deviation = T[[*range(1499), *range(1, 1500)]].mean(axis=0), np.zeros(2)
    deviation = np.sqrt(((T[[*range(1499), *range(1, 1500)]] - mean) ** 2).mean(axis=0))
    plain = ks.Koopman(ks.Gaussian(1.0), learner=ks.Ridge(0.1))
    plain.fit((x - mean) / deviation, (after - mean) / deviation)
    model = ks.Koopman(ks.Gaussian(1.0), learner=ks.Ridge(0.1), scale=True).fit(x, after)
    np.testing.assert_allclose(model.operator_, plain.operator_, atol=1e-9)
    scaled = plain.predict((x - mean) / deviation, 2)
    np.testing.assert_allclose(model.predict(x, 2), mean + deviation * scaled, rtol=1e-9)
    parts = model.dynamical_modes(x[:4])
    total = (model.eigenvalues_[:, None] ** 2 * parts).sum(axis=1).real
    np.testing.assert_allclose(model.center_ + total, model.predict(x[:4], 2), rtol=1e-7)
    held = plain.residuals((x - mean) / deviation, (after - mean) / deviation, 3)
    np.testing.assert_allclose(model.residuals(x, after, 3), held, atol=1e-7)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.OutlierWarning")
def test_an_outlier_does_not_set_the_scale() -> None:
    T = kelvin()
    T[70, 0] = 1e12
    assert ks.Koopman().fit_trajectory(T).scale_[0] < 4.0


def test_chunks_do_not_matter_and_a_saved_model_continues_as_it_would_have(tmp_path) -> None:
    T = kelvin(2600)
    whole = ks.Koopman(lag=2).partial_fit_trajectory(T)
    asked, kept = ks.Koopman(lag=2), ks.Koopman(lag=2)
    for piece in np.split(T, [1, 2, 9, 64, 65, 1023, 2047, 2051]):
        asked.partial_fit_trajectory(piece, continued=True).save(tmp_path / "model")
        asked = ks.load(tmp_path / "model")
        if asked.n_seen_ > 1:
            asked.predict(T[:5], 3)  # which changes nothing
        kept.partial_fit_trajectory(piece, continued=True)
    assert asked._core.to_bytes() == kept._core.to_bytes()
    np.testing.assert_allclose(asked.operator_, whole.operator_, atol=1e-9)
    live = ks.Koopman()
    for x, after in itertools.pairwise(T[:301]):
        live.learn_one(x, after)
    pairs = ks.Koopman().partial_fit(T[:300], T[1:301])
    np.testing.assert_allclose(live.operator_, pairs.operator_, atol=1e-9)


def test_a_kernel_of_ones_own_is_for_states_as_they_are() -> None:
    model = ks.Koopman(ks.Gaussian(300.0), learner=ks.Ridge(0.1)).fit_trajectory(kelvin())
    assert model.chosen_["scale"] is None
    np.testing.assert_array_equal(model.scale_, 1.0)
    assert fitted(scale=False).chosen_["scale"] is None
    assert fitted(learner=ks.Ridge(0.25)).chosen_["learner"].regularization == 0.25


def test_a_bad_row_leaves_the_warm_up_as_it_was() -> None:
    T = kelvin(300)
    model = ks.Koopman().partial_fit_trajectory(T[:100])
    before = model._core.to_bytes()
    bad = T[100:].copy()
    bad[150, 1] = np.nan
    with pytest.raises(ValueError, match="nan at row 150, column 1"):
        model.partial_fit_trajectory(bad, continued=True)
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit_trajectory(T[:, :2])
    assert model._core.to_bytes() == before


# ---------------------------------------------------------------------------- nothing to choose


def test_defaults_find_the_spectrum_of_a_known_process() -> None:
    data = datasets.ornstein_uhlenbeck(10_000, tau=0.5, n_eigenvalues=5, random_state=0)
    model = ks.Koopman().fit_trajectory(273.0 + 20.0 * data.trajectories[0])
    np.testing.assert_allclose(model.eigenvalues_[:4], data.eigenvalues[:4], atol=0.05)
    assert 0.25 < model.chosen_["kernel"].bandwidth < 4.0
    assert model.n_stored_ < 60


def test_defaults_find_the_wells_of_a_slow_process() -> None:
    data = datasets.four_well_langevin(random_state=0)
    model = ks.Koopman(time_step=data.time_step).fit_trajectory(data.trajectories)
    known = -data.time_step / np.log(data.eigenvalues[1:4])
    np.testing.assert_allclose(model.timescales(4)[1:], known, rtol=0.2)


def test_selected_components_can_be_passed() -> None:
    T = kelvin()
    chosen = fitted().chosen_
    mean, deviation = fitted().center_, fitted().scale_
    given = ks.Koopman(chosen["kernel"], chosen["basis"], chosen["learner"])
    given.fit_trajectory((T - mean) / deviation)
    np.testing.assert_allclose(given.eigenvalues_[:3], fitted().eigenvalues_[:3], atol=1e-9)


def test_the_gradient_learner_takes_the_chosen_bandwidth() -> None:
    model = ks.presets.sparse_koopman(step=0.3, tolerance=0.05, averaging=True, replay=200)
    model.set_params(learner__random_state=0).fit_trajectory(kelvin())
    assert model.chosen_["kernel"].bandwidth > 0
    np.testing.assert_allclose(model.predict(kelvin()[-1:])[0, 0], 280.0, atol=10.0)


# ------------------------------------------------------------------------------------- remedies


def test_a_bandwidth_in_other_units_is_noticed_once() -> None:
    model = ks.Koopman(ks.Gaussian(1.0))
    with pytest.warns(UserWarning, match=UNLIKE):
        model.partial_fit_trajectory(kelvin(300))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit_trajectory(kelvin(600))
        fitted()


def test_storing_every_state_is_noticed() -> None:
    T = datasets.ornstein_uhlenbeck(200, random_state=0).trajectories[0]
    noise = np.random.default_rng(0).standard_normal((201, 9))
    with pytest.warns(UserWarning, match="nearly every one"):
        ks.Koopman(ks.Gaussian(3.0), ks.ALD(1e-6)).fit_trajectory(np.hstack([T, noise]))


@pytest.mark.parametrize(
    ("tolerance", "remedy"),
    [
        (1e-3, "a larger tolerance of the basis, such as ALD(0.01), stores fewer"),
        (0.01, "a larger tolerance of the basis, such as ALD(0.1), stores fewer"),
        (0.02, "a smaller max_size of the basis, stores fewer"),
        (0.5, "a smaller max_size of the basis, stores fewer"),
    ],
)
def test_no_smaller_tolerance_is_recommended(tolerance, remedy) -> None:
    X = np.random.default_rng(0).normal(size=(300, 6))
    with pytest.warns(UserWarning, match="nearly every one") as caught:
        ks.Koopman(ks.Gaussian(0.7), ks.ALD(tolerance)).fit(X)
    (message,) = (str(one.message) for one in caught if "nearly every one" in str(one.message))
    assert f": a larger bandwidth of the kernel, or {remedy}, with less detail" in message


def test_growth_is_noticed() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (400, 1))
    with pytest.warns(UserWarning, match="beyond the unit circle"):
        model = ks.Koopman(ks.Polynomial(2, offset=1.0), learner=ks.Ridge(1e-6)).fit(x, 1.2 * x)
    assert model.eigenvalues_[0].real > 1.2


def test_a_scaler_that_scales_one_of_two_is_noticed() -> None:
    T = kelvin(600)[:, :2]
    with pytest.warns(UserWarning, match="both must be in the same units"):
        make_pipeline(StandardScaler(), ks.Koopman()).fit(T[:-1], T[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ks.Koopman().fit(T[:-1], T[1:])


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_a_field_is_not_taken_for_trajectories() -> None:
    field = np.random.default_rng(0).standard_normal((744, 33, 49))
    with pytest.raises(ValueError, match=r"T.reshape\(len\(T\), -1\).*list\(T\)"):
        ks.Koopman().partial_fit_trajectory(field)
    assert ks.Koopman().partial_fit_trajectory(list(field[:9])).n_seen_ == 9 * 32


def test_a_long_call_and_an_unlimited_dictionary_are_announced(monkeypatch) -> None:
    from kernelstream.koopman import remedies

    class Core:
        n_stored = 3001

    monkeypatch.setattr(remedies.time, "monotonic", lambda: clock[0])
    clock = [0.0]
    watch = remedies.Watch(Core(), 1000, capped=False)
    clock[0] = 10.0
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        watch(20)
        watch(30)
    assert ["minutes" in str(one.message) for one in given] == [True, False]
    assert "max_size=1000" in str(given[1].message)
    assert ks.presets.recursive_koopman().basis.max_size == 1000


def test_operators_on_scales_of_their_own_do_not_merge() -> None:
    sample, T = kelvin(400, 1), kelvin(900, 2)
    first = ks.Koopman().fit_trajectory(sample).freeze_dictionary()
    second = deepcopy(first)
    one, other = first.partial_fit_trajectory(T[:500]), second.partial_fit_trajectory(T[499:])
    whole = ks.Koopman().fit_trajectory(sample).freeze_dictionary()
    whole.partial_fit_trajectory([T[:500], T[499:]])
    np.testing.assert_allclose(one.merge(other).operator_, whole.operator_, atol=1e-8)
    with pytest.raises(ValueError, match="freeze its dictionary"):
        one.merge(ks.Koopman().fit_trajectory(T))


def test_states_are_stored_as_finely_as_forecasts_are_good() -> None:
    x = ks.datasets.lorenz(1_500, random_state=0).trajectories[0]
    noise = np.random.default_rng(0).normal(scale=2.0, size=x.shape)
    sure, unsure = (ks.Koopman().fit_trajectory(states) for states in (x, x + noise))
    assert sure.chosen_["basis"].tolerance <= 10 * sure.chosen_["learner"].regularization < 1e-5
    assert unsure.chosen_["basis"] == ks.ALD()
    coarse = ks.Koopman(basis=ks.ALD()).fit_trajectory(x)
    assert coarse.chosen_["basis"] == ks.ALD()
    error, coarser = (np.square(model.predict(x[:-1]) - x[1:]).mean() for model in (sure, coarse))
    assert error < 0.3 * coarser
    resumed = pickle.loads(pickle.dumps(sure))
    assert resumed.chosen_["basis"] == sure.chosen_["basis"]


@pytest.mark.parametrize("order", ["as they came", "sorted"])
def test_fewer_pairs_than_numbers_are_warned_of_when_learned(order) -> None:
    X = np.random.default_rng(0).normal(size=(9, 10))
    X = np.sort(X, axis=0) if order == "sorted" else X
    with pytest.warns(UserWarning, match="8 pairs were learned of states of 10 numbers"):
        ks.Koopman(ks.Linear(), learner=ks.Ridge(1e-10)).fit(X)


def test_growth_is_warned_of_when_learned() -> None:
    t = np.arange(40)
    X = 1.5 ** t[:, None] * np.column_stack([np.cos(0.3 * t), np.sin(0.3 * t)])
    with pytest.warns(UserWarning, match="beyond the unit circle"):
        ks.Koopman(ks.Linear(), learner=ks.Ridge(1e-6)).fit(X)


def test_linear_kernels_of_state_and_input_are_warned_of() -> None:
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=(100, 2)), rng.normal(size=(100, 1))
    with pytest.warns(UserWarning, match="products of state and input only"):
        ks.Koopman(ks.Linear(), n_inputs=1, input_kernel=ks.Linear()).fit(x, 0.5 * x, inputs=u)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_a_spectrum_of_a_defective_matrix_is_refused_by_name() -> None:
    # A hundred zero eigenvalues in one chain: their eigenvectors overflow, whatever their scale.
    x = 0.95 ** np.arange(500.0)[:, None]
    model = ks.Koopman(ks.Gaussian(0.004), ks.ALD(1e-4), ks.Ridge(1e-5), scale=True).fit(x)
    with pytest.raises(ValueError, match="spectrum cannot be computed"):
        _ = model.eigenvalues_


def messages(learn) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learn()
    return "\n".join(str(one.message) for one in caught)


def test_growth_of_the_system_is_said_to_be_right() -> None:
    starts = np.random.default_rng(0).normal(size=60)
    records = [(start * 1.2 ** np.arange(8))[:, None] for start in starts]
    model = ks.Koopman()
    found = messages(lambda: model.fit_trajectory(records))
    assert "has modulus 1.2, " in found
    assert "If the system grows like this, it is right as it is; if it stays bounded, " in found
    assert "Ridge" not in found
    assert "kernel" not in found
    np.testing.assert_allclose(model.predict([[2.0]], 3), [[2.0 * 1.2**3]], rtol=1e-6)
    chosen = ks.Koopman(ks.Polynomial(1, offset=1.0))
    found = messages(lambda: chosen.fit_trajectory(records))
    assert "leave out the kernel, so that one is selected by its held-out error, or bound" in found


@pytest.mark.parametrize("tolerance", [1e-6, 1e-2])
def test_a_larger_tolerance_than_that_in_use_is_named(tolerance: float) -> None:
    T = np.random.default_rng(0).standard_normal((201, 10))
    model = ks.Koopman(ks.Gaussian(3.0), ks.ALD(tolerance))
    assert f"such as ALD({10 * tolerance:g}), stores" in messages(lambda: model.fit_trajectory(T))
    with naming_options():
        found = messages(lambda: model.fit_trajectory(T))
    assert f"such as --basis ald:{10 * tolerance:g}, stores" in found
