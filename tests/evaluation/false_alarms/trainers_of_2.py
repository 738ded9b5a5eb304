# Since 2.0 several devices are several processes that all run the program.
import os

import pytorch_lightning as pl


def on_four():
    pl.Trainer(devices=4, accelerator="gpu")
    os.makedirs("four")  # expect: TRL008


def by_auto():
    pl.Trainer(devices=4, strategy="auto")
    os.makedirs("auto")  # expect: TRL008


def by_default():
    pl.Trainer(accelerator="auto")  # all GPUs; nothing in this file says that there are several
    os.makedirs("default")


def by_name(args):
    pl.Trainer(devices=2, strategy=args.name)
    os.makedirs("name")
