"""Values of which only the name says that they are the rank."""

import argparse
import re

import torch.distributed as dist
from munch import Munch
from somewhere import gathered_elsewhere, made_elsewhere
from somewhere.distributed import RANK, WORLD_SIZE, get_rank, is_main_process
from transformers import Trainer, TrainerCallback


class Kept(TrainerCallback):
    def __init__(self, trainer):
        self.trainer = trainer

    def on_step_end(self, args, state, control, **kwargs):
        reveal_rank(self.trainer.state.is_world_process_zero)  # revealed: local(rank)
        reveal_rank(self.trainer.is_world_process_zero())  # revealed: local(rank)
        reveal_rank(self.trainer.state.global_step)  # revealed: same


class Named(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        reveal_rank(is_main_process())  # revealed: local(rank)
        reveal_rank(get_rank())  # revealed: local(rank)
        reveal_rank(get_rank(loss))  # revealed: unknown
        # A result of a search in a text that contains the rank may be another part of it.
        reveal_rank(re.search(r"step_(\d+)", f"step_100_rank_{get_rank()}.pt"))  # revealed: unknown
        reveal_rank(re.search(r"step_(\d+)", f"{loss}"))  # revealed: local(data)
        reveal_rank(RANK)  # revealed: local(rank)
        stop = loss
        if WORLD_SIZE > 1:
            stop = self.accelerator.gather(stop)
        reveal_rank(stop)  # revealed: same

        options = argparse.ArgumentParser().parse_args()
        reveal_rank(options.local_rank)  # revealed: local(rank)
        reveal_rank(options.rank)  # revealed: unknown
        known, others = argparse.ArgumentParser().parse_known_args()
        reveal_rank(known.local_rank)  # revealed: local(rank)
        reveal_rank(known.epochs)  # revealed: same
        reveal_rank(others)  # revealed: same

        metrics = {"{}/loss".format(options.split): self.accelerator.gather(loss), "what": something(loss)}
        reveal_rank(metrics["{}/loss".format(options.split)])  # revealed: same
        return loss


def of_settings(settings):
    config = Munch(settings)
    reveal_rank(config.is_main_process)  # revealed: local(rank)
    reveal_rank(config.local_rank)  # revealed: local(rank)
    reveal_rank(config.LOCAL_RANK)  # revealed: local(rank)
    reveal_rank(config.RANK)  # revealed: unknown
    reveal_rank(config.epochs)  # revealed: unknown
    reveal_rank(config["epochs"])  # revealed: unknown
    reveal_rank(config.gpu_id in {0, "cpu"})  # revealed: local(rank)
    reveal_rank(config.gpu_id in ("cpu", 0))  # revealed: local(rank)
    reveal_rank(config.gpu_id in {"cpu", "cuda"})  # revealed: unknown
    reveal_rank(config.gpu_id in {0, 3})  # revealed: unknown


def of_items(config, records):
    reveal_rank(config["local_rank"] == 0)  # revealed: local(rank)
    reveal_rank(config["train"]["LOCAL_RANK"])  # revealed: local(rank)
    reveal_rank(config.train["LOCAL_RANK"])  # revealed: local(rank)
    reveal_rank(config["rank"])  # revealed: unknown
    for record in records:
        reveal_rank(record["local_rank"])  # revealed: unknown


def of_groups(made):
    reveal_rank(dist.group.WORLD.rank())  # revealed: local(rank)
    reveal_rank(dist.new_group([0, 1]).rank())  # revealed: local(rank)
    reveal_rank(made.rank())  # revealed: unknown


def of_parameters(local_rank=None, rank=None, first_local_rank=0):
    reveal_rank(local_rank)  # revealed: local(rank)
    reveal_rank(local_rank is None or local_rank == 0)  # revealed: local(rank)
    reveal_rank(rank)  # revealed: unknown
    reveal_rank(first_local_rank)  # revealed: unknown


of_settings(None)
of_items(made_elsewhere(), gathered_elsewhere())
of_groups(None)
