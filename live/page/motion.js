// A ball with friction in two valleys: x'' = x - x^3 - friction x' (Duffing).

const FRICTION = 0.5, FINE = 0.02;
export const STEP = 0.2;

function slope([x, v]) {
  return [v, x - x ** 3 - FRICTION * v];
}

// The state some time later, by Runge and Kutta's fourth-order rule.
export function next(state, time = STEP) {
  let s = state;
  for (let t = 0; t < time - FINE / 2; t += FINE) {
    const along = (k, h) => [s[0] + h * k[0], s[1] + h * k[1]];
    const a = slope(s), b = slope(along(a, FINE / 2)), c = slope(along(b, FINE / 2)), d = slope(along(c, FINE));
    s = [0, 1].map((i) => s[i] + (FINE / 6) * (a[i] + 2 * b[i] + 2 * c[i] + d[i]));
  }
  return s;
}

// A trajectory from a state, so many states long.
export function thrown(state, count) {
  const states = [state];
  while (states.length < count) states.push(next(states[states.length - 1]));
  return states;
}

// Numbers from 0 to 1 that are the same for the same seed (mulberry32).
export function random(seed) {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
