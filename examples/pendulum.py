"""
A pendulum learns to stand
==========================

The motor is too weak to lift the pendulum at once: it has to swing. What is learned are
transitions, the distribution of the next state given state and torque; a policy follows by value
iteration on the stored states. A stage is 400 steps, twenty seconds of the pendulum's time; after
five of them it stands.
"""

import gymnasium
import matplotlib.pyplot as plt
import numpy as np

from kernelstream.control import EmbeddingValueIteration, train
from kernelstream.plots import CYCLE, style_axes


def cost(X: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Compute what a step costs: the angle from upright, the speed, the torque."""
    return np.arctan2(X[:, 1], X[:, 0]) ** 2 + 0.1 * X[:, 2] ** 2 + 0.001 * U[:, 0] ** 2


controller = EmbeddingValueIteration.for_environment("Pendulum-v1", cost)
training = train("Pendulum-v1", controller, stages=12, steps=400, episodes=10, seed=0)
print(f"stored: {controller.n_stored_} states with torques, {controller.n_stored_next_} next ones")

# %%
# One episode with the policy that was kept, from hanging down.
env = gymnasium.make("Pendulum-v1")
env.reset(seed=0)
env.unwrapped.state = np.array([np.pi, 0.0])
state, angles, torques = np.array([-1.0, 0.0, 0.0]), [], []
for _ in range(150):
    torque = controller.act(state)
    angles.append(np.degrees(np.arctan2(state[1], state[0])))
    torques.append(float(torque[0]))
    state, *_ = env.step(torque.astype(np.float32))

# %%
# Left, what the stages brought (a return of about -130 is as good as it gets). Right, the
# episode.
figure, (returns, episode) = plt.subplots(1, 2, figsize=(10, 4.0), layout="constrained")
returns.fill_between(
    training.n_seen, *np.quantile(training.returns, [0, 1], axis=1), color=CYCLE[0], alpha=0.2
)
returns.plot(training.n_seen, training.medians, color=CYCLE[0])
returns.set(xlabel="steps learned", ylabel="return: median and range of ten episodes")
seconds = 0.05 * np.arange(len(angles))
episode.plot(seconds, np.abs(angles), color=CYCLE[0], label="angle from upright (degrees)")
episode.plot(seconds, 20 * np.array(torques), color=CYCLE[1], linewidth=1, label="torque (x 20)")
episode.set(xlabel="seconds")
episode.legend(frameon=False)
for ax in (returns, episode):
    style_axes(ax, frame=False)
plt.show()
