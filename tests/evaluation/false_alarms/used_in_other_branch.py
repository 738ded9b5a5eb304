# What a part of the module inside the wrapper computes is read only under the opposite condition: no loss contains it.
from accelerate import Accelerator
from diffusers import UNet2DConditionModel
from torch import nn
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.actions = nn.Embedding(8, 16)
        self.unet = UNet2DConditionModel()

    def forward(self, ids, noisy, steps):
        return self.unet(noisy, steps, encoder_hidden_states=self.actions(ids)).sample


def train(args, loader, optimizer):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(Both(), optimizer, loader)
    for batch in loader:
        if args.without_actions:
            states = batch["states"]
        else:
            part = model.module.actions if isinstance(model, DistributedDataParallel) else model.actions
            states = part(batch["ids"])
        if args.without_actions:
            predicted = states + batch["noisy"]
        else:
            predicted = model(batch["ids"], batch["noisy"], batch["steps"])
        loss = mse_loss(predicted, batch["noise"])
        accelerator.backward(loss)
        optimizer.step()


def train_with_states(args, loader, optimizer):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(Both(), optimizer, loader)
    for batch in loader:
        if args.without_actions:
            states = batch["states"]
        else:
            part = model.module.actions if isinstance(model, DistributedDataParallel) else model.actions
            states = part(batch["ids"])  # expect: TRL009
        loss = mse_loss(states, batch["noise"])
        accelerator.backward(loss)
        optimizer.step()
