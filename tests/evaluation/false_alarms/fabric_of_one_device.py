# A Fabric with one device starts no other process, whatever GPUs there are; without `devices` it starts one per GPU.
import lightning as L
import wandb

settings = {"devices": 1, "precision": "16-mixed"}


def train():
    fabric = L.Fabric(devices=settings["devices"], precision=settings["precision"])
    fabric.launch()
    wandb.init(project="one")


def train_on_nodes():
    fabric = L.Fabric(devices=1, num_nodes=2)
    fabric.launch()
    wandb.init(project="nodes")  # expect: TRL008


def train_on_all():
    fabric = L.Fabric(precision=settings["precision"])
    fabric.launch()
    wandb.init(project="all")  # expect: TRL008
