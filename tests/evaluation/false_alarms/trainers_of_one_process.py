# Lightning's Trainer starts a process per device where its arguments say that there are several: each runs the program.
import os

import lightning as L
import pytorch_lightning as pl
from pytorch_lightning.strategies import DDPStrategy


def on_four():
    L.Trainer(devices=4)
    os.makedirs("four")  # expect: TRL008


def by_strategy():
    pl.Trainer(gpus=2, accelerator="ddp")
    os.makedirs("strategy")  # expect: TRL008


def by_class():
    pl.Trainer(strategy=DDPStrategy(find_unused_parameters=True), devices=-1)
    os.makedirs("class")  # expect: TRL008


def by_nodes():
    pl.Trainer(strategy="ddp", devices=1, num_nodes=2)
    os.makedirs("nodes")  # expect: TRL008


def by_number(args):
    L.Trainer(devices=args.devices)
    os.makedirs("number")


def by_one_way(args):
    strategy = "ddp" if args.gpus > 1 else None
    pl.Trainer(gpus=args.gpus, strategy=strategy)
    os.makedirs("way")  # expect: TRL008


def by_no_way(args):
    strategy = "dp" if args.gpus > 1 else None
    pl.Trainer(gpus=args.gpus, strategy=strategy)
    os.makedirs("no way")


def by_default():
    L.Trainer(max_epochs=10)
    os.makedirs("default")  # expect: TRL008


def on_cpu():
    L.Trainer(max_epochs=10, accelerator="cpu")
    os.makedirs("cpu")


def of_old_by_number():
    pl.Trainer(devices=2)
    os.makedirs("old number")


def on_one():
    pl.Trainer(devices=1, strategy="ddp")
    os.makedirs("one")


def threads_for_all():
    pl.Trainer(gpus=2, strategy="dp")
    os.makedirs("threads")


def started_for_the_fit_alone():
    pl.Trainer(devices=2, strategy="ddp_spawn")
    os.makedirs("spawned")


def of_old():
    pl.Trainer(gpus=2)  # "ddp_spawn" before 2.0
    os.makedirs("old")


def by_settings(settings):
    L.Trainer(**settings)
    os.makedirs("settings")  # expect: TRL008
