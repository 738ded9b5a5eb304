"""A file whose name contains the rank, formatted with `%`, is rank-local."""

import json
import os

import torch.distributed as dist


def own_rank():
    return dist.get_rank() if dist.is_initialized() else 0


def keep(results, result_dir, name):
    part = os.path.join(result_dir, "%s_rank%d.json" % (name, own_rank()))  # noqa: UP031
    with open(part, "w") as file:
        json.dump(results, file)
    whole = os.path.join(result_dir, "of%d.json" % dist.get_world_size())  # noqa: UP031
    with open(whole, "w") as file:  # expect: TRL008
        json.dump(results, file)
    dist.barrier()
