# Answers that a sharded model generates: each forward gathers its parameters, so all ranks have to make as many.
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.utils.data import DataLoader, DistributedSampler


@torch.no_grad()
def until_own_are_done(model, ids, end):
    done = torch.zeros(ids.shape[0], dtype=torch.bool, device=ids.device)
    for _ in range(100):
        token = model(ids).argmax(-1)
        done |= token == end
        ids = torch.cat([ids, token[:, None]], dim=1)
        if done.all():
            break  # expect: TRL016
    return ids


@torch.no_grad()
def until_all_are_done(model, ids, end):
    done = torch.zeros(ids.shape[0], dtype=torch.bool, device=ids.device)
    for _ in range(100):
        token = model(ids).argmax(-1)
        done |= token == end
        ids = torch.cat([ids, token[:, None]], dim=1)
        left = (~done).sum()
        dist.all_reduce(left)
        if left.item() == 0:
            break
    return ids


@torch.no_grad()
def of_pieces(model, ids):
    # How many pieces there are depends on the texts, which are usually cut to one length.
    out, at = [], 0
    while True:
        if at >= ids.shape[1]:
            break
        out.append(model(ids[:, at : at + 256]))
        at += 256
    return out


@torch.no_grad()
def of_pieces_of_each(model, ids):
    out, at = [], 0
    while True:
        out.append(model(ids[:, at : at + 256]))
        at += 256
        if all(at >= len(row) for row in ids):
            break
    return out


@torch.no_grad()
def until_all_own_flags_are_set(model, ids, end):
    done = [False for _ in ids]
    for _ in range(100):
        for i, token in enumerate(model(ids).argmax(-1)):
            done[i] = done[i] or token.item() == end
        if all(done):
            break  # expect: TRL016


@torch.no_grad()
def until_own_are_counted(model, ids, end):
    done = torch.zeros(ids.shape[0], dtype=torch.bool, device=ids.device)
    for _ in range(100):
        done |= model(ids).argmax(-1) == end
        if done.sum().item() == len(ids):
            break  # expect: TRL016


@torch.no_grad()
def of_whole_model(model, ids, end):
    done = torch.zeros(ids.shape[0], dtype=torch.bool, device=ids.device)
    for _ in range(100):
        token = model(ids).argmax(-1)
        done |= token == end
        if done.all():
            break
    return ids


def main(rows):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    sharded = FSDP(torch.nn.Linear(4, 4).cuda())
    whole = torch.nn.Linear(4, 4).cuda()
    for x in DataLoader(rows, 4, sampler=DistributedSampler(rows, shuffle=False)):
        ids = x.cuda()
        until_own_are_done(sharded, ids, 2)
        until_all_are_done(sharded, ids, 2)
        of_pieces(sharded, ids)
        of_pieces_of_each(sharded, ids)
        until_all_own_flags_are_set(sharded, ids, 2)
        until_own_are_counted(sharded, ids, 2)
        of_whole_model(whole, ids, 2)


if __name__ == "__main__":
    main(list(torch.ones(8, 4)))
