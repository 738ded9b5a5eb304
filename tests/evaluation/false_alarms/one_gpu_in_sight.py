# A program that sees one GPU is one process for Lightning, which starts one per GPU; on several nodes, there are more.
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "0"

import numpy as np
import pytorch_lightning as pl
import torch
from lightning import Fabric


def build(rows):
    count = torch.cuda.device_count()
    np.save("rows.npy", rows)
    return pl.Trainer(gpus=count, accelerator="ddp" if count > 1 else None)


def with_fabric(rows):
    fabric = Fabric(precision="16-mixed")
    fabric.launch()
    np.save("fabric.npy", rows)


def on_nodes(rows):
    np.save("nodes.npy", rows)  # expect: TRL008
    return pl.Trainer(num_nodes=2, strategy="ddp")


build(range(3))
with_fabric(range(3))
