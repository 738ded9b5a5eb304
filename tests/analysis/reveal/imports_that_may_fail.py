# What stands in for a library that is not installed does not count: the library does.
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

try:
    from tqdm import tqdm
except ImportError:

    def tqdm(rows, **_):
        return rows


try:
    from tqdm import tqdm as shown
except ModuleNotFoundError:
    shown = lambda rows: rows

try:
    from accelerate import Accelerator
except:

    class Accelerator:
        process_index = 0


try:
    from accelerate import PartialState

    PartialState()
except Exception:  # more may fail than the import

    class PartialState:
        process_index = 0


try:
    from helpers import Rows
except ImportError:

    class Rows:
        pass


loader = DataLoader(Rows(), sampler=DistributedSampler(Rows()))
for batch in tqdm(loader):
    reveal_rank(batch)  # revealed: shard
for batch in shown(loader):
    reveal_rank(batch)  # revealed: shard
reveal_rank(Accelerator().process_index)  # revealed: local(rank)
reveal_rank(PartialState().process_index)  # revealed: unknown


def main():
    dist.init_process_group("nccl")
    for batch in tqdm(loader):
        reveal_rank(batch)  # revealed: shard


main()
