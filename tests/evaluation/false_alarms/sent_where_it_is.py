# A tensor on the CPU is copied to the GPU before it is summed: the other branch is for other tensors.
import torch
import torch.distributed as dist


def total(x):
    if not x.is_cuda:
        moved = x.detach().cuda()
        dist.all_reduce(moved)
        x.copy_(moved.cpu())
    else:
        dist.all_reduce(x)
    return x


def total_on_the_cpu(x):
    if x.is_cpu:
        dist.all_reduce(x)  # expect: TRL011
    return x


def main():
    dist.init_process_group("nccl")
    return total(torch.tensor([1.0])), total_on_the_cpu(torch.tensor([2.0]))


main()
