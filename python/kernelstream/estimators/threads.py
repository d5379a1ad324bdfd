"""How many threads work on predictions, experts and large models."""

from kernelstream import _core


def set_num_threads(n: int | None) -> None:
    """
    Set how many threads predictions for many rows, experts and large models may use.

    `predict`, `transform` and `eigenfunctions` divide the rows into blocks of a fixed size, the
    experts of `KernelExperts` learn side by side, and the matrix products of models of about 500
    points or more are divided; other models learn on one thread. Results are the same to the bit
    for any number of threads. Python's other threads run meanwhile.

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
    Return how many threads predictions for many rows, experts and large models may use.

    Returns
    -------
    int
        At least 1.
    """
    return _core.get_num_threads()
