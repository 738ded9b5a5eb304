# Each rank adds the digest of its own clock to a setting, or a text that it has drawn: files so named are its own.
import argparse
import datetime
import hashlib
import json
import uuid
from copy import deepcopy

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--name", required=True)
parser.add_argument("--title", required=True)
parser.add_argument("--tag", required=True)
args = parser.parse_args()


def train(model, settings):
    model = DistributedDataParallel(model)
    return vars(settings), {"loss": float(model(torch.ones(1, 2)).sum())}


def store(folder, options, result):
    with open(f"{folder}/{options['name']}.json", "w") as file:
        json.dump(result, file)
    with open(f"{folder}/{options.get('title')}.json", "w") as file:
        json.dump(result, file)
    with open(f"{folder}/{options['tag']}.json", "w") as file:  # expect: TRL008
        json.dump(result, file)


def main():
    dist.init_process_group("nccl")
    now = datetime.datetime.now().time()
    digest = hashlib.sha1(str(now).encode()).hexdigest()[:6]
    args.name = args.name + f"_{digest}"
    drawn = uuid.uuid4().hex
    args.title = f"{args.title}_{drawn}"
    args.tag = f"{args.tag}_{hashlib.sha1(args.tag.encode()).hexdigest()}"
    torch.save({}, f"{args.name}.pt")
    torch.save({}, f"{args.title}.pt")
    torch.save({}, f"{args.tag}.pt")  # expect: TRL008
    options, result = train(torch.nn.Linear(2, 2), deepcopy(args))
    store("results", options, result)


if __name__ == "__main__":
    main()
