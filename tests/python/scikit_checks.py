"""Checks of scikit-learn that do not suit a learner of streams."""

from __future__ import annotations

# What the check asks for holds in the order of the rows: see test_sample_weight.py.
IN_THEIR_ORDER = dict.fromkeys(
    [
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    "the check shuffles the rows of one of two models, and a learner of one pass stores its points "
    "in the order they come",
)
