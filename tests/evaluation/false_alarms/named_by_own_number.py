# A file's name is built from this rank's number indirectly.
import torch
from accelerate import Accelerator

accelerator = Accelerator()
rank, world = accelerator.process_index, accelerator.num_processes
rows = torch.zeros(8)
torch.save(rows, "-".join(["rows", str(rank)]))
torch.save(rows, "-".join(map(str, ("rows", rank))))
torch.save(rows, ("first", "second")[rank])
torch.save(rows, {0: "first"}.get(rank, "other"))
for part in [number for number in range(rank, 64, world)]:
    torch.save(rows, f"part-{part}")
for part in [number for number in range(0, 64, 8)]:
    torch.save(rows, f"part-{part}")  # expect: TRL008
torch.save(rows, "-".join(["rows", str(world)]))  # expect: TRL008
torch.save(rows, ("first", "second")[world - 1])  # expect: TRL008
torch.save(rows, {2: "first"}.get(world, "other"))  # expect: TRL008
