"""Control by value iteration on the conditional mean embedding, in numbers.

1. Pendulum-v1 from 20 stages of 400 steps (Hou, Sanjari, Dahlin, Koppel and Bose, "Nonparametric
   sparse online learning of the Koopman operator", 2024, section 6.2), by recursive least squares
   and by stochastic gradient: the kept policy over 200 held-out episodes, stored points, time of
   one core; beside it dynamic programming with the true dynamics on a fine grid, and random
   actions.
2. The median return after each stage.
3. MountainCarContinuous-v0, which counts as solved at a return of 90.
4. The time of a decision and of an improvement.

Every figure is the median over seeds, with the range. "check" compares it with the stated
bound; the exit code is 1 if any check fails.

    python benchmarks control pendulum [--seeds 5] [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from koopman.tables import Checks, spread
from report import Report
from sklearn.base import clone
from streams import FloatArray

import kernelstream as ks
from kernelstream.control import EmbeddingValueIteration, Training, evaluate, train
from kernelstream.demos.pendulum import cost

PENDULUM, CAR = "Pendulum-v1", "MountainCarContinuous-v0"
FRESH = 200  # episodes that judge a policy, the same for all of one seed
STAGES, STEPS = 20, 400
CAR_STAGES, CAR_STEPS, CAR_HOLD = 10, 400, 8


def by_gradient(seed: int) -> ks.Koopman:
    """Ten shuffled passes over each stage, with a step that falls to a thirtieth."""
    return ks.Koopman(
        ks.Gaussian(0.3),
        ks.ALD(0.035, max_size=600),
        ks.Replay(
            ks.Gradient(
                "half_squared",
                step=1.0,
                schedule={"power": {"half_life": 4000.0, "exponent": 1.1}},
                regularization=1e-5,
            ),
            STEPS,
            passes=10,
            random_state=seed,
        ),
        n_inputs=1,
        input_kernel=ks.Gaussian(1.5),
    )


def by_sparse_gradient(seed: int) -> ks.Koopman:
    """The same, with the dictionaries filled by the loss of a step, as in the paper."""
    rule = ks.HilbertSchmidt(0.08, power=1, max_size=600, pivot_floor=1e-5)
    return by_gradient(seed).set_params(basis=rule)


LEARNERS: dict[str, Callable[[int], ks.Koopman | None]] = {
    "least squares (default)": lambda _: None,
    "gradient": by_gradient,
    "gradient, pairs by loss": by_sparse_gradient,
}


@dataclass
class Run:
    """One seed."""

    controller: EmbeddingValueIteration
    training: Training
    returns: FloatArray
    seconds: float

    @property
    def median(self) -> float:
        return float(np.median(self.returns))


def run(
    env: str,
    controller: EmbeddingValueIteration,
    seed: int,
    stages: int,
    steps: int,
    hold: int = 1,
) -> Run:
    begun = time.process_time()
    training = train(env, controller, stages=stages, steps=steps, hold=hold, seed=seed)
    seconds = time.process_time() - begun
    returns = evaluate(env, controller, FRESH, hold=hold, seed=10_000 + seed)
    return Run(controller, training, returns, seconds)


# ------------------------------------------------------------------------------------ references


class DynamicProgramming:
    """Value iteration with the true dynamics of Pendulum-v1, interpolated on a grid."""

    def __init__(self, angles: int = 181, speeds: int = 121, torques: int = 17) -> None:
        self.angle = np.linspace(-np.pi, np.pi, angles)
        self.speed = np.linspace(-8.0, 8.0, speeds)
        self.torque = np.linspace(-2.0, 2.0, torques)
        self.discount = 0.99
        grid = np.stack(np.meshgrid(self.angle, self.speed, indexing="ij"), -1).reshape(-1, 2)
        costs, corners, shares = self.ahead(grid)
        values = np.zeros(len(grid))
        for _ in range(2000):
            swept = (costs + self.discount * (values[corners] * shares).sum(-1)).min(axis=1)
            change, values = np.abs(swept - values).max(), swept
            if change < 1e-3:
                break
        self.values = values

    def ahead(self, states: FloatArray) -> tuple[FloatArray, np.ndarray, FloatArray]:
        """Costs (n, torques), and the grid points around each next state with their shares."""
        angle, speed = states[:, :1], states[:, 1:]
        wrapped = (angle + np.pi) % (2 * np.pi) - np.pi
        costs = wrapped**2 + 0.1 * speed**2 + 0.001 * self.torque**2
        speed = np.clip(speed + (15.0 * np.sin(angle) + 3.0 * self.torque) * 0.05, -8.0, 8.0)
        angle = (angle + 0.05 * speed + np.pi) % (2 * np.pi) - np.pi
        i, di = _place(angle, self.angle)
        j, dj = _place(speed, self.speed)
        n = len(self.speed)
        corners = np.stack([i * n + j, i * n + j + 1, (i + 1) * n + j, (i + 1) * n + j + 1], -1)
        shares = np.stack([(1 - di) * (1 - dj), (1 - di) * dj, di * (1 - dj), di * dj], -1)
        return costs, corners, shares

    def __call__(self, observation: FloatArray) -> FloatArray:
        angle = np.arctan2(observation[1], observation[0])
        costs, corners, shares = self.ahead(np.array([[angle, observation[2]]], dtype=np.float64))
        ahead = costs + self.discount * (self.values[corners] * shares).sum(-1)
        return self.torque[[int(ahead[0].argmin())]]


def _place(values: FloatArray, points: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """The grid point below each value, and how far it is towards the next."""
    at = (values - points[0]) / (points[1] - points[0])
    below = np.clip(at.astype(np.int64), 0, len(points) - 2)
    return below, np.clip(at - below, 0.0, 1.0)


# ---------------------------------------------------------------------------------------- tables


def pendulum(report: Report, checks: Checks, seeds: range, stages: int) -> None:
    report.heading(f"Pendulum-v1: {stages} stages of {STEPS} steps, {len(seeds)} seeds")
    runs = {
        name: [
            run(
                PENDULUM,
                EmbeddingValueIteration.for_environment(PENDULUM, cost, model=make(seed)),
                seed,
                stages,
                STEPS,
            )
            for seed in report.track(seeds, name)
        ]
        for name, make in LEARNERS.items()
    }
    columns = [
        "policy",
        f"median return, {FRESH} held-out episodes",
        "mean return",
        "seeds above -200",
        "check: all but one",
        "stored: states with actions",
        "next states",
        "check: at most 600",
        "s of one core",
        "check: at most 60",
    ]
    rows = []
    for name, of_seeds in runs.items():
        good = sum(r.median > -200 for r in of_seeds)
        stored = [r.controller.n_stored_ for r in of_seeds]
        next_states = [r.controller.n_stored_next_ for r in of_seeds]
        seconds = [r.seconds for r in of_seeds]
        rows.append(
            [
                name,
                spread([r.median for r in of_seeds], 0),
                spread([r.returns.mean() for r in of_seeds], 0),
                f"{good} of {len(seeds)}",
                checks.within(good, least=len(seeds) - 1),
                spread(stored, 0),
                spread(next_states, 0),
                checks.within(max(map(sum, zip(stored, next_states, strict=True))), most=600),
                spread(seconds, 1),
                checks.within(max(seconds), most=60.0),
            ]
        )
    reference = DynamicProgramming()
    rng = np.random.default_rng(0)
    for name, act in (
        ("dynamic programming", reference),
        ("random actions", lambda _: rng.uniform(-2.0, 2.0, 1)),
    ):
        played = [evaluate(PENDULUM, act, FRESH, seed=10_000 + seed) for seed in seeds]
        medians, means = [np.median(p) for p in played], [p.mean() for p in played]
        rows.append([name, spread(medians, 0), spread(means, 0)] + [""] * 7)
    report.table(columns, rows)
    report.remark(
        "Dynamic programming uses the true dynamics: 181 x 121 states, 17 torques, discount 0.99. "
        "The time includes the 20 episodes after each stage that select the policy to keep and "
        "are not learned from."
    )
    report.heading("Median return after each stage (20 episodes; median over seeds, and range)")
    shown = [stage for stage in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20) if stage <= stages]
    curves = []
    for stage in shown:
        cells = [
            spread([r.training.medians[stage - 1] for r in of_seeds], 0)
            for of_seeds in runs.values()
        ]
        best = [
            spread([r.training.medians[:stage][_best(r.training, stage)] for r in of_seeds], 0)
            for of_seeds in runs.values()
        ]
        curves.append([str(stage), *[c for pair in zip(cells, best, strict=True) for c in pair]])
    names = [c for name in runs for c in (name, "best so far")]
    report.table(["stage", *names], curves)


def _best(training: Training, stage: int) -> int:
    """The stage, from 0, whose policy was kept after this many."""
    return max(i for i, best in enumerate(training.best[:stage]) if best)


def car(report: Report, checks: Checks, seeds: range, stages: int) -> None:
    report.heading(f"{CAR}: {stages} stages of {CAR_STEPS} steps, {len(seeds)} seeds")
    runs = []
    for seed in report.track(seeds, "car"):
        controller = EmbeddingValueIteration.for_environment(
            CAR, lambda _, U: 1.0 + 0.1 * U[:, 0] ** 2, n_actions=5
        )
        runs.append(run(CAR, controller, seed, stages, CAR_STEPS, CAR_HOLD))
    reached = [float((r.returns > 0.0).mean()) for r in runs]
    good = sum(r.median > 90.0 for r in runs)
    report.table(
        [
            "median return",
            "episodes that reach the goal",
            "seeds above 90",
            "check: all but one",
            "stored: states with actions",
            "next states",
            "s of one core",
        ],
        [
            [
                spread([r.median for r in runs], 1),
                spread(reached, 2),
                f"{good} of {len(seeds)}",
                checks.within(good, least=len(seeds) - 1),
                spread([r.controller.n_stored_ for r in runs], 0),
                spread([r.controller.n_stored_next_ for r in runs], 0),
                spread([r.seconds for r in runs], 1),
            ]
        ],
    )
    report.remark(
        f"Each action is held for {CAR_HOLD} steps of the environment, {CAR_STEPS} decisions per "
        "stage. Cost: 1 per decision until the episode ends at the flag, plus 0.1 times the "
        "squared force. The reward, 100 at the flag minus the squared forces, only selects the "
        "policy that is kept."
    )


def timings(report: Report) -> None:
    report.heading("Time of a decision and of an improvement")
    rng = np.random.default_rng(0)
    angle, speed = rng.uniform(-np.pi, np.pi, 4000), rng.uniform(-8.0, 8.0, 4000)
    torque = rng.uniform(-2.0, 2.0, 4000)
    faster = np.clip(speed + (15.0 * np.sin(angle) + 3.0 * torque) * 0.05, -8.0, 8.0)
    transitions = (
        np.column_stack([np.cos(angle), np.sin(angle), speed]),
        torque,
        np.column_stack([np.cos(angle + 0.05 * faster), np.sin(angle + 0.05 * faster), faster]),
    )
    controller = EmbeddingValueIteration.for_environment(PENDULUM, cost)
    controller.learn(*transitions).improve().keep(0.0)
    state = np.array([1.0, 0.0, 0.0])
    costs = cost(np.tile(state, (9, 1)), controller.actions_)
    many = np.tile(state, (1000, 1))

    def fastest(act: Callable[[], object], times: int) -> float:
        def once() -> float:
            begun = time.process_time()
            for _ in range(times):
                act()
            return (time.process_time() - begun) / times

        return min(once() for _ in range(5))

    scaled = controller._encoding.states(state[None])[0]
    rows = [
        ["act, one state", fastest(lambda: controller.act(state), 500) * 1e6],
        [
            "of these in the core",
            fastest(lambda: controller._core.greedy_one(scaled, costs, True), 500) * 1e6,
        ],
        ["act, each of 1,000 states", fastest(lambda: controller.act(many), 50) * 1e3],
    ]
    for sweeps in (1, 150):
        again = clone(controller).set_params(sweeps=sweeps, tolerance=0.0)
        again.learn(*transitions)
        name = f"improve, {sweeps} sweep{'s' if sweeps > 1 else ''}"
        rows.append([name, fastest(again.improve, 5) * 1e6])
    report.table(
        [f"{controller.n_stored_} + {controller.n_stored_next_} stored, 9 actions", "us"],
        [[name, f"{us:.1f}"] for name, us in rows],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="two seeds, half the stages")
    options = parser.parse_args()
    seeds = range(2 if options.quick else options.seeds)
    report, checks = Report("pendulum"), Checks()
    share = 2 if options.quick else 1
    pendulum(report, checks, seeds, STAGES // share)
    car(report, checks, seeds, CAR_STAGES // share)
    timings(report)
    missed = checks.verdicts.count("NO")
    report.remark(f"{len(checks.verdicts) - missed} checks passed, {missed} failed.")
    report.write()
    return int(missed > 0)
