# What a list holds at an index of this rank's own is this rank's own: a name in a shared folder, or a part of a tuple.
import os

from accelerate import PartialState


def names_of(base):
    state = PartialState()
    names = []
    for root, _, files in os.walk(base):
        for file in files:
            names.append(os.path.join(root, file))
    reveal_rank(names[0])  # revealed: local(io)
    with state.split_between_processes(list(range(len(names)))) as own:
        for index in own:
            reveal_rank(names[index])  # revealed: local(data, io)


def pairs_of(prompts):
    state = PartialState()
    tasks = [(index, True) for index in range(len(prompts))]
    with state.split_between_processes(list(range(len(tasks)))) as own:
        for task in [tasks[index] for index in own]:
            number, scaled = task
            reveal_rank(number)  # revealed: shard
            reveal_rank(scaled)  # revealed: shard
    for number, scaled in tasks:
        reveal_rank(number)  # revealed: same
        reveal_rank(scaled)  # revealed: same
