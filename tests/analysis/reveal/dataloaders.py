"""The origin of batches: a prepared loader, a sampler that shards, or neither."""

from accelerate import Accelerator
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler
from torch.utils.data.distributed import DistributedSampler as Sampler
from tqdm.auto import tqdm

accelerator = Accelerator()
dataset = load()

plain = DataLoader(dataset, batch_size=2)
for batch in plain:
    reveal_rank(batch["x"])  # revealed: unknown
for batch in DataLoader(dataset, sampler=RandomSampler(dataset)):
    reveal_rank(batch["x"])  # revealed: unknown

sharded = DataLoader(dataset, sampler=DistributedSampler(dataset))
for batch in sharded:
    reveal_rank(batch["x"])  # revealed: shard
sampler = Sampler(dataset, shuffle=True) if option("shuffle") else DistributedSampler(dataset)
for inputs, labels in DataLoader(dataset, batch_size=2, sampler=sampler):
    reveal_rank(inputs)  # revealed: shard
    reveal_rank(labels)  # revealed: shard

batches_of = BatchSampler(DistributedSampler(dataset), 4, drop_last=True)
for batch in DataLoader(dataset, batch_sampler=batches_of):
    reveal_rank(batch["x"])  # revealed: shard
for batch in DataLoader(dataset, batch_sampler=BatchSampler(RandomSampler(dataset), 4, drop_last=True)):
    reveal_rank(batch["x"])  # revealed: unknown


class Repeated(DistributedSampler):
    def __iter__(self):
        return iter([index for index in super().__iter__() for _ in range(3)])


for batch in DataLoader(dataset, sampler=Repeated(dataset)):
    reveal_rank(batch["x"])  # revealed: shard

prepared = accelerator.prepare(plain)
for batch in prepared:
    reveal_rank(batch)  # revealed: shard
    reveal_rank(batch["x"])  # revealed: shard
    reveal_rank(batch.x)  # revealed: shard
    x, y = batch
    reveal_rank(x)  # revealed: shard
    batch = {key: value.to("cuda") for key, value in batch.items()}
    reveal_rank(batch["x"])  # revealed: shard
for batch in accelerator.prepare_data_loader(plain):
    reveal_rank(batch["x"])  # revealed: shard
for step, batch in enumerate(prepared):
    reveal_rank(step)  # revealed: same
    reveal_rank(batch["x"])  # revealed: shard
for batch in tqdm(prepared, disable=not accelerator.is_main_process):
    reveal_rank(batch["x"])  # revealed: shard
for step, batch in tqdm(enumerate(prepared), total=len(prepared)):
    reveal_rank(batch["x"])  # revealed: shard
for (first, second), index in zip(zip(prepared, prepared), range(3)):
    reveal_rank(first["x"])  # revealed: shard
    reveal_rank(index)  # revealed: same
iterator = iter(prepared)
batch = next(iterator)
reveal_rank(batch["x"])  # revealed: shard
reveal_rank(next(iter(sharded))["x"])  # revealed: shard
reveal_rank(len(prepared))  # revealed: same
reveal_rank([batch["x"].mean() for batch in prepared][0])  # revealed: partial(mean)
reveal_rank(sum(batch["x"].sum() for batch in prepared))  # revealed: partial(sum)
reveal_rank(len(prepared.dataset))  # revealed: same


def batches(loader):
    while True:
        for batch in loader:
            yield batch


for batch in batches(prepared):
    reveal_rank(batch["x"])  # revealed: shard
    break
loaders = {"train": prepared, "eval": accelerator.prepare(DataLoader(dataset))}
for name, loader in loaders.items():
    for batch in loader:
        reveal_rank(batch["x"])  # revealed: shard
for batch in loaders["train"]:
    reveal_rank(batch["x"])  # revealed: shard
