"""Tensors that nccl takes and gloo does not: it counts elements, and gathers tensors of different sizes.

Only the group that asks for gloo compares shapes, and can do what nccl can't. Objects are exchanged as they are.
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
for group in (None, dist.new_group([1])):
    members = [1] if group else range(size)
    for is_async in (False, True) if group is None or dist.get_rank() == 1 else ():
        uneven = [torch.empty(1 + rank, 2) for rank in members]
        work = dist.all_gather(uneven, torch.full((1 + dist.get_rank(), 2), 1.0 + dist.get_rank()), group, is_async)
        if is_async:
            work.wait()
        assert [each.mean() for each in uneven] == [1.0 + rank for rank in members], uneven
for only_gloo in (
    lambda group: dist.monitored_barrier(group),
    lambda group: dist.all_reduce(torch.ones(1, dtype=torch.int), dist.ReduceOp.BOR, group),
):
    only_gloo(on_cpu)
    try:
        only_gloo(None)
        raise AssertionError("nccl has none")
    except ValueError as error:
        assert "GLOO" in str(error) or "with NCCL" in str(error), error
with tempfile.NamedTemporaryFile("w") as file:
    file.write("each process has its own")
objects = [None] * size
dist.all_gather_object(objects, [dist.get_rank()])
assert objects == [[each] for each in range(size)], objects
shared = [own if dist.get_rank() == 0 else None, dist.get_rank()]
dist.broadcast_object_list(shared, src=0)
assert shared[0] is not None and shared[1] == 0, shared
