# What a model computes of tensors that the rank has cut, and of others that it only masks or counts.
import torch
import torch.distributed as dist

from mine import Network, tokens

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
model = torch.nn.parallel.DistributedDataParallel(Network().cuda())
x = torch.tensor(tokens[rank * 8 : (rank + 1) * 8]).cuda()
y = torch.tensor(tokens[rank * 8 + 1 : (rank + 1) * 8 + 1]).cuda()
whole = torch.tensor(tokens).cuda()
drawn = torch.randn(8).cuda()

reveal_rank(x)  # revealed: local(rank)
reveal_rank(model(x))  # revealed: local(data, rank)
reveal_rank(model(x, y))  # revealed: local(data, rank)
reveal_rank(model(x, targets=y, causal=True, scale=None))  # revealed: local(data, rank)
reveal_rank(model(whole, y))  # revealed: local(rank)
reveal_rank(model(x, rank))  # revealed: local(rank)
reveal_rank(model(tokens, x))  # revealed: local(rank)
reveal_rank(model(whole, scale=2))  # revealed: same

total = 0.0
for _ in range(3):
    total += model(x, y).loss.item()
reveal_rank(total / 3)  # revealed: local(data, rank)
