"""Learn from a stream with kernels: one pass, constant memory, second order."""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING

from kernelstream import starting as _starting  # noqa: F401  (first, the others take time)

if TYPE_CHECKING:
    from kernelstream.components.admission import *  # noqa: F403  (mypy does not add __all__ up)
    from kernelstream.components.bases import *  # noqa: F403
    from kernelstream.components.budget import *  # noqa: F403
    from kernelstream.components.kernels import *  # noqa: F403
    from kernelstream.components.learners import *  # noqa: F403
    from kernelstream.public import *  # noqa: F403
    from kernelstream.public import __all__ as __all__
else:
    # scikit-learn takes a second to load: who asks the command for its help does not wait for it.
    def __getattr__(name: str) -> object:
        """Load the public names when one is first asked for."""
        if name == "__all__" or not name.startswith("_"):
            public = _import_module("kernelstream.public")
            # While they load, they ask for modules here, which Python then finds by itself.
            names = getattr(public, "__all__", [])
            globals().update({each: getattr(public, each) for each in names}, __all__=names)
            if name in globals():
                return globals()[name]
            # Modules that are not loaded with the others: `kernelstream.datasets`, `.exceptions`.
            if _import_module("importlib.util").find_spec(f"{__name__}.{name}") is not None:
                return _import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """List what there is."""
        return sorted({*globals(), *_import_module("kernelstream.public").__all__})


__version__ = _version("kernelstream")
