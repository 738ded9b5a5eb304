# Accelerate's own progress bar passes on the loader that it gets.
from accelerate import Accelerator
from accelerate.utils import tqdm
from mine import rows, score
from torch.utils.data import DataLoader

accelerator = Accelerator()
loader = accelerator.prepare(DataLoader(rows))
for batch in tqdm(loader, desc="scores"):
    accelerator.gather(score(batch).cpu())  # expect: TRL011
    accelerator.gather(batch["x"].sum().item())  # expect: TRL001
    accelerator.gather(batch["x"].sum())
