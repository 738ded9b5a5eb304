# A setting is switched off just before it is asked whether to start a group: there is one process.
import configparser
from pathlib import Path

import torch
import torch.distributed as dist
import yaml
from torch import nn


def read(path):
    config = configparser.RawConfigParser()
    config.read(path)
    return config


def probe(path, gpus):
    config = read(path)
    config.set("distributed", "use", False)
    if config.getboolean("distributed", "use") and len(gpus) > 1:
        dist.init_process_group("nccl")
        config.set("distributed", "count", len(gpus))
    torch.save(nn.Linear(2, 2).state_dict(), config.get("output", "probe"))


def train(path, gpus):
    config = read(path)
    config.set("output", "use", False)
    if config.getboolean("distributed", "use") and len(gpus) > 1:
        dist.init_process_group("nccl")
    torch.save(nn.Linear(2, 2).state_dict(), config.get("output", "model"))  # expect: TRL008


def probe_by_fields(args):
    args.distributed = False
    if not args.quick and args.distributed:
        dist.init_process_group("nccl")
    torch.save(nn.Linear(2, 2).state_dict(), "probe.pt")


def train_by_fields(args, parse):
    args.distributed = False
    parse(args)
    if not args.quick and args.distributed:
        dist.init_process_group("nccl")
    torch.save(nn.Linear(2, 2).state_dict(), "model.pt")  # expect: TRL008


def probe_by_keys(path):
    config = yaml.safe_load(Path(path).read_text())
    config["job"]["parallel"] = False
    if config["job"]["parallel"]:
        dist.init_process_group("nccl")
    torch.save(nn.Linear(2, 2).state_dict(), "probe.pt")


def train_by_keys(path, gpus):
    config = yaml.safe_load(Path(path).read_text())
    config["job"]["parallel"] = False
    if len(gpus) > 1:
        config["job"]["parallel"] = True
    if config["job"]["parallel"]:
        dist.init_process_group("nccl")
    torch.save(nn.Linear(2, 2).state_dict(), "model.pt")  # expect: TRL008


def train_by_other_keys(path):
    config = yaml.safe_load(Path(path).read_text())
    config["job"]["parallel"] = False
    config["job"] = yaml.safe_load(Path(path).with_suffix(".job").read_text())
    if config["job"]["parallel"]:
        dist.init_process_group("nccl")
    torch.save(nn.Linear(2, 2).state_dict(), "model.pt")  # expect: TRL008


def train_by_handled(args, started):
    args.distributed = False
    try:
        args.distributed = started()
        args.check()
    except ValueError:
        if args.distributed:
            dist.init_process_group("nccl")
    torch.save(nn.Linear(2, 2).state_dict(), "model.pt")  # expect: TRL008
