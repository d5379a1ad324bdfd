"""Model files with a right checksum whose description of the estimator is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import kernelstream as ks
from modelbytes import pack, unpack
from realdata import random_stream


@pytest.fixture
def altered(tmp_path):
    """Give a function that writes a file of a classifier with a changed configuration."""
    X, y = random_stream(50, 3)
    labels = np.array(["salé", "sour", "sweet"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    ks.KernelClassifier(ks.Gaussian(0.8), ks.ALD(1e-1, 20)).fit(X, labels).save(tmp_path / "model")

    def write(part, change):
        config, arrays = unpack((tmp_path / "model").read_bytes())
        config[part] |= change
        (tmp_path / "altered").write_bytes(pack(config, arrays))
        return tmp_path / "altered"

    return write


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("spec", {"labels": {"classes": [["salé"], "sour"], "link": None, "weights": "equal"}}),
        ("spec", {"labels": {"classes": ["sour"], "link": None, "weights": "equal"}}),
        ("extra", {"params": None}),
        ("extra", {"classes": None}),
        ("extra", {"classes": {"dtype": "<V3"}}),
    ],
)
def test_a_wrong_description_is_refused(part, change, altered):
    with pytest.raises(ks.ModelFileError):
        ks.load(altered(part, change))


def test_labels_take_the_memory_of_their_letters(altered):
    classes = {"dtype": "<U400000000"}
    assert ks.load(altered("extra", {"classes": classes})).classes_.nbytes == 3 * 4 * 5
