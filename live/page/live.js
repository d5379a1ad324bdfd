// The two pictures of the page. With ?frames=N it plays N frames at once and stands still: for tests.

import { Core } from "./core.js";
import { colour, Picture } from "./draw.js";
import { next, random, STEP, thrown } from "./motion.js";

const byId = (id) => document.getElementById(id);
const pairs = (numbers) => Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i], numbers[2 * i + 1]]);
const chance = random(1);
const normal = () => Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());

class Curve {
  constructor(core) {
    this.core = core;
    this.picture = new Picture(byId("curve"), [0, 10], [-2, 2]);
    this.grid = Float64Array.from({ length: 400 }, (_, i) => (i / 399) * 10);
    const canvas = byId("curve");
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); this.add([this.picture.at(event)]); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) this.add([this.picture.at(event)]); });
    byId("clear").addEventListener("click", () => this.begin([]));
    byId("more").addEventListener("click", () => { this.waiting = 1000; });
    byId("scale").addEventListener("input", () => this.begin(this.points));
    this.begin(this.example(60));
  }

  begin(points) {
    this.core.beginCurve(10 ** Number(byId("scale").value));
    Object.assign(this, { points: [], waiting: 0, seconds: 0 });
    this.add(points);
  }

  example(count) {
    return Array.from({ length: count }, () => {
      const x = 10 * chance();
      return [x, Math.sin(1.3 * x) * Math.exp(-x / 12) + 0.15 * normal()];
    });
  }

  add(points) {
    if (points.length === 0) return;
    const start = performance.now();
    this.core.learnCurve(points.flat());
    this.seconds += (performance.now() - start) / 1000;
    this.points.push(...points);
  }

  frame() {
    const some = Math.min(this.waiting, 17); // 1,000 in a second
    this.waiting -= some;
    this.add(this.example(some));
    const { picture } = this;
    picture.begin();
    picture.dots(this.points.slice(-4000), colour("point"), 2);
    const made = this.core.predictCurve(this.grid);
    if (made.length) picture.line(Array.from(made, (y, i) => [this.grid[i], y]), colour("made"), 2.5);
    const stored = this.core.storedCurve();
    for (const x of stored) picture.line([[x, -2], [x, -1.9]], colour("stored"), 1.5);
    const each = this.points.length ? ((1e6 * this.seconds) / this.points.length).toFixed(1) : "0";
    byId("curve-figures").textContent =
      `${this.points.length.toLocaleString("en")} points learned, ${stored.length} stored, ${each} µs a point`;
  }
}

const WIDTH = 1.8, HEIGHT = 1.2; // of the plane of positions and velocities
const COLUMNS = 60, ROWS = 40;
const PARTS = 5; // frames in a step

class Motion {
  constructor(core) {
    this.core = core;
    this.picture = new Picture(byId("motion"), [-WIDTH, WIDTH], [-HEIGHT, HEIGHT]);
    this.circle = new Picture(byId("spectrum"), [-1.15, 1.15], [-1.15, 1.15]);
    const small = Object.assign(document.createElement("canvas"), { width: COLUMNS, height: ROWS });
    this.small = { canvas: small, context: small.getContext("2d") };
    this.grid = Array.from({ length: COLUMNS * ROWS }, (_, i) => [
      -WIDTH + ((i % COLUMNS) + 0.5) * (2 * WIDTH / COLUMNS), HEIGHT - (Math.floor(i / COLUMNS) + 0.5) * (2 * HEIGHT / ROWS)]);
    const canvas = byId("motion");
    const drag = (event) => { this.held = true; this.ball = this.picture.at(event); this.path = [this.ball]; };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); drag(event); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) drag(event); });
    canvas.addEventListener("pointerup", () => { this.held = false; });
    byId("again").addEventListener("click", () => this.begin());
    this.begin();
  }

  begin() {
    this.core.beginMotion(0.35);
    Object.assign(this, { frames: 0, seen: 0, seconds: 0, values: [], shades: null, held: false });
    this.throwBall();
  }

  throwBall() {
    this.ball = this.somewhere();
    this.path = [this.ball];
  }

  somewhere() { return [WIDTH * (2 * chance() - 1), HEIGHT * (2 * chance() - 1)]; }

  learn(states) {
    const start = performance.now();
    if (this.core.follow(states.flat(), false)) this.seen += states.length - 1;
    this.seconds += (performance.now() - start) / 1000;
  }

  frame() {
    this.frames += 1;
    // One throw in ten frames that nobody sees, and the ball's own once it has come to rest.
    if (this.frames % 10 === 0) this.learn(thrown(this.somewhere(), 30));
    if (!this.held) {
      this.ball = next(this.ball, STEP / PARTS);
      this.path.push(this.ball);
      if (this.path.length > 50 * PARTS) {
        this.learn(this.path.filter((_, i) => i % PARTS === 0));
        this.throwBall();
      }
    }
    if (this.frames % 60 === 10 && this.seen) this.look();
    this.draw();
  }

  // The spectrum, and of the two slowest functions the one that is not constant.
  look() {
    this.values = pairs(this.core.eigenvalues());
    const flat = this.grid.flat();
    const candidates = [0, 1].map((k) => pairs(this.core.eigenfunction(flat, k)).map(([re]) => re));
    const spread = (f) => {
      const mean = f.reduce((a, b) => a + b, 0) / f.length, size = Math.max(...f.map(Math.abs)) || 1;
      return f.reduce((a, b) => a + (b - mean) ** 2, 0) / f.length / size ** 2;
    };
    const slowest = candidates.sort((a, b) => spread(b) - spread(a))[0];
    const sorted = slowest ? [...slowest].sort((a, b) => a - b) : [];
    const [low, high] = [0.05, 0.95].map((share) => sorted[Math.floor(share * sorted.length)]);
    // The right valley has one colour, whichever sign the function has.
    const turned = slowest && this.valueAt(slowest, 1) < this.valueAt(slowest, -1);
    this.shades = slowest && slowest.map((f) => {
      const share = Math.min(Math.max((f - low) / (high - low || 1), 0), 1);
      return turned ? 1 - share : share;
    });
  }

  valueAt(f, x) {
    const column = Math.floor(((x + WIDTH) / (2 * WIDTH)) * COLUMNS);
    return f[Math.floor(ROWS / 2) * COLUMNS + column];
  }

  draw() {
    const { picture } = this;
    picture.begin();
    if (this.shades) {
      const { context } = this.small, [left, right] = [colour("left"), colour("right")];
      context.clearRect(0, 0, COLUMNS, ROWS);
      this.shades.forEach((share, i) => {
        context.globalAlpha = 0.6 * Math.abs(2 * share - 1);
        context.fillStyle = share < 0.5 ? left : right;
        context.fillRect(i % COLUMNS, Math.floor(i / COLUMNS), 1, 1);
      });
      picture.context.drawImage(this.small.canvas, 0, 0, picture.width, picture.height);
    }
    const stored = pairs(this.core.storedMotion());
    picture.dots(stored, colour("stored"), 1.5);
    picture.line(this.path, colour("point"), 2);
    const ahead = pairs(this.core.forecast(this.ball, 40));
    if (ahead.length) picture.line([this.ball, ...ahead], colour("made"), 2, [6, 4]);
    picture.dots([this.ball], colour("ink"), 7);
    this.drawSpectrum();
    const each = this.seen ? ((1e6 * this.seconds) / this.seen).toFixed(0) : "0";
    byId("motion-figures").textContent =
      `${this.seen.toLocaleString("en")} pairs of states learned, ${stored.length} states stored, ${each} µs a pair, ` +
      `a step is ${STEP} s`;
  }

  drawSpectrum() {
    const { circle } = this;
    circle.begin();
    const round = Array.from({ length: 97 }, (_, i) => [Math.cos((i * Math.PI) / 48), Math.sin((i * Math.PI) / 48)]);
    circle.line(round, colour("line"), 1.5);
    circle.dots(this.values.slice(0, 40), colour("made"), 2.5);
  }
}

async function main() {
  const core = await Core.from(await (await fetch("kernelstream_live.wasm")).arrayBuffer());
  const pictures = [new Curve(core), new Motion(core)];
  const frames = Number(new URLSearchParams(location.search).get("frames"));
  if (frames) {
    for (let i = 0; i < frames; i += 1) pictures.forEach((picture) => picture.frame());
    document.body.dataset.done = "yes";
    return;
  }
  const play = () => { pictures.forEach((picture) => picture.frame()); requestAnimationFrame(play); };
  play();
}

main().catch((error) => {
  document.querySelector("header p").textContent = `This page needs WebAssembly: ${error.message}`;
  throw error;
});
