# All ranks must call Fabric's methods that gather, reduce and save; a Fabric knows this rank, too.
import lightning as L
import torch
from lightning.fabric import Fabric


def run(model, loader):
    fabric = L.Fabric(accelerator="cuda", devices=2, strategy="ddp")
    fabric.launch()
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters()))
    state = {"model": model, "optimizer": optimizer}
    for batch in fabric.setup_dataloaders(loader):
        loss = model(batch).mean()
        fabric.backward(loss)
        optimizer.step()
        if fabric.is_global_zero:
            fabric.print(fabric.all_reduce(loss.detach(), reduce_op="mean"))  # expect: TRL006
        mean = fabric.all_reduce(loss.detach(), reduce_op="mean")
        if fabric.is_global_zero:
            print(mean.item())
    if fabric.global_rank == 0:
        fabric.save("alone.ckpt", state)  # expect: TRL006
    fabric.save("all.ckpt", state)


def prepare(fabric: Fabric, rows):
    with fabric.rank_zero_first():
        rows.to_parquet("first.parquet")  # one after the other
    rows.to_parquet("all.parquet")  # expect: TRL008
    fabric.barrier()


def wait(fabric: Fabric):
    if fabric.local_rank == 0:
        fabric.barrier()  # expect: TRL006
    fabric.barrier()


run(torch.nn.Linear(2, 2), [])
