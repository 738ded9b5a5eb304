# `islice(rows, rank, None, size)` gives a rank rows of its own, which may be none; from another place on, the same ones.
from itertools import islice

import torch.distributed as dist
from mine import answer, questions

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()


def numbered():
    answers = []
    for number, question in islice(enumerate(questions), rank, None, size):
        answers.append((number, answer(question)))
    if len(answers) == 0:
        return None  # expect: TRL006
    every = [None] * size
    dist.all_gather_object(every, answers)
    return every


def limited(most):
    answers = [answer(question) for question in islice(questions, rank, most, size)]
    if answers:
        dist.barrier()  # expect: TRL006


def of_all(most):
    answers = [answer(question) for question in islice(questions, 0, most, size)]
    if answers:
        dist.barrier()
    firsts = [answer(question) for question in islice(questions, most)]
    if firsts:
        dist.barrier()


numbered()
limited(100)
of_all(100)
