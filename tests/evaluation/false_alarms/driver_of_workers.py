# One process drives the workers of Ray, though the same program may start others itself and create another trainer.
import json

import ray
import torch.distributed as dist


class Worker:
    def step(self):
        return 1


class DrivingTrainer:
    def __init__(self, options):
        self.options = options
        self.write_names()
        self.worker = ray.remote(Worker)

    def write_names(self):
        with open("names.json", "w") as file:
            json.dump(self.options.names, file)


class OwnTrainer:
    def __init__(self, options):
        self.options = options
        self.write_names()

    def write_names(self):
        with open("names.json", "w") as file:  # expect: TRL008
            json.dump(self.options.names, file)


def trainer_for(options):
    if options.kind == "ray":
        return DrivingTrainer(options)
    return OwnTrainer(options)


def main(options):
    if options.kind != "ray":
        dist.init_process_group("nccl")
    trainer = trainer_for(options)
    dist.barrier()
    return trainer
