"""sb3-contrib: four agents that learn for 128 steps."""

import numpy as np
from sb3_contrib import QRDQN, TQC, TRPO, RecurrentPPO

for kind, environment, options in (
    (TRPO, "CartPole-v1", {"n_steps": 64, "batch_size": 32}),
    (RecurrentPPO, "CartPole-v1", {"n_steps": 32, "batch_size": 16, "n_epochs": 1}),
    (QRDQN, "CartPole-v1", {"learning_starts": 50, "buffer_size": 500}),
    (TQC, "Pendulum-v1", {"learning_starts": 50, "buffer_size": 500}),
):
    policy = "MlpLstmPolicy" if kind is RecurrentPPO else "MlpPolicy"
    agent = kind(policy, environment, seed=0, device="cpu", **options)
    agent.learn(128)
    print(f"{kind.__name__} {sum(p.double().abs().sum().item() for p in agent.policy.parameters()):.3f}")
    start = np.zeros(agent.observation_space.shape, np.float32)
    print(agent.predict(start, deterministic=True)[0])
