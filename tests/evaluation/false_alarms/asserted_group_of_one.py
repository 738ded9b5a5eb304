"""Ranks that are not the first of their group leave, or stay apart: none does where the group is said to have one."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


class Groups:
    def __init__(self, mesh):
        self.mesh = mesh

    def get_tensor_rank(self):
        return self.mesh["tensor"].get_local_rank()

    def get_tensor_world_size(self):
        return self.mesh["tensor"].size()

    def get_data_world_size(self):
        return self.mesh["data"].size()


def asserted(groups, dispatches):
    if groups.get_tensor_rank() != 0:
        return None
    if dispatches:
        assert groups.get_tensor_world_size() == 1, "not together"
        dist.barrier()
    return groups


def raised(groups):
    if groups.get_tensor_world_size() > 1:
        raise ValueError("not together")
    if groups.get_tensor_rank() == 0:
        dist.barrier()


def tested(groups):
    if groups.get_tensor_rank() != 0:
        return
    if groups.get_tensor_world_size() == 1:
        dist.barrier()


def asserted_on_another_path(groups, dispatches):
    if groups.get_tensor_rank() != 0:
        return  # expect: TRL006
    if dispatches:
        assert groups.get_tensor_world_size() == 1
        print("together")
    dist.barrier()


def another_group(groups):
    if groups.get_tensor_rank() != 0:
        return  # expect: TRL006
    assert groups.get_data_world_size() == 1
    dist.barrier()


def several(groups):
    if groups.get_tensor_rank() != 0:
        return  # expect: TRL006
    assert groups.get_tensor_world_size() > 1
    dist.barrier()


def another_rank(groups):
    if groups.get_tensor_rank() != 0 or dist.get_rank() == 3:
        return  # expect: TRL006
    assert groups.get_tensor_world_size() == 1
    dist.barrier()


def main(dispatches):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % 8)
    groups = Groups(init_device_mesh("cuda", (2, 4), mesh_dim_names=("data", "tensor")))
    asserted(groups, dispatches)
    raised(groups)
    tested(groups)
    asserted_on_another_path(groups, dispatches)
    another_group(groups)
    several(groups)
    another_rank(groups)


if __name__ == "__main__":
    main(True)
