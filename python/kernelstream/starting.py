"""Ctrl-C while the command starts: it ends at once, without a traceback.

That begins when this is imported, and ends with `interrupt_again`.
"""

import signal
import sys

__all__ = ["interrupt_again"]


def _interrupt_quietly() -> None:
    """Let Ctrl-C end the process as the system does, if this process is the command."""
    # The script of that name, or python -m kernelstream.
    is_command = any(
        argument.replace("\\", "/").rpartition("/")[2] in {"kernelstream", "kernelstream.exe"}
        for argument in sys.orig_argv[1:3]
    )
    if is_command and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt_again() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_interrupt_quietly()
