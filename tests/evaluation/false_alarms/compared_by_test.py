# named: test_parallel.py
# A test of one process, and one that spawns its processes and compares their results.
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def worker(rank, size, path):
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=size)
    model = torch.nn.Linear(3, 3)
    ddp = DistributedDataParallel(model)
    ddp(torch.ones(2, 3)).sum().backward()
    plain = torch.nn.Linear(3, 3)
    plain.load_state_dict(model.state_dict())
    plain(torch.ones(2, 3)).sum().backward()
    torch.testing.assert_close(plain.weight.grad, ddp.module.weight.grad)
    assert model.weight.grad is not None


def test_gradients(tmp_path):
    mp.spawn(worker, args=(2, tmp_path / "store"), nprocs=2)


def test_alone():
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    torch.save(model.state_dict(), "model.pt")
    assert torch.isfinite(model.weight).all()
