# What a simulator gives for the seeds of a rank is that rank's own, until the ranks have exchanged it.
import gymnasium as gym
import numpy as np
import torch
import torch.distributed as dist
import wandb

SEEDS = list(range(64))


def play(policy, seeds):
    env = gym.make("Hopper-v5")
    won = []
    for seed in seeds:
        seen, _ = env.reset(seed=seed)
        total, done = 0.0, False
        while not done:
            seen, reward, ended, cut, _ = env.step(policy(torch.as_tensor(seen)))
            total += reward
            done = ended or cut
        won.append(total)
    return won


def show_own(policy, rank, size):
    won = play(policy, SEEDS[rank::size])
    if rank == 0:
        wandb.log({"won": float(np.mean(won))})  # expect: TRL003


def show_all(policy, rank, size):
    parts = [None] * size
    dist.all_gather_object(parts, play(policy, SEEDS[rank::size]))
    if rank == 0:
        wandb.log({"won": float(np.mean([each for part in parts for each in part]))})


def show_of_first(policy, rank):
    if rank == 0:
        wandb.log({"won": float(np.mean(play(policy, SEEDS)))})


def show_drawn(policy, rank):
    env = gym.make("Hopper-v5")
    seen, _ = env.reset(seed=7 + rank)
    _, reward, *_ = env.step(policy(torch.as_tensor(seen)))
    if rank == 0:
        wandb.log({"won": float(reward)})


def main():
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    policy = torch.nn.Linear(11, 3)
    show_own(policy, rank, size)
    show_all(policy, rank, size)
    show_of_first(policy, rank)
    show_drawn(policy, rank)


main()
