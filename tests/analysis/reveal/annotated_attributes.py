# A class annotates an attribute with a class in sight: an object of it, where nothing is known of what is assigned.
from torch.distributed import get_rank


class Method:
    def number(self):
        return get_rank()


class Runner:
    found: Method
    given: Method | None
    text: str
    known: Method

    def __init__(self, config):
        self.found = config.made()
        self.given = config.made()
        self.text = config.made()
        self.known = 1

    def show(self):
        reveal_rank(self.found.number())  # revealed: local(rank)
        reveal_rank(self.given.number())  # revealed: local(rank)
        reveal_rank(self.text)  # revealed: unknown
        reveal_rank(self.known)  # revealed: same


Runner(read()).show()
