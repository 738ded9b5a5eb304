# Where the settings hold under which the constructor returns before it wraps the model, there is no wrapper.
import torch
import torch.distributed as dist
from nets import build_model
from torch.nn.parallel import DistributedDataParallel


class Monitor:
    def __init__(self, cfg, device):
        self.cfg = cfg
        model = build_model(cfg)
        if cfg.evaluate and cfg.model_file.endswith(".out"):
            self.model = model
            return
        parameters = model.build(device)
        self.model = DistributedDataParallel(model, device_ids=[cfg.rank]) if dist.is_initialized() else model
        self.make_optimizer(parameters)

    def make_optimizer(self, parameters):
        self.optimizer = torch.optim.SGD(parameters, lr=self.cfg.lr)

    def run(self):
        if not self.model.training:
            if self.cfg.model_file.endswith(".out"):
                with torch.no_grad():
                    self.compare()
            else:
                self.score()
            return
        if self.cfg.evaluate and self.cfg.verbose:
            self.model.describe()
        if not self.cfg.evaluate:
            self.train()
        self.report()

    def compare(self):
        for each in self.cfg.files:
            self.model.build(each)
            self.compare_one()

    def compare_one(self):
        self.model.rebuild()

    def score(self):
        self.model.encode()  # expect: TRL002

    def train(self):
        self.model.rate()  # expect: TRL002
        self.report()

    def report(self):
        self.model.report()  # expect: TRL002


class Wrapped:
    def __init__(self, cfg, device):
        model = DistributedDataParallel(build_model(cfg), device_ids=[device])
        self.cfg = cfg
        if cfg.evaluate:
            self.model = DistributedDataParallel(model.module, device_ids=[device])
            return
        self.model = model
        self.check()

    def check(self):
        print(self.cfg)

    def run(self):
        if self.cfg.evaluate:
            self.model.rebuild()  # expect: TRL002


def main(cfg):
    dist.init_process_group("nccl")
    Monitor(cfg, torch.device("cuda")).run()
    Wrapped(cfg, torch.device("cuda")).run()
