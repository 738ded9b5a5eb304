# Objects are sent as bytes: each rank pads its own to the length of the longest, on its GPU. The class of a tensor says
# that it is on the CPU.

import pickle

import torch
import torch.distributed as dist


def sent(data):
    buffer = pickle.dumps(data)
    storage = torch.ByteStorage.from_buffer(buffer)
    tensor = torch.ByteTensor(storage).to("cuda")
    size = torch.LongTensor([tensor.numel()]).to("cuda")
    sizes = [torch.LongTensor([0]).to("cuda") for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, size)
    sizes = [int(each.item()) for each in sizes]
    longest = max(sizes)
    parts = [torch.ByteTensor(size=(longest,)).to("cuda") for _ in sizes]
    if tensor.numel() != longest:
        rest = torch.ByteTensor(size=(longest - tensor.numel(),)).to("cuda")
        tensor = torch.cat((tensor, rest), dim=0)
    dist.all_gather(parts, tensor)
    return [pickle.loads(part.cpu().numpy().tobytes()[:size]) for size, part in zip(sizes, parts, strict=True)]


def sent_as_a_list(data):
    rows = list(pickle.dumps(data))
    tensor = torch.cuda.ByteTensor(1024)
    tensor[: len(rows)] = torch.ByteTensor(rows)
    parts = [torch.cuda.ByteTensor(1024) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, tensor)
    return parts


def flags_from_the_host(ready):
    flags = torch.ByteTensor([ready, 0])
    dist.all_reduce(flags)  # expect: TRL011
    return flags


def sums_from_the_host(total):
    sums = torch.DoubleTensor([total, 1.0])
    dist.all_reduce(sums)  # expect: TRL011
    return sums


def main(data):
    dist.init_process_group("nccl")
    sent(data)
    sent_as_a_list(data)
    flags_from_the_host(True)
    sums_from_the_host(3.0)


main({"rows": torch.load("rows.pt")})
