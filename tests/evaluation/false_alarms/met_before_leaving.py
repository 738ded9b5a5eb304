# Ranks that leave an iteration early make the same collective call as the others, also under a condition on the rank.
import torch
import torch.distributed as dist


class Muon(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self):
        world_size = dist.get_world_size()
        rank = dist.get_rank()
        for group in self.param_groups:
            params = group["params"]
            params_pad = params + [torch.empty_like(params[-1])] * (world_size - len(params) % world_size)
            for base in range(0, len(params), world_size):
                if base + rank < len(params):
                    p = params[base + rank]
                    state = self.state[p]
                    if len(state) == 0:
                        state["step"] = 0
                        dist.all_gather(params_pad[base : base + world_size], params_pad[base + rank])
                        continue
                    state["step"] += 1
                dist.all_gather(params_pad[base : base + world_size], params_pad[base + rank])


def main(net):
    dist.init_process_group("nccl")
    Muon(net.parameters()).step()


main(None)
