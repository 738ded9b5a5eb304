# Memory runs out in the backward pass of one rank, which goes on with the next batch. The others wait for the gradients
# that it has not reduced. Not if it ends, if nothing is reduced yet, or if only an error of the file is caught.

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def left_by_name(net, batches, optimizer):
    for x in batches:
        loss = net(x).mean()
        try:
            loss.backward()
        except torch.cuda.OutOfMemoryError:
            continue  # expect: TRL006
        optimizer.step()


def left_by_text(net, batches, optimizer):
    for x in batches:
        loss = net(x).mean()
        try:
            loss.backward()
            optimizer.step()
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            torch.cuda.empty_cache()
            optimizer.zero_grad()
            continue  # expect: TRL006


def raised_again(net, batches, optimizer):
    for x in batches:
        loss = net(x).mean()
        try:
            loss.backward()
        except RuntimeError:
            print(torch.cuda.memory_summary())
            raise
        optimizer.step()


def made_again(net, batches, optimizer):
    for x in batches:
        loss = net(x)
        try:
            loss.backward()
        except RuntimeError:
            loss.mean().backward()
        optimizer.step()


def of_a_file(net, batches, optimizer):
    for x in batches:
        loss = net(x).mean()
        loss.backward()
        try:
            optimizer.step()
            torch.save(optimizer.state_dict(), f"state_{dist.get_rank()}.pt")
        except OSError:
            continue


def not_reduced_yet(net, batches, optimizer):
    for x in batches:
        with net.no_sync():
            loss = net(x).mean()
            try:
                loss.backward()
            except torch.cuda.OutOfMemoryError:
                continue


def of_a_net_of_its_own(batches):
    net = torch.nn.Linear(8, 8).cuda()
    for x in batches:
        loss = net(x).mean()
        try:
            loss.backward()
        except torch.cuda.OutOfMemoryError:
            continue


def main(batches):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    net = DistributedDataParallel(torch.nn.Linear(8, 8).cuda())
    optimizer = torch.optim.SGD(net.parameters())
    left_by_name(net, batches, optimizer)
    left_by_text(net, batches, optimizer)
    raised_again(net, batches, optimizer)
    made_again(net, batches, optimizer)
    of_a_file(net, batches, optimizer)
    not_reduced_yet(net, batches, optimizer)
    of_a_net_of_its_own(batches)
