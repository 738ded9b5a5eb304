"""A `while` that begins ends where its body may assign what its test reads: what follows is reached."""

import torch.distributed as dist


def counted(settings):
    done = False
    steps = 0
    while not done:
        steps += settings.batch
        done = steps >= settings.total
    reveal_rank(dist.get_rank())  # revealed: local(rank)


def on_one_branch(queue):
    going = True
    while going:
        if queue.empty():
            going = False
    reveal_rank(1.0)  # revealed: same


def by_number(most):
    left = 3
    while left:
        left -= 1
    reveal_rank(2.0)  # revealed: same


def in_a_list(work):
    open_jobs = [work]
    while open_jobs:
        open_jobs.pop()
    reveal_rank(3.0)  # revealed: same


def of_an_object(job):
    job.done = False
    while not job.done:
        job.done = job.step()
    reveal_rank(4.0)  # revealed: same


def in_a_method(job):
    job.done = False
    while not job.done:
        job.step()
    reveal_rank(5.0)  # revealed: same


def never_assigned(queue):
    going = True
    while going:
        queue.serve()
    reveal_rank(6.0)  # revealed: never


def assigned_the_same(queue):
    going = True
    while going:
        queue.serve()
        going = True
    reveal_rank(7.0)  # revealed: never


def left_by_break(queue):
    going = True
    while going:
        if queue.empty():
            break
    reveal_rank(8.0)  # revealed: same


counted(None)
