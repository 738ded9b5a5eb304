# The rank is an item of the settings that a program hands to its parts.
import argparse
import json

import torch
from torch.utils.tensorboard import SummaryWriter


class Loop:
    def __init__(self, config, model):
        self.config = config
        self.shows = config["shows"]
        if self.shows and config["local_rank"] == 0:
            self.writer = SummaryWriter("runs")
        if self.config["log"] and self.config["local_rank"] == 0:
            self.log = open("log.txt", "w")
        self.model = torch.nn.parallel.DistributedDataParallel(model)

    def train(self):
        if self.shows:
            self.writer.close()  # expect: TRL017
        if self.config["log"] and self.config["local_rank"] == 0:
            self.log.close()


def main(config, args):
    torch.distributed.init_process_group("nccl")
    config["local_rank"] = args.local_rank
    Loop(config, torch.nn.Linear(2, 2)).train()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int)
    with open("config.json") as file:
        main(json.load(file), parser.parse_args())
