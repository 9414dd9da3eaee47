"""TD3, DDPG and OurDDPG of the checkout on a replay buffer of random transitions."""

import DDPG
import numpy as np
import OurDDPG
import TD3
import torch
import utils

buffer = utils.ReplayBuffer(3, 1)
for _ in range(300):
    s = np.random.randn(3)
    a = np.random.uniform(-1, 1, 1)
    buffer.add(s, a, s + 0.1 * a, float(-(s[0] ** 2)), float(np.random.rand() < 0.1))
for name, kind in (("TD3", TD3.TD3), ("DDPG", DDPG.DDPG), ("OurDDPG", OurDDPG.DDPG)):
    torch.manual_seed(1)
    agent = kind(state_dim=3, action_dim=1, max_action=1.0)
    for _ in range(8):
        agent.train(buffer, 32)
    agent.save("kept")
    agent.load("kept")
    print(
        name,
        agent.select_action(np.ones(3)).tolist(),
        f"{sum(float(p.double().abs().sum()) for p in agent.critic.parameters()):.4f}",
    )
