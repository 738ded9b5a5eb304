"""An object that is made once, with what the launcher tells."""

from . import envs, plain
from .envs import LOCAL_RANK


class World:
    def __init__(self):
        self.rank = envs.RANK
        self.size = envs.WORLD_SIZE
        self.host = envs.MASTER_ADDR
        self.number = plain.RANK
        # The table does not have it.
        self.group = envs.GROUP_RANK


_WORLD = None


def get_world():
    global _WORLD
    if _WORLD is None:
        _WORLD = World()
    return _WORLD


def main():
    reveal_rank(get_world().rank)  # revealed: local(rank)
    reveal_rank(LOCAL_RANK)  # revealed: local(rank)
    reveal_rank(get_world().size)  # revealed: same
    reveal_rank(get_world().host)  # revealed: unknown
    reveal_rank(get_world().number)  # revealed: unknown
    reveal_rank(get_world().group)  # revealed: unknown
