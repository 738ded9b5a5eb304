# Each process writes its own curve, named by its number; a name of all shows each the other's.
import os

from accelerate import Accelerator
from torch.utils.tensorboard import SummaryWriter


def train(model, loader, optimizer, folder):
    accelerator = Accelerator()
    writer = SummaryWriter(os.path.join(folder, str(accelerator.process_index)))
    model, loader, optimizer = accelerator.prepare(model, loader, optimizer)
    total, step = 0, 0
    for batch in loader:
        loss = model(**batch).loss
        total += loss.detach().float()
        accelerator.backward(loss)
        optimizer.step()
        if accelerator.sync_gradients:
            step += 1
            writer.add_scalar("loss/gpu-{}".format(accelerator.process_index), total / 4, step)  # noqa: UP032
            writer.add_scalar(f"loss/{accelerator.process_index}", total / 4, step)
            writer.add_scalar(f"loss/{accelerator.num_processes}", total / 4, step)  # expect: TRL003
            if accelerator.is_main_process:
                writer.add_scalar(f"loss/main-{accelerator.process_index}", total / 4, step)  # expect: TRL003
            total = 0
