# Whether a list of what a rank has made of its own rows is empty differs between ranks, as the number of them does.
import json

import torch.distributed as dist
from mine import answer, questions

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()


def by_slice():
    answers = []
    for question in questions[rank::size]:
        answers.append(answer(question))
    if answers:
        dist.barrier()  # expect: TRL006


def by_number():
    answers = []
    for i in range(rank, len(questions), size):
        answers.append(answer(questions[i]))
    if not answers:
        return []  # expect: TRL006
    dist.barrier()
    return answers


def of_all_rows():
    answers = []
    for question in questions:
        answers.append(answer(question))
    if answers:
        dist.barrier()


def of_all_ranks():
    answers, every = [], [None] * size
    for question in questions[rank::size]:
        answers.append(answer(question))
    dist.all_gather_object(every, answers)
    whole = [each for part in every for each in part]
    if whole:
        dist.barrier()
    return answers if answers else None


def of_blocks():
    each = len(questions) // size
    answers = [answer(question) for question in questions[rank * each : (rank + 1) * each]]
    if answers:
        dist.barrier()


def of_rows_made_longer():
    order = list(range(len(questions)))
    order += order[: -len(order) % size]
    answers = [answer(questions[i]) for i in order[rank::size]]
    if answers:
        dist.barrier()


def written_by_all():
    answers = [answer(question) for question in questions[rank::size]]
    if answers:
        with open("answers.json", "w") as file:  # expect: TRL008
            json.dump(answers, file)
    if not answers:
        return
    with open("answers.txt", "w") as file:  # expect: TRL008
        file.write(str(answers))


by_slice()
by_number()
of_all_rows()
of_all_ranks()
of_blocks()
of_rows_made_longer()
written_by_all()
