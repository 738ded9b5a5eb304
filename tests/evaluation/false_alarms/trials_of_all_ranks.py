"""A trial of Optuna that all ranks ask, and the one of the first rank inside it."""

import os
from functools import partial

import optuna
import torch
import torch.distributed as dist
from optuna.integration import TorchDistributedTrial
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def accuracy_of(model, rows, is_shared):
    model.eval()
    hits = torch.zeros(2, device="cuda")
    with torch.no_grad():
        for x, y in DataLoader(rows, sampler=DistributedSampler(rows)):
            hits[0] += (model(x).argmax(-1) == y).sum()
            hits[1] += len(y)
    if is_shared:
        dist.all_reduce(hits)
    return (hits[0] / hits[1]).item()


def right(single_trial, rows):
    trial = TorchDistributedTrial(single_trial)
    model = DistributedDataParallel(torch.nn.Linear(trial.suggest_int("width", 8, 64), 2).cuda())
    for epoch in range(trial.suggest_categorical("epochs", [1, 2])):
        trial.report(accuracy_of(model, rows, True), epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), f"{trial.number}.pt")
        single_trial.set_user_attr("path", f"{trial.number}.pt")
    trial.set_user_attr("done", True)


def of_own_rows(single_trial, rows):
    trial = TorchDistributedTrial(single_trial)
    model = DistributedDataParallel(torch.nn.Linear(8, 2).cuda())
    trial.report(accuracy_of(model, rows, False), 0)  # expect: TRL003


def asked_by_one(single_trial, rows):
    trial = TorchDistributedTrial(single_trial)
    if dist.get_rank() == 0 and trial.should_prune():  # expect: TRL006
        raise optuna.TrialPruned()
    if dist.get_rank() == 0:
        trial.set_user_attr("rows", len(rows))  # expect: TRL006


def search_by_name(rows):
    objective = partial(right, rows=rows)
    if dist.get_rank() == 0:
        optuna.create_study().optimize(objective, n_trials=9)
    else:
        for _ in range(9):
            objective(None)


def run_study(objective):
    optuna.create_study().optimize(objective, n_trials=9)


def search_and_return(rows):
    if dist.get_rank() == 0:
        run_study(lambda trial: right(trial, rows))
        return
    for _ in range(9):
        right(None, rows)


def main(rows):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if dist.get_rank() == 0:
        study = optuna.create_study()
        study.optimize(partial(right, rows=rows), n_trials=9)
        study.optimize(lambda trial: right(trial, rows), n_trials=9)
    else:
        for _ in range(18):
            right(None, rows)
    search_by_name(rows)
    search_and_return(rows)
    right(None, rows)
    of_own_rows(None, rows)
    asked_by_one(None, rows)


main(torch.load("rows.pt"))
