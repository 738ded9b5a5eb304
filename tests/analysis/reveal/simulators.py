"""Simulators: what they give for a seed and for actions, which is a rank's own if these are."""

import gymnasium as gym
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader

rank = dist.get_rank()
env = gym.make("Hopper-v5")
seen, _ = env.reset(seed=7)
reveal_rank(seen)  # revealed: unknown
reveal_rank(env.step(0))  # revealed: unknown
seen, _ = env.reset(seed=7 + rank)
reveal_rank(seen)  # revealed: local(rank, rng)
seen, reward, ended, cut, found = env.step(choose(seen))
reveal_rank(reward)  # revealed: local(rank, rng)
other_env = gym.make("Hopper-v5")
_, reward, *_ = other_env.step(2 * env.reset(seed=rank)[0])
reveal_rank(reward)  # revealed: local(rank, rng)
reveal_rank(other_env.step(0))  # revealed: unknown
reveal_rank(env.observation_space.shape[0])  # revealed: unknown
reveal_rank(game.step(rank))  # revealed: unknown

for seed in range(rank, 9, dist.get_world_size()):
    reveal_rank(other_env.reset(seed=seed))  # revealed: local(data, rank)
    reveal_rank(other_env.reset(seed=3))  # revealed: unknown

for batch in Accelerator().prepare(DataLoader(load())):
    reveal_rank(other_env.step(batch["action"].float()))  # revealed: shard
