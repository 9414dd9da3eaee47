"""pfrl: a double DQN, a soft actor-critic and PPO on a small world of their own; losses and returns."""

import gymnasium
import numpy as np
import pfrl
import torch
from torch import distributions, nn


class Line:
    """A point on a line that is to come to 0; `discrete`: it is pushed left, not at all or right."""

    def __init__(self, discrete: bool) -> None:
        self.discrete, self.random = discrete, np.random.RandomState(0)
        low, high = np.full(2, -3, np.float32), np.full(2, 3, np.float32)
        self.observation_space = gymnasium.spaces.Box(low, high)

    def reset(self) -> np.ndarray:
        self.state, self.steps = self.random.uniform(-1, 1, 2).astype(np.float32), 0
        return self.state.copy()

    def step(self, action) -> tuple[np.ndarray, float, bool, dict]:
        push = float(action) - 1 if self.discrete else float(np.clip(action[0], -1, 1))
        speed = 0.9 * self.state[1] + 0.1 * push
        self.state = np.array([self.state[0] + 0.1 * speed, speed], np.float32)
        self.steps += 1
        return self.state.copy(), -abs(float(self.state[0])), self.steps >= 40, {}


def trained(agent, env: Line, episodes: int) -> None:
    """Acts and learns; prints returns and what the agent says of itself."""
    for episode in range(episodes):
        state, total, done = env.reset(), 0.0, False
        while not done:
            action = agent.act(state)
            state, reward, done, _ = env.step(action)
            total += reward
            agent.observe(state, reward, done, done)
        told = [(k, round(float(v), 4)) for k, v in agent.get_statistics() if np.isfinite(v)]
        print(episode, f"{total:.4f}", told)


def layers(inputs: int, outputs: int) -> nn.Sequential:
    """A small net."""
    return nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, outputs))


pfrl.utils.set_random_seed(0)
torch.manual_seed(0)
values = nn.Sequential(layers(2, 3), pfrl.q_functions.DiscreteActionValueHead())
explorer = pfrl.explorers.ConstantEpsilonGreedy(0.3, lambda: np.random.randint(3))
double = pfrl.agents.DoubleDQN(
    values,
    torch.optim.Adam(values.parameters(), 1e-2),
    pfrl.replay_buffers.PrioritizedReplayBuffer(500),
    0.95,
    explorer,
    replay_start_size=32,
    target_update_interval=20,
    minibatch_size=16,
)
trained(double, Line(True), 3)


def squashed(x: torch.Tensor) -> distributions.Distribution:
    """Normal numbers, squashed."""
    mean, log = torch.chunk(x, 2, dim=1)
    normal = distributions.Independent(distributions.Normal(mean, log.clamp(-5, 2).exp()), 1)
    return distributions.TransformedDistribution(
        normal, [distributions.transforms.TanhTransform(cache_size=1)]
    )


torch.manual_seed(1)
policy = nn.Sequential(layers(2, 2), pfrl.nn.lmbda.Lambda(squashed))
critics = [nn.Sequential(pfrl.nn.ConcatObsAndAction(), layers(3, 1)) for _ in range(2)]
soft = pfrl.agents.SoftActorCritic(
    policy,
    *critics,
    *[torch.optim.Adam(net.parameters(), 3e-3) for net in (policy, *critics)],
    pfrl.replay_buffers.ReplayBuffer(500),
    gamma=0.95,
    replay_start_size=32,
    minibatch_size=16,
    burnin_action_func=lambda: np.random.uniform(-1, 1, 1).astype(np.float32),
    entropy_target=-1,
    temperature_optimizer_lr=3e-3,
)
trained(soft, Line(False), 2)

torch.manual_seed(2)
both = pfrl.nn.Branched(
    nn.Sequential(layers(2, 3), pfrl.policies.SoftmaxCategoricalHead()),
    layers(2, 1),
)
proximal = pfrl.agents.PPO(
    both,
    torch.optim.Adam(both.parameters(), 3e-3, eps=1e-5),
    gpu=None,
    update_interval=40,
    minibatch_size=20,
    epochs=2,
    standardize_advantages=True,
    max_grad_norm=0.5,
)
trained(proximal, Line(True), 3)
