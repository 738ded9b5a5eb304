"""What a function gets is none of the names that a dict, or a list, has: what it does for those is never done."""

import argparse
import os
import urllib.request

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

MODELS = {"small": "https://example.com/small.pt", "large": "https://example.com/large.pt"}
FIRST = ["first.pt", "second.pt"]


def download(url, folder):
    target = os.path.join(folder, "model.pt")
    with urllib.request.urlopen(url) as source, open(target, "wb") as output:  # expect: TRL008
        output.write(source.read())
    return target


def load(name, folder):
    if name in MODELS:
        return torch.load(download(MODELS[name], folder))
    return torch.load(name)


def fetch(url, folder):
    target = os.path.join(folder, "other.pt")
    with urllib.request.urlopen(url) as source, open(target, "wb") as output:
        output.write(source.read())
    return target


def load_file(name, folder):
    if name in MODELS:
        return torch.load(fetch(MODELS[name], folder))
    return torch.load(name)


def keep(name, state):
    if name in FIRST:
        torch.save(state, "first-or-second")  # expect: TRL008
    if name in ("one.pt", "two.pt"):
        torch.save(state, "one-or-two")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default="weights")
    parser.add_argument("--name", default="small")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    model = DistributedDataParallel(load(args.name, args.folder))
    other = load_file(os.path.join(args.folder, "openai-clip.bin"), args.folder)
    keep(f"{args.name}st.pt", model.module.state_dict())
    return model, other


if __name__ == "__main__":
    main()
