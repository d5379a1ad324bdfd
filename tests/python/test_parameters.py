"""The page on the numbers of the adaptive experts has each of them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("experts/adaptive/params.rs", "online/drift.rs", "online/winsorizer.rs")


def test_the_table_of_numbers_is_that_of_the_source():
    text = "".join((ROOT / "src" / source).read_text(encoding="utf-8") for source in SOURCES)
    structs = dict(re.findall(r"pub struct (\w+Params) \{\n(.*?)\n\}", text, re.DOTALL))
    fields = {
        name: re.findall(r"^    pub (\w+): (\w+|\[.*\])", body, re.MULTILINE)
        for name, body in structs.items()
    }
    subjects = fields.pop("AdaptiveParams")
    # The mechanism that is left out is no number.
    numbers = [(subject, kind) for subject, kind in subjects if kind != "Option"]
    expected = [f"{subject}.{name}" for subject, kind in numbers for name, _ in fields[kind]]
    table = (ROOT / "docs" / "measurements" / "parameters.csv").read_text(encoding="utf-8")
    assert re.findall(r"^`(\w+\.\w+)`,", table, re.MULTILINE) == expected
    assert len(expected) > 50
