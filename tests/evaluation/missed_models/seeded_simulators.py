# What a simulator gives whose seed is made of the rank is drawn in another way on each rank, whatever comes after it.
import gymnasium as gym
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def learn(net, rank, steps):
    policy = DDP(net)
    env = gym.make("Hopper-v5")
    env.reset(seed=7 + rank)
    won = 0.0
    for _ in range(steps):
        seen, reward, ended, cut, _ = env.step(env.action_space.sample())
        won += reward
        if ended or cut:
            env.reset()
            policy(torch.as_tensor(seen)).mean().backward()  # expect: TRL006


def learn_until(net, rank, steps):
    policy = DDP(net)
    env = gym.make("Hopper-v5")
    env.seed(7 + rank)
    seen, won = env.reset(), 0.0
    for _ in range(steps):
        seen, reward, *_ = env.step(env.action_space.sample())
        policy(torch.as_tensor(seen)).mean().backward()
        won += reward
        if won > 100:
            break  # expect: TRL006


def learn_together(net, rank, steps):
    policy = DDP(net)
    env = gym.make("Hopper-v5")
    env.reset(seed=7 + rank)
    for _ in range(steps):
        seen, reward, ended, cut, _ = env.step(env.action_space.sample())
        policy(torch.as_tensor(seen)).mean().backward()
        if ended or cut:
            env.reset()
        won = torch.tensor(reward, device="cuda")
        dist.all_reduce(won)
        if won.item() > 100:
            break


def seeded_anew(net, rank, steps, seed):
    policy = DDP(net)
    env = gym.make("Hopper-v5")
    env.reset(seed=7 + rank)
    env.reset(seed=seed)
    for _ in range(steps):
        seen, _, ended, *_ = env.step(0)
        policy(torch.as_tensor(seen)).mean().backward()
        if ended:
            break


def seeded_anew_by_its_method(net, rank, steps):
    policy = DDP(net)
    env = gym.make("Hopper-v5")
    env.seed(7 + rank)
    env.seed(3)
    for _ in range(steps):
        seen, _, ended, *_ = env.step(0)
        policy(torch.as_tensor(seen)).mean().backward()
        if ended:
            break


def reset_without_a_seed(net, rank, steps):
    policy = DDP(net)
    env = gym.make("Hopper-v5")
    env.reset(seed=7 + rank)
    env.reset(seed=None)
    for _ in range(steps):
        seen, _, ended, *_ = env.step(0)
        policy(torch.as_tensor(seen)).mean().backward()
        if ended:
            break  # expect: TRL006


def learn_alike(net, steps):
    policy = DDP(net)
    env = gym.make("Hopper-v5")
    env.reset(seed=7)
    for _ in range(steps):
        seen, _, ended, *_ = env.step(0)
        policy(torch.as_tensor(seen)).mean().backward()
        if ended:
            break


def main(net, steps):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    learn(net, rank, steps)
    learn_until(net, rank, steps)
    learn_together(net, rank, steps)
    seeded_anew(net, rank, steps, 3)
    seeded_anew_by_its_method(net, rank, steps)
    reset_without_a_seed(net, rank, steps)
    learn_alike(net, steps)
