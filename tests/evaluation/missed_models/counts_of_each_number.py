# How often each number occurs in this rank's data: as many counts as its largest number says, unless a least length is
# given.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def usage_of_codes(ids):
    counts = torch.bincount(ids.flatten()).float()
    dist.all_reduce(counts)  # expect: TRL005
    return counts / counts.sum()


def usage_of_all_codes(ids, codes):
    counts = torch.bincount(ids.flatten(), minlength=codes).float()
    dist.all_reduce(counts)
    weighted = torch.bincount(ids.flatten(), None, codes)
    dist.all_reduce(weighted)
    return counts / counts.sum()


def number_of_ids(ids):
    count = torch.bincount(ids.flatten()).sum()
    dist.all_reduce(count)
    return count


def usage_in_all_data(all_ids):
    counts = torch.bincount(all_ids)
    dist.all_reduce(counts)
    return counts


def main(rows, net):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    model = DistributedDataParallel(net.cuda())
    sampler = DistributedSampler(rows, shuffle=False)
    for batch in DataLoader(rows, sampler=sampler):
        ids = model(batch.cuda()).argmax(-1)
        print(usage_of_codes(ids), usage_of_all_codes(ids, 1024), number_of_ids(ids))
    print(usage_in_all_data(torch.arange(9).cuda()))


main([], torch.nn.Linear(1, 2))
