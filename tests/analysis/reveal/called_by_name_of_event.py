# Callbacks in a list, or a single one: iterating over an object in sight that has no `__iter__` raises.
from torch.distributed import get_rank


class Writer:
    def on_end(self, text):
        reveal_rank(text)  # revealed: same
        return get_rank()


class Several:
    def __iter__(self):
        yield get_rank()


def listed(callbacks):
    return [callbacks] if callable(callbacks) else list(callbacks)


class Callbacks:
    def __init__(self, callbacks):
        self.callbacks = listed(callbacks)

    def call(self, name, text):
        for callback in self.callbacks:
            method = getattr(callback, name, None)
            reveal_rank(method is None)  # revealed: same
            reveal_rank(method(text))  # revealed: local(rank)


class Others:
    def __init__(self, callbacks):
        self.callbacks = listed(callbacks)

    def call(self, name, text):
        for callback in self.callbacks:
            reveal_rank(callback)  # revealed: unknown
            method = getattr(callback, name, None)
            reveal_rank(method is None)  # revealed: unknown


Callbacks(Writer()).call("on_end", "text")
Others(Several()).call("on_end", "text")
reveal_rank(list(Writer()))  # revealed: same
