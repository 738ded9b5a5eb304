# What is known of a text that is passed decides which branch its test takes: nobody stages the file of a local folder.
import torch
import torch.distributed as dist


def store(model, target):
    if target.startswith(("hdfs:", "s3:")):
        torch.save(model.state_dict(), "staged.pt")
    elif not target.endswith(".pt"):
        torch.save(model.state_dict(), "whole.bin")


def upload(model, target):
    if target.startswith(("hdfs:", "s3:")):
        torch.save(model.state_dict(), "staged.pt")  # expect: TRL008


def main(model, step):
    dist.init_process_group("nccl")
    store(model, "model.pt")
    store(model, f"steps/{step}.pt")
    upload(model, f"s3://models/{step}")
