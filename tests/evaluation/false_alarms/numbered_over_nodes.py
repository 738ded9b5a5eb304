# The number of a process is computed from those of its node and its GPU, and passed to the process group: on another
# node, it is not the index of a GPU. That of a process on a single node is.

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def by_a_field(gpu, gpus, args):
    if args.several:
        args.rank = args.rank * gpus + gpu
    dist.init_process_group("nccl", world_size=args.world_size, rank=args.rank)
    torch.cuda.set_device(args.rank)  # expect: TRL011
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1).cuda())
    return resumed(net, args)


def resumed(net, args):
    net.load_state_dict(torch.load("last.pt", map_location=f"cuda:{args.rank}"))  # expect: TRL011
    return net


def by_a_name(gpu, gpus, args):
    rank = gpu + gpus * args.node
    dist.init_process_group("nccl", world_size=args.world_size, rank=rank)
    torch.cuda.set_device(rank)  # expect: TRL011
    return torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1).cuda())


def with_the_gpu(gpu, gpus, args):
    args.rank = args.rank * gpus + gpu
    args.gpu = gpu
    dist.init_process_group("nccl", world_size=args.world_size, rank=args.rank)
    torch.cuda.set_device(args.gpu)
    state = torch.load("last.pt", map_location=f"cuda:{args.gpu}")
    torch.cuda.set_device(args.rank % gpus)
    if args.rank == 0:
        print(state)
    return torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1).cuda(gpu))


def on_one_node(rank, gpus):
    dist.init_process_group("nccl", world_size=gpus, rank=rank)
    torch.cuda.set_device(rank)
    return torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1).cuda(rank))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--node", type=int, default=0)
    parser.add_argument("--world-size", type=int, default=1)
    parser.add_argument("--several", action="store_true")
    args = parser.parse_args()
    gpus = torch.cuda.device_count()
    args.world_size = gpus * args.world_size
    mp.spawn(by_a_field, nprocs=gpus, args=(gpus, args))
    mp.spawn(by_a_name, nprocs=gpus, args=(gpus, args))
    mp.spawn(with_the_gpu, nprocs=gpus, args=(gpus, args))
    mp.spawn(on_one_node, nprocs=gpus, args=(gpus,))


if __name__ == "__main__":
    main()
