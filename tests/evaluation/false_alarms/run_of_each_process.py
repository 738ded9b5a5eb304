# A file named by the id of a run is not shared: each process that starts a run has one of its own.
import pandas as pd
import torch.distributed as dist
import wandb


def write(rows, name, kind):
    path = f"{kind}_{name}.csv"
    pd.DataFrame(rows).to_csv(path)


def write_again(rows, kind):
    pd.DataFrame(rows).to_csv(f"{kind}.csv")  # expect: TRL008


def main(rows):
    dist.init_process_group("nccl")
    wandb.init(project="x", group="y")
    write(rows, wandb.run.id, "train")
    write(rows, f"today_{wandb.run.name}", "test")
    write_again(rows, "all")


main([])
