"""Loaders that code out of sight makes of a sampler that gives each rank its own rows."""

from hydra.utils import instantiate
from torch.utils.data import DistributedSampler, RandomSampler


def built_of_settings(cfg, rows):
    loader = instantiate(cfg.data, dataset=rows, sampler=DistributedSampler(rows))
    for batch in loader:
        reveal_rank(batch["x"])  # revealed: shard
    for batch in instantiate(cfg.train.dataloader, dataset=rows, sampler=DistributedSampler(rows)):
        reveal_rank(batch["x"])  # revealed: shard


def chosen_by_name(name, rows):
    for batch in LOADERS[name](rows, batch_sampler=DistributedSampler(rows)):
        reveal_rank(batch["x"])  # revealed: shard


def of_another_sampler(cfg, rows):
    loader = instantiate(cfg.data, dataset=rows, sampler=RandomSampler(rows))
    for batch in loader:
        reveal_rank(batch["x"])  # revealed: unknown


def of_a_sampler_that_is_not_known(cfg, rows, sampler):
    loader = instantiate(cfg.data, dataset=rows, sampler=sampler)
    for batch in loader:
        reveal_rank(batch["x"])  # revealed: unknown


def not_known_to_be_a_loader(cfg, rows):
    steps = instantiate(cfg.trainer, dataset=rows, sampler=DistributedSampler(rows))
    for step in steps:
        reveal_rank(step["x"])  # revealed: unknown


def of_all_rows_on_each_rank(cfg, rows):
    loader = instantiate(cfg.data, dataset=rows, sampler=DistributedSampler(rows, num_replicas=1, rank=0))
    for batch in loader:
        reveal_rank(batch["x"])  # revealed: unknown


def several_at_once(cfg, rows):
    train_loader, valid_loader = instantiate(cfg.loader, rows=rows, sampler=DistributedSampler(rows))
    for batch in valid_loader:
        reveal_rank(batch["x"])  # revealed: unknown


def told_of_a_loader(cfg, rows, fit):
    for score in fit(cfg.loader, sampler=DistributedSampler(rows)):
        reveal_rank(score["x"])  # revealed: unknown
