# SyncBatchNorm averages its statistics over the ranks while it is trained. In evaluation nothing is sent: with a DDP
# that broadcasts no buffers either, one rank may run the model alone.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


class Averaging:
    def __init__(self, net, batches: DataLoader):
        net = torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)
        self.net = DistributedDataParallel(net, broadcast_buffers=False)
        self.batches = batches

    def run(self, extra):
        for batch in self.batches:
            self.net(batch).sum().backward()
            if dist.get_rank() == 0:
                self.evaluate(extra)
                self.evaluate_otherwise(extra)
            if dist.get_rank() == 0:
                self.show(extra)  # expect: TRL006

    def evaluate(self, extra):
        self.net.eval()
        print(self.net(extra).shape)
        self.net.train()

    def evaluate_otherwise(self, extra):
        self.net.train(False)
        print(self.net(extra).shape)
        self.net.train(True)

    def show(self, extra):
        self.net.eval()
        self.net.train()
        with torch.no_grad():
            print(self.net(extra).shape)
