"""stable-baselines3: PPO, A2C, DQN, SAC, TD3 for some hundred steps each, saved and loaded."""

import torch
from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3
from stable_baselines3.common.evaluation import evaluate_policy

torch.set_num_threads(1)
small = {"net_arch": [16, 16]}
for kind, env, more, steps in (
    (PPO, "CartPole-v1", {"n_steps": 64, "batch_size": 32, "n_epochs": 3}, 192),
    (A2C, "CartPole-v1", {}, 200),
    (DQN, "CartPole-v1", {"learning_starts": 50, "train_freq": 4}, 300),
    (SAC, "Pendulum-v1", {"learning_starts": 50}, 120),
    (TD3, "Pendulum-v1", {"learning_starts": 50}, 120),
    (DDPG, "Pendulum-v1", {"learning_starts": 50}, 120),
    (A2C, "Pendulum-v1", {"use_sde": True}, 100),
):
    model = kind("MlpPolicy", env, policy_kwargs=dict(small), seed=0, device="cpu", **more).learn(steps)
    model.save("agent")
    loaded = kind.load("agent")
    sums = sum(float(p.double().abs().sum()) for p in loaded.policy.parameters())
    print(
        kind.__name__,
        env,
        f"{sums:.4f}",
        evaluate_policy(loaded, loaded.get_env() or model.get_env(), 2)[0] < 1e9,
    )
