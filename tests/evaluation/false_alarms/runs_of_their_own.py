# If each process starts its own run, its values are logged there: the start is what has to be fixed.
import wandb
from accelerate import Accelerator


def main(losses):
    accelerator = Accelerator()
    wandb.init(project="ranks")  # expect: TRL008
    for loss in losses:
        accelerator.wait_for_everyone()
        wandb.log({"loss": loss})


main([1.0, 2.0])
