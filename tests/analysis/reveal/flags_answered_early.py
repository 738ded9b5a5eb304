"""A flag that a function returns early by the clock differs, whatever the other result is; by the rank it may not."""

import time

from accelerate import Accelerator
from somewhere import asked

accelerator = Accelerator()


def is_due(last, steps):
    if last is None:
        return False
    if time.time() - last > 60:
        return True
    return 0 < asked() <= steps


reveal_rank(is_due(time.time(), 3))  # revealed: local(clock)


def is_due_after(steps):
    if steps is None:
        return False
    return 0 < asked() <= steps


reveal_rank(is_due_after(asked()))  # revealed: unknown


def is_shown(steps):
    if not accelerator.is_main_process:
        return False
    return 0 < asked() <= steps


reveal_rank(is_shown(3))  # revealed: unknown


def agreed_or_late(last):
    if time.time() - last > 60:
        return asked()
    return asked()


reveal_rank(agreed_or_late(0))  # revealed: unknown
