"""How many threads work on predictions and on experts."""

from kernelstream import _core


def set_num_threads(n: int | None) -> None:
    """
    Set how many threads predictions for many rows and experts may use.

    `predict`, `transform` and `eigenfunctions` cut the rows into blocks of a fixed size and share
    these out, so that the numbers are the same to the bit for any number of threads. Learning goes
    row after row, on one thread; the experts of `KernelExperts` learn side by side. Python's other
    threads run meanwhile.

    Parameters
    ----------
    n : int or None
        From 1 (the caller's own thread does everything) to 1024. None is as many as the environment
        variable ``KERNELSTREAM_NUM_THREADS`` says, or else as many as there are processors for this
        process: that is what it is to begin with.

    Raises
    ------
    ValueError
        If there would be none, or more than 1024.
    """
    if n is not None and n < 1:
        raise ValueError(f"n must be from 1 to 1024, got {n}")
    _core.set_num_threads(n)


def get_num_threads() -> int:
    """
    Return how many threads predictions for many rows and experts may use.

    Returns
    -------
    int
        At least 1.
    """
    return _core.get_num_threads()
