# A loss that a setting chooses, or that is moved to a device, gives this rank's own mean; gathered, or kept for each
# row, it is right.
import torch
import wandb
from accelerate import Accelerator
from torch import nn

accelerator = Accelerator()
settings = torch.load("settings.pt")
model, loader, others = accelerator.prepare(
    nn.Linear(2, 1), *(torch.utils.data.DataLoader(torch.load(name)) for name in ("rows.pt", "others.pt"))
)
measure = nn.MSELoss() if settings.square else nn.SmoothL1Loss()
measure = measure.to(accelerator.device)
of_rows = nn.MSELoss(reduction="none").to(accelerator.device)
model.eval()
own, all_ranks, rows = [], [], []
for batch in others:
    with torch.no_grad():
        outputs = model(batch["x"])
    own.append(measure(outputs, batch["y"]).item())
    all_ranks.append(accelerator.gather(measure(outputs, batch["y"])).mean().item())
    rows.append(accelerator.gather_for_metrics(of_rows(outputs, batch["y"]).mean(1)))
if accelerator.is_main_process:
    wandb.log({"validation/rows": torch.cat(rows).mean().item()})
    wandb.log({"validation/error": sum(all_ranks) / len(all_ranks)})
    wandb.log({"validation/own": sum(own) / len(own)})  # expect: TRL003
