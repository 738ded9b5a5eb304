# Whether a list of what a rank has made of its own rows is empty differs between ranks, as the number of them does.
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


by_slice()
by_number()
of_all_rows()
of_all_ranks()
