"""Learning distributed rows: on the cores of one machine, or on several machines.

`fit` learns in two rounds. In the first a sample of all rows makes a dictionary, which is frozen.
In the second a copy of the estimator learns all rows of each part, and the copies are merged, a few
at a time. What comes out is least squares on all rows in that dictionary: it depends neither on how
rows are spread over parts nor on their order, to rounding. `partial_fit` needs the second round
only, and `predict` leaves rows and predictions where they are.

Dask, Spark and Ray do the work for their own collections, threads for anything else. For any other
engine `sample`, `begin`, `learn` and `merged` are the steps, plain functions whose arguments and
results can be pickled.
"""

from kernelstream.distributed.learning import fit, partial_fit, predict
from kernelstream.distributed.rounds import begin, learn, merged, sample

__all__ = ["begin", "fit", "learn", "merged", "partial_fit", "predict", "sample"]
