# What is bound under a setting and the rank together is lacking on the other ranks where the setting alone holds, and
# ranks that have it may leave before the others use it.
import random

import torch.distributed as dist


def under_a_setting(config, loader):
    rank = dist.get_rank()
    if config.plot is not None and rank == 0:
        chosen = random.sample(range(len(loader)), 3)
    for index, batch in enumerate(loader):
        if config.plot is not None and index in chosen:  # expect: TRL017
            print(batch)


def under_both(config, loader):
    rank = dist.get_rank()
    if config.plot is not None and rank == 0:
        chosen = random.sample(range(len(loader)), 3)
    for index, batch in enumerate(loader):
        if config.plot is not None and rank == 0 and index in chosen:
            print(batch)


def under_something_unknown(ask, loader):
    if ask("plot") is not None and dist.get_rank() == 0:
        chosen = random.sample(range(len(loader)), 3)
    for index, batch in enumerate(loader):
        if ask("show") is not None and index in chosen:
            print(batch)


def left_by_those_that_have_it(ask, is_last):
    while True:
        if dist.get_rank() == 0:
            text = ask()
            if is_last(text):
                break
            images = text.images
        print(images)  # expect: TRL017


def left_by_the_others(ask, is_last):
    while True:
        if dist.get_rank() == 0:
            images = ask().images
        elif is_last():
            break
        else:
            continue
        print(images)
