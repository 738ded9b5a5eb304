# A rank that breaks out of a loop by its clock has counted less than the others: until it leaves the outer loop, too.

import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

BEGAN = time.time()
dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
model = DistributedDataParallel(torch.nn.Linear(4, 4).cuda())


def leaves_both(loader, resumed, limit):
    step, stops = 0, False
    for _ in range(3):
        for batch in loader:
            if step < resumed:
                step += 1
                continue
            model(batch).sum().backward()
            step += 1
            if time.time() - BEGAN > limit:
                stops = True
                break
        if stops:
            break  # expect: TRL006


def leaves_for_one_of_two_reasons(loader, resumed, limit, tested):
    step, stops = 0, False
    for _ in range(3):
        for batch in loader:
            if step < resumed:
                step += 1
                continue
            model(batch).sum().backward()
            step += 1
            if tested and step == resumed + 2:
                break
            if time.time() - BEGAN > limit:
                stops = True
                break  # expect: TRL006
        if tested or stops:
            break


class Training:
    def fit(self, loader, resumed, limit):
        self.step, self.stops = 0, False
        for _ in range(3):
            for batch in loader:
                if self.step < resumed:
                    self.step += 1
                    continue
                model(batch).sum().backward()
                self.step += 1
                if time.time() - BEGAN > limit:
                    self.stops = True
                    break
            if self.stops:
                break  # expect: TRL006


def leaves_one(loader, resumed, limit):
    step = 0
    for _ in range(3):
        for batch in loader:
            if step < resumed:
                step += 1
                continue  # expect: TRL006
            model(batch).sum().backward()
            step += 1
            if time.time() - BEGAN > limit:
                break  # expect: TRL006


def forgets_its_flag(loader, resumed, limit):
    step, stops = 0, False
    for _ in range(3):
        for batch in loader:
            if step < resumed:
                step += 1
                continue  # expect: TRL006
            model(batch).sum().backward()
            step += 1
            if time.time() - BEGAN > limit:
                stops = True
                break  # expect: TRL006
        stops = False
        if stops:
            break


def asks_before_it_has_left(loader, limit):
    step, stops = 0, False
    for _ in range(3):
        for batch in loader:
            model(batch).sum().backward()
            step += 1
            if time.time() - BEGAN > limit:
                stops = True
                break
        if step > 10:
            dist.barrier()  # expect: TRL006
        if stops:
            break  # expect: TRL006


def leaves_for_another_reason(loader, resumed, limit):
    step, stops = 0, False
    for _ in range(3):
        for batch in loader:
            if step < resumed:
                step += 1
                continue  # expect: TRL006
            model(batch).sum().backward()
            step += 1
            if time.time() - BEGAN > limit / 2:
                break
            if time.time() - BEGAN > limit:
                stops = True
                break
        if stops:
            break  # expect: TRL006
