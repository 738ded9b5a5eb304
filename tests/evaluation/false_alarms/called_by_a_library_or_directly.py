# A function that a library is passed on the first rank and that the other ranks call themselves: all train in it.
from functools import partial

import optuna
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(size):
    model = DistributedDataParallel(torch.nn.Linear(size, 2))
    return model(torch.ones(1, size)).sum().item()


def objective(trial, sizes=(2, 4)):
    size = trial.suggest_categorical("size", sizes) if trial else 2
    return train(size)


def search(rank, trials):
    if rank == 0:
        study = optuna.create_study()
        study.optimize(objective, n_trials=trials)
    else:
        for _ in range(trials):
            objective(None)


def search_among(rank, sizes, trials):
    if rank != 0:
        for _ in range(trials):
            objective(None, sizes)
    else:
        optuna.create_study().optimize(partial(objective, sizes=sizes), n_trials=trials)
        optuna.create_study().optimize(lambda trial: objective(trial, sizes), n_trials=trials)


def report(trial):
    return trial.number


def search_on_the_others(rank, trials):
    if rank == 0:
        optuna.create_study().optimize(report, n_trials=trials)
    else:
        for _ in range(trials):
            objective(None)  # expect: TRL006


def main():
    dist.init_process_group("gloo")
    search(dist.get_rank(), 3)
    search_among(dist.get_rank(), (4, 8), 3)
    search_on_the_others(dist.get_rank(), 3)


if __name__ == "__main__":
    main()
