"""Collectives as nccl takes them: tensors that are only counted, with and without a history, and a temporary file."""

import os
import tempfile

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
torch.cuda.set_device(rank)
size = dist.get_world_size()
own = torch.full((4, 1), 1.0 + dist.get_rank(), device="cuda", requires_grad=True)
expected = 4 * sum(range(1, size + 1))
for shape in ((4 * size,), (4 * size, 1), (size, 4, 1)):
    gathered = torch.empty(shape, device="cuda")
    dist.all_gather_into_tensor(gathered, own * 1)
    assert gathered.sum().item() == expected, gathered
parts = [torch.empty(4, 1, device="cuda") for _ in range(size)]
dist.all_gather(parts, own * 1)
assert torch.cat(parts).sum().item() == expected, parts
part = torch.empty(4, device="cuda")
dist.reduce_scatter_tensor(part, torch.ones(size, 4, device="cuda"))
assert part.sum().item() == 4 * size, part
total = own.sum()
dist.all_reduce(total)
assert total.item() == expected, total
objects = [None] * size
dist.all_gather_object(objects, [dist.get_rank()])
assert objects == [[each] for each in range(size)], objects
with tempfile.NamedTemporaryFile("w") as file:
    file.write("each process has its own\n")
refused = ""
try:
    dist.all_reduce(torch.ones(1))
except RuntimeError as error:
    refused = str(error)
assert "No backend type associated with device type cpu" in refused, refused
dist.barrier()
