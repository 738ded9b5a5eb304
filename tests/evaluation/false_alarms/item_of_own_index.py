# The parts of a tuple that a list holds at an index of this rank's own are this rank's own, too.
import torch
from accelerate import PartialState


def draw_pairs(draw_all, prompts):
    state = PartialState()
    tasks = [(index, scaled) for index in range(len(prompts)) for scaled in (False, True)]
    with state.split_between_processes(list(range(len(tasks)))) as own:
        mine = [tasks[index] for index in own]
        for index, scaled in mine:
            torch.save(draw_all(index, scaled), f"{index:04d}.pt")
    for index, scaled in tasks:
        torch.save(draw_all(index, scaled), f"{index:04d}.all.pt")  # expect: TRL008
