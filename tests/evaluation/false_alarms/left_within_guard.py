# What a rank calls under a guard is for that rank, though the guarded block may also leave early.
import json

import torch.distributed as dist


def write_json(results, path):
    with open(path, "w") as file:
        json.dump(results, file)


def write_lines(results, path):
    with open(path, "w") as file:  # expect: TRL008
        json.dump(results, file)


def report(args, results):
    dist.barrier()
    if dist.get_rank() == 0:
        if args.raw:
            return
        write_json(results, "metrics.json")


def report_after(args, results):
    dist.barrier()
    if dist.get_rank() == 0:
        print(results)
        if args.raw:
            return
    with open("metrics.json", "w") as file:  # expect: TRL008
        json.dump(results, file)


def report_everywhere(results):
    dist.barrier()
    write_lines(results, "lines.json")
