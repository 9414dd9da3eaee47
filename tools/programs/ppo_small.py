"""PPO-PyTorch: its agent, discrete and continuous, on a small environment of NumPy's."""

import numpy
from PPO import PPO


class Pull:
    """Four numbers that an action pulls at; small ones are rewarded."""

    def __init__(self):
        self.random = numpy.random.RandomState(0)

    def reset(self):
        """A new episode."""
        self.time, self.state = 0, self.random.randn(4).astype(numpy.float32)
        return self.state

    def step(self, action):
        """One step."""
        pull = 0.1 * float(numpy.asarray(action).reshape(-1)[0])
        self.state = numpy.tanh(self.state * 0.9 + pull + 0.05 * self.random.randn(4)).astype(numpy.float32)
        self.time += 1
        return self.state, float(1 - abs(self.state).sum() * 0.2), self.time >= 40


for continuous in (False, True):
    world, total = Pull(), 0.0
    agent = PPO(4, 1 if continuous else 2, 3e-4, 1e-3, 0.99, 8, 0.2, continuous, 0.6)
    for episode in range(12):
        state, done = world.reset(), False
        while not done:
            state, reward, done = world.step(agent.select_action(state))
            agent.buffer.rewards.append(reward)
            agent.buffer.is_terminals.append(done)
            total += reward
        if episode % 3 == 2:
            agent.update()
        if continuous and episode % 6 == 5:
            agent.decay_action_std(0.05, 0.1)
    print(continuous, f"{total:.5f}", *(f"{p.abs().sum().item():.4f}" for p in agent.policy.parameters()))
