"""The site: `make docs` builds it from the guides, the docstrings and the examples."""

import inspect
import os
import re
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer
from sphinx_gallery.sorting import ExplicitOrder

import kernelstream

ROOT = Path(__file__).resolve().parents[1]

project = "kernelstream"
author = "the contributors of kernelstream"
project_copyright = author
release = version = kernelstream.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates", "gallery/README.rst"]
templates_path = ["_templates"]
default_role = "autolink"
nitpicky = False  # types in docstrings are words for people, such as "array of shape (n,)"

# The guides are plain Markdown, read as such on any forge.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "kernelstream"
html_static_path = ["_static"]
html_css_files = ["kernelstream.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "kernelstream"},
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "friendly",
}
html_sidebars = {"index": [], "mathematics": []}
# What a reader copies from a session is the code without prompts and answers.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Examples of real data are shown without a picture where the data is missing.
DATA = (ROOT / os.environ.get("KERNELSTREAM_DATA", "../shared/data")).resolve()
os.environ["KERNELSTREAM_DATA"] = str(DATA)
NEEDS = {
    "alanine_dipeptide": "alanine_dipeptide_dihedrals.npz",
    "cylinder_wake": "cylinder_wake_pod.npz",
}
missing = [example for example, file in NEEDS.items() if not (DATA / file).exists()]
for example in missing:
    print(f"NOT run, as {DATA / NEEDS[example]} is missing: examples/{example}.py")
ORDER = ExplicitOrder(
    [
        "live_regression.py",
        "experts_importances.py",
        "labels.py",
        "experts_labels.py",
        "intervals.py",
        "explaining.py",
        "out_of_core.py",
        "resume.py",
        "merging.py",
        "first_koopman.py",
        "duffing.py",
        "four_wells.py",
        "alanine_dipeptide.py",
        "cylinder_wake.py",
        "delays.py",
        "forecast_fans.py",
        "fields.py",
        "pendulum.py",
        "*",
    ]
)
suppress_warnings = ["config.cache"]  # that an order is an object
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": rf"/(?!{'|'.join(missing)})[a-z_]+\.py$" if missing else r"\.py$",
    "within_subsection_order": ORDER,
    "only_warn_on_example_error": False,
    "abort_on_example_error": True,
    "show_memory": False,
    "write_computation_times": False,  # their page wants scripts from elsewhere
    "min_reported_time": 1,
    "remove_config_comments": True,
    "download_all_examples": False,
    "doc_module": ("kernelstream",),
    "backreferences_dir": "gallery/backreferences",
    "show_signature": False,
}


def leave_out(_app: Any, _what: str, _name: str, member: Any, skip: bool, _options: Any) -> bool:
    """Document what the package defines, not what scikit-learn adds to every estimator."""
    function = inspect.unwrap(member.fget if isinstance(member, property) else member)
    module = getattr(function, "__module__", None) or ""
    return skip or not module.startswith("kernelstream")


# In reStructuredText a name that ends in an underscore is a link, and here an attribute; a star
# begins emphasis, and here stands for more dimensions: (n, *shape).
MARKUP = re.compile(r"``.*?``|`[^`]*`|\b(?P<name>\w+)_(?!\w)|(?<=, )\*(?P<more>\w+\))")


def escaped(match: re.Match[str]) -> str:
    """Give a name that looks like markup as it is to be read."""
    if match["name"]:
        return rf"{match['name']}\_"
    return rf"\*{match['more']}" if match["more"] else match[0]


def escape(
    _app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Let names in a docstring be what they say."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "..")):
            lines[i] = MARKUP.sub(escaped, line)


def setup(app: Any) -> None:
    """Register what is above with Sphinx."""
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-docstring", escape, priority=900)  # after numpydoc
    app.add_lexer("layers", TextLexer)
