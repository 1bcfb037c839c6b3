"""A program with many small calls, whose overhead ``overhead.py`` measures: reinforcement learning as PPO does it."""

from __future__ import annotations

import time
from typing import Any


def train(steps: int) -> tuple[list[int], float]:
    """Train; returns the nanoseconds of each step, and the sum of losses.

    A step is a rollout of 32 actions, and four updates of a small policy.
    """
    import numpy as np
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    layers = (nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))
    policy = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
    world = np.random.default_rng(0)
    spent, total = [], 0.0
    for _ in range(steps):
        start = time.perf_counter_ns()
        rollout = _rollout(policy, world, device)
        gains = torch.from_numpy(world.random(256, dtype=np.float32)).to(device)
        for _ in range(4):
            loss = _loss(policy, *rollout, gains)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
            total += loss.item()
        spent.append(time.perf_counter_ns() - start)
    return spent, total


def _rollout(policy: Any, world: Any, device: Any) -> tuple[Any, Any, Any]:
    import numpy as np
    import torch
    from torch.distributions import Normal

    states, actions, odds = [], [], []
    for _ in range(32):
        state = torch.from_numpy(world.random((8, 8), dtype=np.float32)).to(device)
        with torch.no_grad():
            chosen = Normal(policy(state), 1.0)
            action = chosen.sample()
            odds.append(chosen.log_prob(action).sum(-1))
        states.append(state)
        actions.append(action)
        action.cpu().numpy()
    return torch.cat(states), torch.cat(actions), torch.cat(odds)


def _loss(policy: Any, states: Any, actions: Any, before: Any, gains: Any) -> Any:
    import torch
    from torch.distributions import Normal

    ratio = (Normal(policy(states), 1.0).log_prob(actions).sum(-1) - before).exp()
    return -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
