import torch


class Smoothed(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, model, sample):
        return self.loss_of(model, sample), sample.size(0), 1

    def loss_of(self, net, sample):
        return (1 - self.weight) * net(sample).logsumexp(0).sum()


class Decay(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, model):
        return self.weight * sum(each.norm() for each in model.parameters())
