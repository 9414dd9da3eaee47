"""sb3-contrib, skrl, pfrl, tianshou parts: agents on a small environment."""

import warnings

import gymnasium as gym
import numpy as np
from sb3_contrib import ARS, QRDQN, TQC, TRPO, RecurrentPPO

warnings.filterwarnings("ignore")
for cls, env, more in (
    (TRPO, "CartPole-v1", {"n_steps": 64, "batch_size": 32}),
    (QRDQN, "CartPole-v1", {"learning_starts": 20, "train_freq": 4}),
    (TQC, "Pendulum-v1", {"learning_starts": 20, "policy_kwargs": {"net_arch": [16]}}),
    (RecurrentPPO, "CartPole-v1", {"n_steps": 32, "batch_size": 16, "n_epochs": 2}),
    (ARS, "CartPole-v1", {"n_delta": 2}),
):
    policy = "MlpLstmPolicy" if cls is RecurrentPPO else "MlpPolicy"
    agent = cls(policy, gym.make(env), seed=1, device="cpu", verbose=0, **more)
    agent.learn(128)
    total = sum(p.double().abs().sum().item() for p in agent.policy.parameters())
    print(
        cls.__name__,
        f"{total:.5f}",
        agent.predict(np.zeros(agent.observation_space.shape, "float32"), deterministic=True)[0],
    )
