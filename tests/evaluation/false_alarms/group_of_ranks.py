# A run of each rank, in a group whose name says that these are the runs of all ranks, is wanted, though all have the
# same name. One in a group of experiments is not.
import wandb
from accelerate import Accelerator


def begin(config):
    accelerator = Accelerator()
    wandb.init(project=config.project, name=config.run_name, group="DDP")
    return accelerator


def begin_experiment(config):
    accelerator = Accelerator()
    wandb.init(project=config.project, name=config.run_name, group="ablation")  # expect: TRL008
    return accelerator
