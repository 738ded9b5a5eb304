# An `except` clause that ends the process, itself or by a helper of the project: the launcher ends the other ranks.
import logging
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(1)


class Guard:
    def die(self):
        logging.shutdown()
        os.kill(os.getpid(), signal.SIGKILL)

    def note(self, other):
        logging.exception("out of memory")
        os.kill(other, signal.SIGUSR1)


def step(model, optimizer, batch):
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()


def main(batches):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(torch.nn.Linear(4, 4).cuda())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    guard = Guard()
    for batch in batches:
        try:
            step(model, optimizer, batch)
        except torch.cuda.OutOfMemoryError:
            guard.die()
        except RuntimeError as error:
            fail(f"failed: {error}")
    for batch in batches:
        try:
            step(model, optimizer, batch)
        except RuntimeError:
            os._exit(1)
    for batch in batches:
        try:
            step(model, optimizer, batch)
        except RuntimeError:  # expect: TRL006
            guard.note(os.getppid())


if __name__ == "__main__":
    main(torch.randn(8, 2, 4))
