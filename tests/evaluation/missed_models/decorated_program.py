# A function that Hydra turns into a program is run by all ranks; with an unknown decorator that is not known.
import hydra
import torch.distributed as dist
from helpers import limited
from torch.utils.tensorboard import SummaryWriter


@hydra.main(config_path=".", config_name="config")
def main(config):
    dist.init_process_group("nccl")
    SummaryWriter("runs")  # expect: TRL008


@limited()
def other(config):
    dist.init_process_group("nccl")
    SummaryWriter("runs")


if __name__ == "__main__":
    main()
