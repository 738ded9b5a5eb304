# Even ranks wait before the block and odd ones after it: each rank reaches two barriers.
import torch.distributed as dist
from transformers import AutoModel, HfArgumentParser, TrainingArguments


class OneAfterTheOther:
    def __init__(self, local_rank, world_size):
        self.local_rank = local_rank
        self.world_size = world_size

    def __enter__(self):
        if self.world_size > 1 and self.local_rank % 2 == 0:
            dist.barrier()
        return self

    def __exit__(self, *args):
        if self.world_size > 1:
            if self.local_rank % 2 == 1:
                dist.barrier()
            dist.barrier()


def odd_ones_alone(local_rank):
    if local_rank % 2 == 1:
        dist.barrier()  # expect: TRL006


def main():
    (args,) = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
    with OneAfterTheOther(args.local_rank, args.world_size):
        model = AutoModel.from_pretrained("tiny")
    odd_ones_alone(args.local_rank)
    return model


main()
