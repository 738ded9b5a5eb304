# A setting that code stores under its own name, in a copy of the settings, is one still; a name that is computed may be
# each rank's own.
import wandb
from accelerate import Accelerator


def start(config):
    accelerator = Accelerator()
    wandb.init(project=config.project, name=config.run_label)  # expect: TRL008
    return accelerator


def start_apart(config):
    accelerator = Accelerator()
    wandb.init(project=config.project, name=config.own_label)
    return accelerator


def labelled(config, run_label):
    config = config.copy()
    config.run.run_label = run_label
    return config


def labelled_apart(config, labels):
    config = config.copy()
    own_label = labels.mine()
    config.run.own_label = own_label
    return config
