# An engine on one branch, and a model that DDP wraps on the other: its call is known in both cases.
import deepspeed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

model = build()
if args.enable_deepspeed:
    model, optimizer, _, _ = deepspeed.initialize(args=args, model=model)
else:
    model = DistributedDataParallel(model)
for batch in DataLoader(rows(), sampler=DistributedSampler(rows())):
    reveal_rank(model(batch).loss)  # revealed: local(data)
