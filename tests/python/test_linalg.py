"""Decompositions that follow a changing matrix, against numpy's of the whole matrix."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import printed_tisvd
from kernelstream.linalg import TruncatedEigen, TruncatedSVD, sparse_sketch
from realdata import table


def best_error(A, rank):
    """Frobenius norm that the best approximation of a rank leaves."""
    return np.sqrt((np.linalg.svd(A, compute_uv=False)[rank:] ** 2).sum())


def defect(Q):
    return np.abs(Q.T @ Q - np.eye(Q.shape[1])).max()


def error_ratio(svd, A):
    return np.linalg.norm(svd.reconstruct() - A) / best_error(A, svd.rank)


def some_matrix(m=30, n=20, seed=0):
    return np.random.default_rng(seed).normal(size=(m, n))


def test_the_first_matrix_equals_numpys_decomposition():
    A = some_matrix()
    svd = TruncatedSVD.from_matrix(A, rank=6)
    u, s, vt = np.linalg.svd(A, full_matrices=False)
    np.testing.assert_allclose(svd.s, s[:6], rtol=1e-13)
    np.testing.assert_allclose(
        svd.u @ np.diag(svd.s) @ svd.v.T, (u[:, :6] * s[:6]) @ vt[:6], atol=1e-12
    )
    np.testing.assert_allclose(svd.reconstruct(), (svd.u * svd.s) @ svd.v.T, atol=1e-12)
    assert (svd.shape, svd.rank, svd.n_oversamples) == ((30, 20), 6, 10)
    assert TruncatedSVD.from_matrix(A, rank=30).n_oversamples == 15
    assert (svd.u.shape, svd.s.shape, svd.v.shape) == ((30, 6), (6,), (20, 6))
    assert svd.error_bound >= best_error(A, 6)
    assert repr(svd) == "TruncatedSVD(30 x 20, rank 6)"
    with pytest.raises(TypeError, match="from_matrix"):
        TruncatedSVD()


def test_updates_of_a_low_rank_matrix_are_exact():
    rng = np.random.default_rng(1)
    A = some_matrix(30, 2) @ some_matrix(2, 20)
    svd = TruncatedSVD.from_matrix(A, rank=12)
    for _ in range(3):
        U, V = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
        assert svd.update(U, V, forgetting=0.9) is svd
        A = 0.9 * A + U @ V.T
    u, v = rng.normal(size=30), rng.normal(size=20)
    svd.update(u, v)
    A = A + np.outer(u, v)
    svd.append_rows(A[:3]).append_rows(A[4])
    svd.append_columns(svd.u[:, :1]).append_columns(svd.u[:, 1])
    A = np.vstack([A, A[:3], A[4]])
    np.testing.assert_allclose(svd.reconstruct()[:, :20], A, atol=1e-11)
    assert svd.shape == (34, 22)
    assert max(defect(svd.u), defect(svd.v)) < 1e-13


def test_a_stream_of_snapshots_is_the_svd_of_all():
    # A travelling wave: many sensors, snapshots in chunks.
    x, t = np.linspace(0.0, 1.0, 400), np.linspace(0.0, 3.0, 90)
    A = np.sin(2 * np.pi * np.subtract.outer(x, t)) + 0.3 * np.cos(6 * np.pi * np.add.outer(x, t))
    svd = TruncatedSVD.from_matrix(A[:, :1], rank=4)
    for start in range(1, 90, 7):
        svd.append_columns(A[:, start : start + 7])
    np.testing.assert_allclose(svd.s, np.linalg.svd(A, compute_uv=False)[:4], rtol=1e-10)
    np.testing.assert_allclose(svd.reconstruct(), A, atol=1e-10)


def test_inputs_of_any_kind_and_layout():
    A = some_matrix(6, 5)
    expected = TruncatedSVD.from_matrix(A, rank=3).update(A[:, :2], A[:5, :2]).reconstruct()
    for given in (A.tolist(), np.asfortranarray(A), np.repeat(A, 2, axis=0)[::2], A[::-1][::-1]):
        svd = TruncatedSVD.from_matrix(given, rank=3)
        svd.update(np.asarray(given)[:, :2], np.asarray(given)[:5, :2])
        np.testing.assert_allclose(svd.reconstruct(), expected, atol=1e-13)
    single = TruncatedSVD.from_matrix(A.astype(np.float32), rank=3)
    assert single.u.dtype == np.float64
    assert TruncatedSVD.from_matrix(np.eye(3, dtype=np.int64), rank=2).s.tolist() == [1.0, 1.0]


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("method", "arrays", "words"),
    [
        ("update", (np.full((6, 1), NAN), np.ones((5, 1))), "U contains NaN at row 0"),
        ("update", (np.ones((6, 1)), [[1], [1], [INF], [1], [1]]), "V contains inf at row 2"),
        ("update", (np.ones((5, 1)), np.ones((5, 1))), r"U has shape \(5, 1\).*\(6, 1\)"),
        ("update", (np.ones((6, 2)), np.ones((5, 1))), r"V has shape \(5, 1\).*\(5, 2\)"),
        ("update", (np.full((6, 1), 1e80), np.ones((5, 1))), "U at row 0 is too large"),
        ("append_rows", (np.ones(6),), r"rows has shape \(1, 6\), but must have \(1, 5\)"),
        ("append_columns", (np.ones(5),), r"columns has shape \(5, 1\).*\(6, 1\)"),
        ("append_rows", ([[1, 2, 3, 4, NAN]],), "rows contains NaN at row 0, column 4"),
        ("append_rows", (np.ones((1, 1, 5)),), "rows must have two dimensions"),
    ],
)
def test_bad_input_names_the_culprit_and_changes_nothing(method, arrays, words):
    svd = TruncatedSVD.from_matrix(some_matrix(6, 5), rank=3)
    before = pickle.dumps(svd)
    with pytest.raises(ValueError, match=words):
        getattr(svd, method)(*arrays)
    with pytest.raises(ValueError, match="forgetting must be"):
        svd.update(np.ones(6), np.ones(5), forgetting=1.5)
    assert pickle.dumps(svd) == before


def test_bad_beginnings():
    with pytest.raises(ValueError, match="rank must be at least 1"):
        TruncatedSVD.from_matrix(np.eye(3), rank=0)
    with pytest.raises(ValueError, match="A contains NaN at row 1, column 0"):
        TruncatedSVD.from_matrix([[1.0], [np.nan]], rank=1)
    with pytest.raises(ValueError, match="no columns"):
        TruncatedSVD.from_matrix(np.empty((3, 0)), rank=1)
    with pytest.raises(TypeError, match="real numbers"):
        TruncatedSVD.from_matrix([[1j]], rank=1)
    with pytest.raises(ValueError, match="symmetric"):
        TruncatedEigen.from_matrix([[1.0, 2.0], [0.0, 1.0]], rank=1)
    with pytest.raises(ValueError, match="at most the number of rows"):
        TruncatedEigen.from_matrix(np.eye(2), rank=3)
    for sizes in ({"rank": -1}, {"rank": 2, "n_oversamples": -1}):
        with pytest.raises(ValueError, match=f"{list(sizes)[-1]} must be at least ., got -1"):
            TruncatedSVD.from_matrix(np.eye(3), **sizes)
    with pytest.raises(TypeError, match="rank must be an integer"):
        TruncatedEigen.from_matrix(np.eye(3), rank=2.5)
    with pytest.raises(ValueError, match="start must be at least 0"):
        sparse_sketch(np.eye(3), 5, start=-1)
    with pytest.raises(ValueError, match="a divisor of the width"):
        sparse_sketch(np.eye(3), 5, blocks=2)


def test_copies_go_their_own_way_and_to_the_same_place():
    rng = np.random.default_rng(2)
    svd = TruncatedSVD.from_matrix(some_matrix(9, 8), rank=3, n_oversamples=2)
    eigen = TruncatedEigen.from_matrix(np.eye(6), rank=3)
    updates = [
        (rng.normal(size=(9, 2)), rng.normal(size=(8, 2)), rng.normal(size=6)) for _ in range(140)
    ]
    for U, V, d in updates[:70]:
        svd.update(U, V, forgetting=0.9)
        eigen.update(d)
    for clone in (lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy):
        again, eigen_again = clone(svd), clone(eigen)
        before = svd.s.copy()
        reference, eigen_reference = copy.deepcopy(svd), copy.deepcopy(eigen)
        for U, V, d in updates[70:]:
            again.update(U, V, forgetting=0.9)
            reference.update(U, V, forgetting=0.9)
            eigen_again.update(d)
            eigen_reference.update(d)
        assert again.u.tobytes() == reference.u.tobytes()
        assert eigen_again.vectors.tobytes() == eigen_reference.vectors.tobytes()
        assert svd.s.tolist() == before.tolist()
        assert again.error_bound == reference.error_bound


def test_threads_may_share_one():
    svd = TruncatedSVD.from_matrix(np.zeros((40, 30)), rank=5)

    def work():
        for _ in range(50):
            svd.update(np.ones(40), np.ones(30))
            assert svd.u.shape == (40, 5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(svd.reconstruct(), np.full((40, 30), 200.0))


def test_gaussian_updates_stay_near_the_best_approximation():
    """Figure 4 of Wen et al. in short; benchmarks/decompositions/tisvd.py has it in full."""
    rng = np.random.default_rng(4)
    A = rng.normal(size=(100, 100))
    svd = TruncatedSVD.from_matrix(A, rank=30)
    for _ in range(3000):
        U, V = rng.normal(size=(100, 3)), rng.normal(size=(100, 3))
        svd.update(U, V)
        A += U @ V.T
    assert error_ratio(svd, A) < 1.2
    assert max(defect(svd.u), defect(svd.v)) < 1e-12
    assert np.linalg.norm(svd.reconstruct() - A) < svd.error_bound


@pytest.mark.parametrize("rank", [10, 30])
@pytest.mark.parametrize("bandwidth", [0.25, 1.0])
def test_the_sketch_of_a_real_kernel_matrix_is_followed_where_the_printed_algorithm_fails(
    bandwidth, rank
):
    """Wen et al., section 5 with s_p = 100: the sketch of codrna's Gram matrix, row by row."""
    X = table("codrna_30k")["X"]
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    X = X[np.random.default_rng(0).permutation(len(X))]
    stream = printed_tisvd.kernel_sketch(X, bandwidth, width=100, first=200, rounds=1000)
    A = next(stream)
    svd, eigen = (
        TruncatedSVD.from_matrix(A, rank, n_oversamples=0),
        TruncatedEigen.from_matrix(A, rank),
    )
    printed = printed_tisvd.start(A, rank)
    worst = 0.0
    for t, (D, M) in enumerate(stream):
        A += D @ M @ D.T
        svd.update(D @ M, D)
        eigen.update(D, M)
        if t < 200:
            printed = printed_tisvd.update(*printed, D @ M, D)
        worst = max(worst, svd.orthogonality(), eigen.orthogonality())
    assert worst <= 1e-10
    # Where the best approximation is exact to rounding, rounding is what there is to compare.
    allowed = 1.2 * best_error(A, rank) + 1e-11 * np.linalg.norm(A)
    assert np.linalg.norm(eigen.reconstruct() - A) < allowed
    assert np.linalg.norm(svd.reconstruct() - A) < allowed
    assert defect(printed[0]) > 1e-4


def test_symmetric_updates_keep_to_the_positive_part():
    rng = np.random.default_rng(5)
    half = rng.normal(size=(25, 25))
    A = half @ half.T
    eigen = TruncatedEigen.from_matrix(A, rank=25)
    D, M = rng.normal(size=(25, 3)), np.diag([2.0, -30.0, 1.0])
    eigen.update(D, M)
    values, vectors = np.linalg.eigh(A + D @ M @ D.T)
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    np.testing.assert_allclose(eigen.reconstruct(), positive, atol=1e-10)
    assert values[0] < -1.0
    assert eigen.values.min() == 0.0
    assert eigen.rank == 25
    assert repr(eigen) == "TruncatedEigen(25 x 25, rank 25)"


def test_sketches_add_up_over_chunks_and_keep_inner_products():
    A = some_matrix(50, 2)
    whole = sparse_sketch(A, 12, blocks=3, random_state=7)
    parts = sum(
        sparse_sketch(A[i : i + 13], 12, blocks=3, random_state=7, start=i)
        for i in range(0, 50, 13)
    )
    np.testing.assert_allclose(parts, whole, atol=1e-14)
    S = sparse_sketch(np.eye(50), 12, blocks=3, random_state=7).T
    assert (np.count_nonzero(S, axis=1) == 3).all()
    np.testing.assert_allclose(np.abs(S[S != 0]), 3**-0.5)
    np.testing.assert_allclose(S.T @ A, whole, atol=1e-14)
    grams = [(s := sparse_sketch(A, 12, random_state=seed)).T @ s for seed in range(2000)]
    np.testing.assert_allclose(np.mean(grams, axis=0), A.T @ A, atol=2.0)
