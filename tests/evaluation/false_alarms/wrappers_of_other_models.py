# The wrapper of one model prepares nothing for another one, and passes on gradients while it is frozen itself. What
# gets gradients on their way to the other model may not be what is trained.

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def set_trained(net, flag):
    for weight in net.parameters():
        weight.requires_grad = flag


class Pair:
    def __init__(self):
        self.painter, self.judge = DDP(nn.Linear(4, 4).cuda()), DDP(nn.Linear(4, 1).cuda())
        self.optimizers = [torch.optim.AdamW(each.parameters()) for each in (self.painter, self.judge)]

    def update(self, which, loss):
        self.optimizers[which].zero_grad()
        loss.backward()
        self.optimizers[which].step()

    def paint(self, noise):
        set_trained(self.judge, False)
        self.update(0, self.judge(self.painter.module(noise)).mean())  # expect: TRL009
        set_trained(self.judge, True)

    def paint_in_steps(self, noise):
        self.judge.requires_grad_(False)
        image = self.painter.module(noise)  # expect: TRL009
        loss = self.judge(image).mean()
        self.update(0, loss)
        self.judge.requires_grad_(True)

    def paint_well(self, noise):
        set_trained(self.judge, False)
        image = self.painter(noise)
        self.update(0, (self.judge.module(image) + image.mean()).mean())
        set_trained(self.judge, True)

    def paint_beside(self, noise):
        image = self.painter(noise)
        loss = self.judge.module(image).mean()  # the painter is trained: its optimizer has nothing else
        self.update(0, loss)

    def paint_at_once(self, noise):
        self.update(0, self.judge.module(self.painter(noise)).mean())

    def judge_detached(self, noise):
        image = self.painter(noise).detach()
        loss = self.judge.module(image).mean()  # expect: TRL009
        self.update(1, loss)

    def judge_detached_later(self, noise, photo):
        image, scale = self.painter(noise), photo * 2
        wrong = self.judge.module(image.detach())  # expect: TRL009
        self.update(1, (wrong * scale).mean())

    def judge_rebound(self, noise):
        image = self.painter(noise)
        image = image.detach()
        loss = self.judge.module(image).mean()  # expect: TRL009
        self.update(1, loss)

    def judge_both(self, noise, photo):
        image = self.painter(noise).detach()
        loss = self.judge(photo).mean() - self.judge.module(image).mean()
        self.update(1, loss)

    def judge_without_gradients(self, noise):
        with torch.no_grad():
            image = self.painter(noise)
        loss = self.judge.module(image).mean()  # expect: TRL009
        self.update(1, loss)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    pair = Pair()
    for _ in range(10):
        noise = torch.randn(4, 4).cuda()
        pair.paint(noise)
        pair.paint_in_steps(noise)
        pair.paint_well(noise)
        pair.paint_beside(noise)
        pair.paint_at_once(noise)
        pair.judge_detached(noise)
        pair.judge_detached_later(noise, torch.ones(4).cuda())
        pair.judge_rebound(noise)
        pair.judge_both(noise, torch.ones(4).cuda())
        pair.judge_without_gradients(noise)


main()
