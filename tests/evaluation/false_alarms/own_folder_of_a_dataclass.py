# Each process draws the name of a folder that a dataclass of settings completes itself with.
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import torch
from accelerate import Accelerator


@dataclass
class RunConfig:
    root: str
    model: str
    folder: Path = field(init=False)
    shared: Path = field(init=False)

    def __post_init__(self):
        self.folder = Path(self.root) / Path(self.model).stem / f"{self.model}_{uuid.uuid1().hex}"
        self.shared = Path(self.root) / self.model


def main(config: RunConfig, model, loader, optimizer):
    accelerator = Accelerator()
    model, loader, optimizer = accelerator.prepare(model, loader, optimizer)
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()
    torch.save(accelerator.unwrap_model(model).state_dict(), config.folder / "last.pt")
    torch.save(accelerator.unwrap_model(model).state_dict(), config.shared / "last.pt")  # expect: TRL008
