// The crate in the browser: numbers go to and fro in one buffer of its memory.

export class Core {
  static async from(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Core(instance.exports);
  }

  constructor(exports) {
    this.exports = exports;
  }

  // Writes numbers where the crate reads them.
  give(numbers) {
    const place = this.exports.room(numbers.length);
    new Float64Array(this.exports.memory.buffer, place, numbers.length).set(numbers);
  }

  // A copy of the numbers that a function has left; none if it has no answer.
  taken(count) {
    if (count < 0) return new Float64Array(0);
    return new Float64Array(this.exports.memory.buffer, this.exports.place(), count).slice();
  }

  beginCurve(scale) { this.exports.begin_curve(scale); }

  learnCurve(points) {
    this.give(points);
    return this.exports.learn_curve(points.length / 2) >= 0;
  }

  predictCurve(x) {
    this.give(x);
    return this.taken(this.exports.predict_curve(x.length));
  }

  storedCurve() { return this.taken(this.exports.stored_curve()); }

  beginMotion(scale) { this.exports.begin_motion(scale); }

  follow(states, continued) {
    this.give(states);
    return this.exports.follow(states.length / 2, continued) >= 0;
  }

  eigenvalues() { return this.taken(this.exports.eigenvalues()); }

  eigenfunction(states, k) {
    this.give(states);
    return this.taken(this.exports.eigenfunction(states.length / 2, k));
  }

  forecast(state, steps) {
    this.give(state);
    return this.taken(this.exports.forecast(steps));
  }

  storedMotion() { return this.taken(this.exports.stored_motion()); }
}
