# Rows that each rank has drawn by itself are dealt in a loop over their numbers, in turns, or to a function.
import random

import torch.distributed as dist
from accelerate import PartialState
from datasets import load_dataset
from mine import answer, questions
from tqdm import tqdm


def by_number(rank, size):
    rows = questions()
    random.shuffle(rows)  # expect: TRL015
    for i in tqdm(range(rank, len(rows), size), disable=rank != 0):
        answer(rows[i])


def in_turns(rank, size):
    rows = random.sample(questions(), 100)  # expect: TRL015
    for i, row in enumerate(tqdm(rows)):
        if i % size != rank:
            continue
        answer(row)


def run(rows, rank, size):
    for i in range(rank, len(rows), size):
        answer(rows[i])


def passed_on(rank, size):
    rows = random.sample(questions(), 100)  # expect: TRL015
    run(rows, rank, size)


def records():
    rows = load_dataset("questions", split="test").shuffle()  # expect: TRL015
    prompts = [{"id": i, "prompt": f"Question: {row['question']}"} for i, row in enumerate(rows)]
    with PartialState().split_between_processes(prompts) as own:
        for prompt in own:
            answer(prompt)


def all_alike(rank, size):
    rows = questions()
    random.Random(size).shuffle(rows)
    for i in range(rank, len(rows), size):
        answer(rows[i])
    kept = load_dataset("questions", split="test").shuffle(seed=1)
    prompts = [{"id": i, "prompt": f"Question: {row['question']}"} for i, row in enumerate(kept)]
    with PartialState().split_between_processes(prompts) as own:
        for prompt in own:
            answer(prompt)


def all_rows(rank, size):
    rows = questions()
    random.shuffle(rows)
    for i in range(0, len(rows), size):
        answer(rows[i])
    for i, row in enumerate(rows):
        if i % 2 == rank:
            answer(row)
        if i % size != 0:
            answer(row)


dist.init_process_group("nccl")
by_number(dist.get_rank(), dist.get_world_size())
in_turns(dist.get_rank(), dist.get_world_size())
passed_on(dist.get_rank(), dist.get_world_size())
records()
all_alike(dist.get_rank(), dist.get_world_size())
all_rows(dist.get_rank(), dist.get_world_size())
