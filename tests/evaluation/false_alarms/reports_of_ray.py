"""Each worker of Ray Train reports: to keep the others from it makes the first one wait."""

import ray.train
from ray.train.torch import TorchTrainer, prepare_model


def on_all(config):
    model = prepare_model(config["model"])
    for epoch in range(config["epochs"]):
        ray.train.report({"epoch": epoch})
    return model


def with_checkpoint_of_first(config):
    rank = ray.train.get_context().get_world_rank()
    checkpoint = None
    if rank == 0:
        checkpoint = ray.train.Checkpoint.from_directory(config["folder"])
    ray.train.report({"loss": 1.0}, checkpoint=checkpoint)


def in_both_branches(config):
    if ray.train.get_context().get_world_rank() == 0:
        ray.train.report({"loss": 1.0}, checkpoint=ray.train.Checkpoint.from_directory(config["folder"]))
    else:
        ray.train.report({"loss": 1.0})


def now_and_then(config):
    for epoch in range(config["epochs"]):
        if epoch % 10 == 0:
            ray.train.report({"epoch": epoch})


def on_first(config):
    if ray.train.get_context().get_world_rank() == 0:
        ray.train.report({"loss": 1.0})  # expect: TRL006


for train in (on_all, with_checkpoint_of_first, in_both_branches, now_and_then, on_first):
    TorchTrainer(train).fit()
