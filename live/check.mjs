// Learns what `check.py` has written, and prints what the browser's build of the crate says of it.

import { readFileSync } from "node:fs";
import { Core } from "./page/core.js";

const [wasm, given] = process.argv.slice(2);
const { points, x, states, at } = JSON.parse(readFileSync(given, "utf8"));
const core = await Core.from(readFileSync(wasm));
core.beginCurve(0.63);
core.learnCurve(points.flat());
core.beginMotion(0.35);
for (const trajectory of states) core.follow(trajectory.flat(), false);
const values = core.eigenvalues();
const answer = {
  curve: [...core.predictCurve(x)],
  stored: core.storedCurve().length,
  eigenvalues: [...values],
  forecast: [...core.forecast(at, 20)],
};
console.log(JSON.stringify(answer));
