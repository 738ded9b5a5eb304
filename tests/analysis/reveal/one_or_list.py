"""One value or a list: where one branch makes a list, what was given otherwise is a list, with the same fact."""

import argparse
import os

import torch.distributed as dist


def run(folders, splits, files, parts):
    if not isinstance(folders, list):
        folders = [folders]
    for folder in folders:
        reveal_rank(os.path.join(folder, "list.txt"))  # revealed: same
    if splits is None:
        splits = ["train", "test"]
    reveal_rank(splits[0])  # revealed: same
    if isinstance(files, str):
        files = [files]
    files.append(str(dist.get_rank()))  # it is the list that has been made
    reveal_rank(files[0])  # revealed: local(rank)
    if parts is None:
        parts = [dist.get_rank()]
    reveal_rank(parts)  # revealed: unknown


parser = argparse.ArgumentParser()
for name in ("--folders", "--splits", "--files", "--parts"):
    parser.add_argument(name)
args = parser.parse_args()
dist.init_process_group("nccl")
run(args.folders, args.splits, args.files, args.parts)
