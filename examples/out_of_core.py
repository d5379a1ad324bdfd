"""
A file larger than memory
=========================

Sales of three shops by the hour, with text, times and gaps, in a Parquet file. It is read in
batches of 2,000 rows by pyarrow, and each batch is forgotten once it is learned; so its size does
not matter. The model knows what to do with columns of each kind. The command line does
the same with ``kernelstream learn sales.parquet --target sales``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import kernelstream as ks
from kernelstream.plots import CYCLE, style_axes

rng = np.random.default_rng(0)
n = 40_000
shops = np.array(["harbour", "market", "station"])
opening = {"harbour": 13.0, "market": 9.0, "station": 7.5}  # hour of most sales
when = np.datetime64("2025-01-01", "s") + np.sort(rng.integers(0, 365 * 24 * 60, n)).astype("m8[m]")
shop = rng.choice(shops, n)
hour = (when - when.astype("M8[D]")).astype(float) / 3600
warmth = np.where(rng.random(n) < 0.1, np.nan, 15 + 8 * rng.normal(size=n))


def typical(shop: np.ndarray, hour: np.ndarray, warmth: np.ndarray | float) -> np.ndarray:
    """Sales that are to be expected."""
    from_peak = np.abs((hour - np.vectorize(opening.get)(shop) + 12) % 24 - 12)
    return 80 * np.exp(-((from_peak / 3) ** 2)) + 0.8 * np.nan_to_num(warmth, nan=15)


sales = typical(shop, hour, warmth) + 8 * rng.normal(size=n)
folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "sales.parquet"
table = pa.table({"when": when, "shop": shop, "degrees": warmth, "sales": sales})
pq.write_table(table, file, row_group_size=5_000)

# %%
# One pass. The first batch says of what kind the columns are; each batch is predicted before it
# is learned.
columns = ["when", "shop", "degrees"]
model = ks.KernelRegressor(missing="fill")
errors = []
with pq.ParquetFile(file) as source:
    for batch in source.iter_batches(2_000):
        target = batch.column("sales").to_numpy()
        said = model.partial_fit_predict(batch.select(columns), target)
        errors.append(np.sqrt(np.nanmean((said - target) ** 2)))
print(f"{model.n_seen_:,} rows, {model.n_stored_} stored")

# %%
# The error falls towards the noise (8), and the shops' days are known.
figure, (curve, day) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
curve.plot(2 * np.arange(1, len(errors) + 1), errors, "o-", color=CYCLE[0], markersize=3)
curve.axhline(8, color="0.4", linestyle="--", linewidth=1, label="deviation of the noise")
curve.set(xlabel="rows seen (thousands)", ylabel="error of a batch", ylim=(0, None))
curve.legend(frameon=False)
hours = np.arange(0, 24, 0.25)
times = np.datetime64("2025-07-01") + (60 * hours).astype("m8[m]")
for colour, name in zip(CYCLE, shops, strict=False):
    rows = {"when": times, "shop": np.full(96, name), "degrees": np.full(96, 20.0)}
    day.plot(hours, model.predict(rows), color=colour, label=name)
    day.plot(hours, typical(rows["shop"], hours, 20.0), ":", color=colour)
day.set(xlabel="hour of a day of 20 degrees", ylabel="sales (dotted: true)", xticks=range(0, 25, 6))
day.legend(frameon=False)
for ax in (curve, day):
    style_axes(ax, frame=False)
plt.show()
folder.cleanup()
