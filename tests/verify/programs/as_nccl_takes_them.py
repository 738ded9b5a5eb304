"""Tensors that nccl takes and gloo does not: it counts elements. Only the group that asks for gloo compares shapes.

Objects are exchanged as they are.
"""

import tempfile

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
size = dist.get_world_size()
own = torch.full((4, 1), 1.0 + dist.get_rank(), requires_grad=True)
for group in (None, dist.new_group(list(range(size)))):
    for shape in ((4 * size,), (size, 4, 1)):
        gathered = torch.empty(shape)
        dist.all_gather_into_tensor(gathered, own * 1, group=group)
        assert gathered.view(size, 4).mean(1).tolist() == [1.0 + rank for rank in range(size)], gathered
    part = torch.empty(4)
    dist.reduce_scatter_tensor(part, torch.ones(size, 4), group=group)
    assert part.tolist() == [size] * 4, part
on_cpu = dist.new_group(list(range(size)), backend="gloo")
refused = False
try:
    dist.all_gather_into_tensor(torch.empty(4 * size), own * 1, group=on_cpu)
except RuntimeError as error:
    refused = "invalid tensor size" in str(error)
assert refused
with tempfile.NamedTemporaryFile("w") as file:
    file.write("each process has its own")
objects = [None] * size
dist.all_gather_object(objects, [dist.get_rank()])
assert objects == [[each] for each in range(size)], objects
shared = [own if dist.get_rank() == 0 else None, dist.get_rank()]
dist.broadcast_object_list(shared, src=0)
assert shared[0] is not None and shared[1] == 0, shared
