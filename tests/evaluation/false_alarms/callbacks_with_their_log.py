# A function that is defined where the main process opens its log has the log, whoever calls it.
import torch
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


class Meter:
    def __call__(self, step):
        print(step)


class Trainer:
    def __init__(self, model, loader):
        self.model = model
        self.loader = loader
        self.callbacks = []

    def train(self):
        for step, batch in enumerate(self.loader):
            self.model(batch).mean().backward()
            for callback in self.callbacks:
                callback(step)


def main(loader):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).cuda())
    trainer = Trainer(model, loader)
    trainer.callbacks.append(Meter())
    log = None
    if dist.get_rank() == 0:
        log = SummaryWriter()

        def write(step):
            log.add_scalar("step", step)

        trainer.callbacks.append(write)
    trainer.train()


main(None)
