import torch.distributed as dist


def set_up(options):
    dist.init_process_group("nccl")
    options.distributed = dist.get_world_size() > 1
