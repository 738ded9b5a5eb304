"""What the first rank alone has, as a collection: asked for an element, added to a list, and loaded into a network."""

import torch
import torch.distributed as dist


class Replay:
    def __init__(self):
        self.rows = []
        self.shadow = None

    def extend(self, rows):
        if rows is not None:
            self.rows.append(rows)

    def start(self, model):
        if dist.get_rank() == 0:
            self.shadow = dict(model.named_parameters())

    def step(self, model):
        for name, parameter in model.named_parameters():
            if name in self.shadow:  # expect: TRL017
                parameter.add_(1)

    def tested(self, name):
        if self.shadow is not None and name in self.shadow:
            return 1
        return int(bool(self.shadow) and name not in self.shadow)

    def pick(self, scores):
        box = [None]
        if dist.get_rank() == 0:
            box[0] = scores.topk(4).indices.tolist()
        return box[0]

    def sent(self, scores):
        box = [None]
        if dist.get_rank() == 0:
            box[0] = scores.topk(4).indices.tolist()
        dist.broadcast_object_list(box)
        return box[0]

    def query(self, scores):
        labelled = [1, 2]
        labelled.extend(self.sent(scores))
        chosen = self.pick(scores)
        labelled.extend(chosen)  # expect: TRL017
        return labelled


class Net(torch.nn.Module):
    def forward(self, x):
        return x


class OwnLoading(torch.nn.Module):
    def load_state_dict(self, state):
        if state:
            super().load_state_dict(state)


def load():
    state = torch.load("x.pt") if dist.get_rank() == 0 else None
    OwnLoading().load_state_dict(state)
    net = Net().cuda()
    if state is not None:
        net.load_state_dict(state)
    net.load_state_dict(state)  # expect: TRL017
    head, state = torch.nn.Linear(8, 2), torch.load("head.pt") if dist.get_rank() == 0 else None
    if state:
        head.load_state_dict(state)
    head.load_state_dict(state)  # expect: TRL017


def main(scores):
    dist.init_process_group("nccl")
    replay = Replay()
    replay.query(scores)
    replay.extend([1] if dist.get_rank() == 0 else None)
    replay.start(Net())
    replay.step(Net())
    replay.tested("x")
    load()
    more = [1]
    other = [2] if dist.get_rank() == 0 else None
    if other is not None:
        more.extend(other)
    more.extend(other or [])


main(torch.ones(9))
