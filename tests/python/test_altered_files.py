"""Model files with a right checksum whose description of the estimator is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import kernelstream as ks
from modelbytes import pack, unpack

FOLDER = Path(__file__).parents[1] / "fixtures" / "format1"


def altered(change, folder):
    """A file of a classifier whose description has been changed."""
    config, arrays = unpack((FOLDER / "classifier_flavours.model").read_bytes())
    config["extra"] |= change
    (folder / "altered").write_bytes(pack(config, arrays))
    return folder / "altered"


@pytest.mark.parametrize(
    "change",
    [
        {"classes": {"dtype": "<U5", "values": [["salé"], "sour", "sweet"]}},
        {"class_count": [2**63, 0, 0]},
        {"class_count": [1, 2]},
        {"params": None},
    ],
)
def test_a_wrong_description_is_refused(change, tmp_path):
    with pytest.raises(ks.ModelFileError):
        ks.load(altered(change, tmp_path))


def test_labels_take_the_memory_of_their_letters(tmp_path):
    classes = {"dtype": "<U400000000", "values": ["salé", "sour", "sweet"]}
    assert ks.load(altered({"classes": classes}, tmp_path)).classes_.nbytes == 3 * 4 * 5
