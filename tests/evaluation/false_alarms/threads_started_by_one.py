# A thread runs its function where it is started, not where it is made; a worker that waits for what it is given may be
# given something by one rank alone.
import os
import queue
import threading

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Saver:
    def __init__(self, model):
        self.model = model
        self.waiting = queue.Queue()
        self.by_one = threading.Thread(target=self.save_by_one, args=("one.pt",), daemon=True)
        self.by_all = threading.Thread(target=self.save_by_all, args=("all.pt",), daemon=True)
        self.worker = threading.Thread(target=self.work, daemon=True)

    def save_by_one(self, path):
        torch.save(self.model.module.state_dict(), path)

    def save_by_all(self, path):
        torch.save(self.model.module.state_dict(), path)  # expect: TRL008

    def save_part(self, part):
        torch.save(self.model.module.state_dict(), "part.pt")

    def work(self):
        for state in iter(self.waiting.get, None):
            torch.save(state, "waiting.pt")

    def start(self):
        self.by_all.start()
        self.worker.start()
        parts = [threading.Thread(target=self.save_part, args=(part,)) for part in range(2)]
        if dist.get_rank() == 0:
            self.by_one.start()
            self.waiting.put(self.model.module.state_dict())
            for each in parts:
                each.start()


def main(rows, model):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    loader = DataLoader(rows, 8, sampler=DistributedSampler(rows))
    model = DistributedDataParallel(model.cuda())
    saver = Saver(model)
    for batch in loader:
        model(batch).backward()
    saver.start()
