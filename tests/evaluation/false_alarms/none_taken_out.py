# What only some ranks have, in a list or a dict: there on all ranks that go on, once None has been taken out.
import torch
import torch.distributed as dist


class Evaluation:
    def after_step(self):
        torch.cuda.synchronize()


class Checkpoints:
    def __init__(self, net):
        self.net = net

    def after_step(self):
        print(self.net)


class Trainer:
    def __init__(self):
        self.hooks, self.names, self.unasked = [], {}, []

    def register(self, hooks):
        self.hooks.extend(h for h in hooks if h is not None)

    def register_each(self, hooks):
        for h in hooks:
            if h is None:
                continue
            self.hooks.append(h)
            self.names[type(h).__name__] = h

    def register_if(self, *hooks):
        for h in hooks:
            if hasattr(h, "after_step"):
                self.hooks += [h]

    def register_filtered(self, hooks):
        self.hooks = list(filter(None, hooks))

    def register_all(self, hooks):
        self.unasked = hooks

    def step(self):
        for h in self.hooks:
            h.after_step()
        for h in self.names.values():
            h.after_step()

    def step_unasked(self):
        for h in self.unasked:
            h.after_step()  # expect: TRL017


def without_none(named):
    return {name: hook for name, hook in named.items() if hook is not None}


def main():
    dist.init_process_group("nccl")
    net = torch.nn.Linear(2, 2)
    is_main = dist.get_rank() == 0
    hooks = [Evaluation(), Checkpoints(net) if is_main else None]
    trainer = Trainer()
    trainer.register(hooks)
    trainer.register_each(hooks)
    trainer.register_if(*hooks)
    trainer.register_filtered(hooks)
    trainer.register_all(hooks)
    trainer.step()
    trainer.step_unasked()
    named = {"evaluation": Evaluation(), "checkpoints": Checkpoints(net) if is_main else None}
    for hook in without_none(named).values():
        hook.after_step()
    for hook in named.values():
        hook.after_step()  # expect: TRL017
    for name in list(named):
        if named[name] is None:
            del named[name]
    for hook in named.values():
        hook.after_step()
    left = set(hooks)
    left.discard(None)
    for hook in left:
        hook.after_step()
    for hook in hooks:
        hook.after_step()  # expect: TRL017


main()
