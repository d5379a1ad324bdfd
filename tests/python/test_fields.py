"""Modes of fields: those of a singular value decomposition of all snapshots at once."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

import kernelstream as ks


@pytest.fixture(scope="module")
def snapshots() -> np.ndarray:
    """200 fields of 6 x 10, of five patterns that decay, and little else."""
    rng = np.random.default_rng(0)
    patterns = rng.normal(size=(5, 60)) * np.array([9.0, 5.0, 3.0, 2.0, 1.0])[:, None]
    fields = 7.0 + rng.normal(size=(200, 5)) @ patterns + 1e-6 * rng.normal(size=(200, 60))
    return fields.reshape(200, 6, 10)


def _dense(fields: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    flat = fields.reshape(len(fields), -1)
    centred = flat - flat.mean(axis=0)
    _, values, vectors = np.linalg.svd(centred, full_matrices=False)
    return values[:k], vectors[:k], values[:k] ** 2 / np.sum(values**2)


@pytest.mark.parametrize("pieces", [1, 3, 200])
def test_modes_are_those_of_all_snapshots_however_they_come(snapshots, pieces) -> None:
    pod = ks.POD(5, block_size=30)
    for piece in np.array_split(snapshots, pieces):
        pod.partial_fit(piece)
    values, vectors, shares = _dense(snapshots, 5)
    np.testing.assert_allclose(pod.singular_values_, values, rtol=1e-9)
    np.testing.assert_allclose(np.abs(pod.components_ @ vectors.T), np.eye(5), atol=1e-7)
    np.testing.assert_allclose(pod.explained_variance_ratio_, shares, rtol=1e-9)
    np.testing.assert_allclose(pod.mean_, snapshots.mean(axis=0))
    assert (pod.n_seen_, pod.shape_, pod.modes_.shape) == (200, (6, 10), (5, 6, 10))


def test_coefficients_become_fields_again(snapshots) -> None:
    pod = ks.POD(5).fit(snapshots)
    coefficients = pod.transform(snapshots)
    assert coefficients.shape == (200, 5)
    np.testing.assert_allclose(coefficients, pod.transform(snapshots.reshape(200, 60)))
    np.testing.assert_allclose(pod.inverse_transform(coefficients), snapshots, atol=1e-4)
    maps = pod.maps(1j * coefficients[:2])
    np.testing.assert_allclose(maps.imag + pod.mean_, snapshots[:2], atol=1e-4)
    with pytest.raises(ValueError, match=r"must have shape \(n, 5\)"):
        pod.inverse_transform(coefficients[:, :3])


def test_coefficients_of_one_pass_are_those_of_a_second(snapshots) -> None:
    pod = ks.POD(5, block_size=20, keep_coefficients=True)
    pod.partial_fit(snapshots[:90]).partial_fit(snapshots[90:])
    np.testing.assert_allclose(pod.coefficients_, pod.transform(snapshots), atol=1e-4)
    with pytest.raises(AttributeError, match="keep_coefficients=True"):
        _ = ks.POD(5).fit(snapshots).coefficients_


def test_without_a_mean_and_of_integers_and_single_snapshots(snapshots) -> None:
    whole = np.rint(snapshots).astype(np.int16)
    pod = ks.POD(3, center=False).fit(whole)
    values = np.linalg.svd(whole.reshape(200, 60).astype(float), compute_uv=False)
    np.testing.assert_allclose(pod.singular_values_, values[:3], rtol=1e-6)
    assert not pod.mean_.any()
    one = ks.POD(3).fit(snapshots[:1])
    np.testing.assert_array_equal(
        one.inverse_transform(one.transform(snapshots[:1])), snapshots[:1]
    )


def test_a_bad_snapshot_is_named_and_changes_nothing(snapshots) -> None:
    pod = ks.POD(5, block_size=10).fit(snapshots[:50])
    before = pod.components_
    holed = snapshots[50:].copy()
    holed[25, 4, 7] = np.nan
    with pytest.raises(ValueError, match=r"snapshot 25 contains nan at \(4, 7\)"):
        pod.partial_fit(holed)
    np.testing.assert_array_equal(pod.components_, before)
    assert pod.n_seen_ == 50
    with pytest.raises(ValueError, match=r"those learned have shape \(6, 10\)"):
        pod.transform(snapshots[:, :3])
    with pytest.raises(ValueError, match="no snapshot"):
        pod.partial_fit(snapshots[:0])
    with pytest.raises(ValueError, match=r"one snapshot is X\[None\]"):
        ks.POD().fit(snapshots[0, 0])
    assert ks.POD().fit(snapshots).partial_fit(snapshots.reshape(200, 60)).shape_ == (6, 10)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_copies_and_pipelines(snapshots) -> None:
    pod = ks.POD(5).fit(snapshots[:80])
    copied = pickle.loads(pickle.dumps(pod)).partial_fit(snapshots[80:])
    pod.partial_fit(snapshots[80:])
    np.testing.assert_array_equal(copied.components_, pod.components_)
    assert clone(pod).get_params() == pod.get_params()
    chain = make_pipeline(ks.POD(3), ks.Koopman(ks.Gaussian(20.0))).fit(snapshots)
    assert chain[-1].n_features_in_ == 3


def test_fields_read_from_a_file_block_by_block(snapshots, tmp_path) -> None:
    np.save(tmp_path / "fields.npy", snapshots.astype(np.float32))
    stored = np.load(tmp_path / "fields.npy", mmap_mode="r")
    pod = ks.POD(5).fit(stored)
    np.testing.assert_allclose(pod.singular_values_, _dense(snapshots, 5)[0], rtol=1e-4)


@pytest.mark.parametrize("order", ["shuffled", "sorted", "blocks"])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 0.999])
def test_as_many_modes_as_a_share_of_the_variance_takes(snapshots, share, order) -> None:
    flat = snapshots.reshape(len(snapshots), -1)
    if order == "sorted":
        flat = flat[np.argsort(flat[:, 0])]
    pod = ks.POD(share, max_components=30)
    for piece in np.array_split(flat, 7 if order == "blocks" else 1):
        pod.partial_fit(piece)
    peer = PCA(share, svd_solver="full").fit(flat)
    assert pod.components_.shape == (peer.n_components_, 60)
    assert pod.get_feature_names_out().shape == (peer.n_components_,)
    np.testing.assert_allclose(np.abs(pod.transform(flat)), np.abs(peer.transform(flat)), atol=1e-6)
    assert pod.explained_variance_ratio_.sum() >= share


@pytest.mark.parametrize(("rows", "columns"), [(300, 80), (80, 300), (150, 150)])
@pytest.mark.parametrize("rank", [1, 3, 8])
def test_the_optimal_number_of_modes_is_that_of_the_pattern_below_the_noise(
    rows, columns, rank
) -> None:
    rng = np.random.default_rng(rank)
    left, right = rng.normal(size=(rows, rank)), rng.normal(size=(rank, columns))
    for noise in (1e-6, 1e-2, 0.3):
        X = left @ right + noise * rng.normal(size=(rows, columns))
        pod = ks.POD("optimal", max_components=40).fit(X)
        assert len(pod.singular_values_) == rank
        # Gavish and Donoho's rule for noise of unknown size, of all singular values.
        values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
        beta = min(rows, columns) / max(rows, columns)
        factor = 0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43
        assert np.count_nonzero(values > factor * np.median(values)) == rank
    # Pure noise keeps one mode; a pattern without noise keeps all of it.
    assert len(ks.POD("optimal").fit(rng.normal(size=(rows, columns))).singular_values_) <= 2
    assert len(ks.POD("optimal", center=False).fit(left @ right).singular_values_) == rank


@pytest.mark.parametrize("wanted", [0, -1, 1.0, 1.5, 0.0, float("nan"), "best", True, None])
def test_numbers_of_modes_that_are_none(snapshots, wanted) -> None:
    with pytest.raises((ValueError, TypeError), match="n_components"):
        ks.POD(wanted).fit(snapshots)
