"""Rows that are cut so that the processes divide them evenly are equally many on each of them."""

from accelerate import PartialState
from accelerate.utils import gather_object
from tqdm import tqdm


def cut(rows):
    state = PartialState()
    left_over = len(rows) % state.num_processes
    rows = rows[: len(rows) - left_over]
    done = []
    with state.split_between_processes(rows) as own:
        for number, row in enumerate(tqdm(own)):
            done.append(row)
            if number % 100 == 0:
                state.wait_for_everyone()
                gather_object(done)


def padded(rows):
    state = PartialState()
    with state.split_between_processes(rows, apply_padding=True) as own:
        for row in own:
            print(row)
            state.wait_for_everyone()


def as_they_are(rows):
    state = PartialState()
    done = []
    with state.split_between_processes(rows) as own:
        for number, row in enumerate(tqdm(own)):
            done.append(row)
            if number % 100 == 0:
                state.wait_for_everyone()  # expect: TRL006
                gather_object(done)


if __name__ == "__main__":
    cut(list(range(100)))
    padded(list(range(100)))
    as_they_are(list(range(100)))
