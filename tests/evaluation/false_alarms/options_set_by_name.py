# The parsed options are kept as attributes of an object that has methods as well: its rank decides who has a loader.
import argparse
import json

import torch.distributed as dist


class Config:
    def __init__(self, **options):
        for name, value in options.items():
            setattr(self, name, value)

    def save(self, path):
        with open(path, "w") as file:
            json.dump(self.__dict__, file)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--tasks", default="")
    return Config(**vars(parser.parse_args()))


class Tester:
    def __init__(self, args, loaders):
        self.args = args
        self.loaders = loaders

    def test(self):
        with open("tasks.json", "w") as file:  # expect: TRL008
            json.dump(self.args.tasks, file)
        if "vqa" in self.args.tasks:
            results = list(self.loaders["vqa"])  # expect: TRL017
            with open("results.json", "w") as file:
                json.dump(results, file)


def main(gpu, args):
    dist.init_process_group(backend="nccl")
    loaders = {"vqa": [1, 2, 3]} if gpu == 0 else None
    Tester(args, loaders).test()


if __name__ == "__main__":
    args = parse_args()
    main(args.local_rank, args)
