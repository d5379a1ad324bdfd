"""Serve a model that learns: uvicorn service_fastapi:app."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

import kernelstream as ks

PATH = Path(os.environ.get("MODEL_FILE", "service.model"))
model = ks.KernelRegressor.load(PATH) if PATH.exists() else ks.KernelRegressor()


class Rows(BaseModel):
    """Rows by column, with the column `target` to learn from."""

    rows: list[dict[str, float | str | None]]


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Save the model when the service ends."""
    yield
    if model.__sklearn_is_fitted__():
        model.save(PATH)


app = FastAPI(lifespan=lifespan)


@app.post("/learn")
def learn(given: Rows) -> dict[str, int]:
    """Learn rows; in a thread, so that predictions are made meanwhile."""
    try:
        targets = [row.pop("target") for row in given.rows]
        model.partial_fit(given.rows, targets)
    except (KeyError, ValueError, TypeError) as error:
        raise HTTPException(422, str(error)) from None
    return {"n_seen": model.n_seen_}


@app.post("/predict")
def predict(row: dict[str, float | str | None]) -> dict[str, float]:
    """Predict one row, in microseconds, and its standard deviation."""
    try:
        value, deviation = model.predict_one(row, return_std=True)
    except (ValueError, TypeError) as error:
        raise HTTPException(422, str(error)) from None
    return {"prediction": value, "std": deviation}
