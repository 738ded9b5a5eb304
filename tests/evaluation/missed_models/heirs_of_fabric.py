# Each process runs the `run` of a Fabric's heir, or of a LightningLite's; the latter saves on the first one alone.
import torch
from lightning.fabric import Fabric
from pytorch_lightning.lite import LightningLite


class Lite(LightningLite):
    def run(self, args):
        model, optimizer = self.setup(torch.nn.Linear(2, 2), torch.optim.AdamW([]))
        for batch in self.setup_dataloaders(args.loader):
            self.backward(model(batch).mean())
            optimizer.step()
            if self.global_rank == 0:
                self.save({"model": model}, f"{args.folder}/last.ckpt")  # the others need not come
                self.barrier()  # expect: TRL006
            self.barrier()
        torch.save(model.module.state_dict(), f"{args.folder}/final.pth")  # expect: TRL008
        if self.is_global_zero:
            torch.save(model.module.state_dict(), f"{args.folder}/best.pth")


class Loop(Fabric):
    def run(self, folder):
        torch.save({}, f"{folder}/loop.pth")  # expect: TRL008


class Alone(LightningLite):
    def run(self):
        torch.save({}, "alone.pth")  # one process


def start(args):
    Lite(devices="auto").run(args)
    Loop(devices=4).run(args.folder)
    Alone(devices=1, accelerator="gpu").run()
