# Rows in an order of each rank's own, of which each rank takes a part: by a helper of a library, or by its number.
import random

from accelerate import Accelerator, PartialState
from datasets import load_dataset
from datasets.distributed import split_dataset_by_node


def split_by_accelerator(accelerator):
    prompts = load_dataset("prompts", split="train").shuffle()  # expect: TRL015
    with accelerator.split_between_processes(prompts) as own:
        print(own)


def split_a_list():
    prompts = [line.strip() for line in open("prompts.txt")]
    random.shuffle(prompts)  # expect: TRL015
    with PartialState().split_between_processes(prompts) as own:
        print(own)


def split_a_column(accelerator):
    prompts = load_dataset("prompts", split="train").shuffle()["prompt"][:100]  # expect: TRL015
    with accelerator.split_between_processes(prompts) as own:
        print(own)


def split_its_list(accelerator):
    prompts = load_dataset("prompts", split="train").shuffle()["prompt"]  # expect: TRL015
    with accelerator.split_between_processes(list(prompts)) as own:
        print(own)


def split_the_list_of_some(accelerator):
    prompts = load_dataset("prompts", split="train").shuffle()["prompt"][:100]  # expect: TRL015
    with accelerator.split_between_processes(list(prompts)) as own:
        print(own)


def take_a_shard(accelerator):
    prompts = load_dataset("prompts", split="train").shuffle()  # expect: TRL015
    print(prompts.shard(num_shards=accelerator.num_processes, index=accelerator.process_index))


def take_those_of_a_node(accelerator):
    prompts = load_dataset("prompts", split="train").shuffle()  # expect: TRL015
    print(split_dataset_by_node(prompts, rank=accelerator.process_index, world_size=accelerator.num_processes))


def draw_the_same(accelerator):
    prompts = load_dataset("prompts", split="train").shuffle(seed=3)
    with accelerator.split_between_processes(prompts) as own:
        print(own)
    print(prompts.shard(num_shards=accelerator.num_processes, index=accelerator.process_index))


def mix_its_own_part(accelerator):
    prompts = load_dataset("prompts", split="train")
    with accelerator.split_between_processes(list(prompts["prompt"])) as own:
        random.shuffle(own)
        print(own)
    part = prompts.shard(num_shards=accelerator.num_processes, index=accelerator.process_index).shuffle()
    print(part)


def store_in_files(accelerator):
    # Each process writes one of a number of files, whatever its rank.
    prompts = load_dataset("prompts", split="train").shuffle()
    for index in range(8):
        print(prompts.shard(num_shards=8, index=index))


def main():
    accelerator = Accelerator()
    split_by_accelerator(accelerator)
    split_a_list()
    split_a_column(accelerator)
    split_its_list(accelerator)
    split_the_list_of_some(accelerator)
    take_a_shard(accelerator)
    take_those_of_a_node(accelerator)
    draw_the_same(accelerator)
    mix_its_own_part(accelerator)
    store_in_files(accelerator)


main()
