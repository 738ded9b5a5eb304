# Accelerate starts the trackers' runs on the main process only.
import wandb
from accelerate import Accelerator
from somewhere import make, make_loader

accelerator = Accelerator(log_with="wandb")
net, loader = accelerator.prepare(make(), make_loader())
accelerator.init_trackers("project")
for batch in loader:
    loss = net(batch).mean()
    accelerator.backward(loss)
    accelerator.log({"rate": 3})
    wandb.log({"rate": 3})  # expect: TRL008
    wandb.run.log({"rate": 3})  # expect: TRL008
    if accelerator.is_main_process:
        wandb.log({"rate": 3})
