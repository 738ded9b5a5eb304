# Lightning starts a process for each of the GPUs that a program sees.
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"

import numpy as np
import pytorch_lightning as pl
import torch


def build(rows):
    count = torch.cuda.device_count()
    np.save("rows.npy", rows)  # expect: TRL008
    return pl.Trainer(gpus=count, accelerator="ddp" if count > 1 else None)


build(range(3))
