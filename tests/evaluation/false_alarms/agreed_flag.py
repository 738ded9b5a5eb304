# If a flag that all ranks have agreed on is true, they agree on the number as well; otherwise it is not used.

import torch
import torch.distributed as dist


def agreed(value, device):
    made = torch.tensor(value, device=device)
    dist.broadcast(made, 0)
    return made.item()


class Training:
    def ask(self):
        stops, more = False, 0
        if dist.get_rank() == 0:
            stops, more = True, 10
        stops = agreed(stops, self.device)
        if stops:
            more = agreed(more, self.device)
        return stops, more

    def ask_one(self):
        stops, more = False, 0
        if dist.get_rank() == 0:
            stops, more = True, 10
        return agreed(stops, self.device), more

    def fit(self, loader):
        last = 100
        for step, _ in enumerate(loader):
            stops, more = self.ask()
            if stops:
                last = min(last, step + more)
            if step >= last:
                break
            dist.barrier()

    def fit_apart(self, loader):
        last = 100
        for step, _ in enumerate(loader):
            stops, more = self.ask_one()
            if stops:
                last = min(last, step + more)
            if step >= last:
                break  # expect: TRL006
            dist.barrier()
