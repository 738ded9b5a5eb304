# A decorator of one's own that lets only some ranks run a function; others order the ranks, share the result, or meet.
import functools

import torch
import torch.distributed as dist


def on_main(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        if dist.get_rank() == 0:
            return function(*args, **kwargs)

    return inner


def only_on(rank):
    def decorate(function):
        def inner(*args):
            is_it = dist.get_rank() == rank
            if not is_it:
                return None
            return function(*args)

        return inner

    return decorate


def with_pause(function):
    def inner(*args):
        result = function(*args) if dist.get_rank() == 0 else None
        dist.barrier()
        return result

    return inner


def main_first(function):
    def inner(*args):
        if dist.get_rank() == 0:
            result = function(*args)
        dist.barrier()
        if dist.get_rank() != 0:
            result = function(*args)
        return result

    return inner


def shared(function):
    def inner(*args):
        box = [function(*args) if dist.get_rank() == 0 else None]
        dist.broadcast_object_list(box)
        return box[0]

    return inner


def while_others_meet(function):
    def inner(*args):
        if dist.get_rank() == 0:
            function(*args)
        else:
            dist.barrier()

    return inner


def with_default(function):
    def inner(*args):
        return function(*args) if dist.get_rank() == 0 else ""

    return inner


def if_enabled(function):
    def inner(*args):
        if torch.cuda.is_available():
            return function(*args)

    return inner


def on_first(method):
    def inner(self, *args):
        if self.rank == 0:
            method(self, *args)

    return inner


class Runner:
    def __init__(self):
        self.rank = dist.get_rank()

    @on_first
    def finish(self):
        dist.barrier()  # expect: TRL006

    @on_first
    def show(self):
        print("done")


@on_main
def validate():
    dist.barrier()  # expect: TRL006


@only_on(0)
def validate_on_one():
    dist.barrier()  # expect: TRL006


@with_pause
def validate_and_wait():
    print("validated")


@main_first
def prepare():
    dist.barrier()


@while_others_meet
def join():
    dist.barrier()


@if_enabled
def synchronised():
    dist.barrier()


@on_main
def notes():
    with open("notes.txt") as file:
        return file.read()


@with_pause
def other_notes():
    with open("notes.txt") as file:
        return file.read()


@shared
def shared_notes():
    with open("notes.txt") as file:
        return file.read()


@with_default
def notes_or_nothing():
    with open("notes.txt") as file:
        return file.read()


def main():
    dist.init_process_group("nccl")
    validate()
    validate_on_one()
    validate_and_wait()
    prepare()
    join()
    synchronised()
    runner = Runner()
    runner.finish()
    runner.show()
    text = notes()
    text.strip()  # expect: TRL017
    text = other_notes()
    text.strip()  # expect: TRL017
    text = notes()
    if dist.get_rank() == 0:
        text.strip()
    shared_notes().strip()
    notes_or_nothing().strip()


if __name__ == "__main__":
    main()
