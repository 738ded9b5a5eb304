# Behind a loop, the ranks are missing that have returned inside it, unless each rank may return there in its turn.
import torch.distributed as dist
from mine import rows, write

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()


def first_rank_stops(limit):
    done = 0
    for row in rows:
        write(row, rank)
        done += size
        if rank == 0 and done > limit:
            return  # expect: TRL006
    dist.barrier()


def others_stop():
    for _ in range(3):
        for row in rows:
            if rank != 0:
                return  # expect: TRL006
            write(row)
    dist.barrier()


def all_stop(limit):
    for number, row in enumerate(rows):
        write(row, rank)
        if number > limit:
            return
    dist.barrier()


def each_in_its_turn():
    for number, row in enumerate(rows):
        if number % size == rank:
            return row
    dist.barrier()
    return None


def each_at_its_number():
    for number in range(size):
        if number == rank:
            return rows[number]
    dist.barrier()
    return None


def each_by_a_count():
    turn, left = 0, rank
    while turn < size:
        if turn == rank:
            return rows[turn]
        turn += 1
    for row in rows:
        if left == 0:
            return row
        left -= 1
    dist.barrier()
    return None


class Turns:
    def __init__(self):
        self.rank, self.turn = dist.get_rank(), 0

    def advance(self):
        self.turn += 1

    def counted(self):
        while self.turn < size:
            if self.turn == self.rank:
                return self.turn
            self.turn += 1
        dist.barrier()
        return None

    def advanced(self):
        while self.turn < size:
            if self.turn == self.rank:
                return self.turn
            self.advance()
        dist.barrier()
        return None

    def first_stops(self):
        while self.turn < size:
            if self.rank == 0:
                return  # expect: TRL006
            self.advance()
        dist.barrier()


def first_rank_leaves_the_loop():
    for row in rows:
        if rank == 0:
            break
        write(row)
    dist.barrier()


first_rank_stops(10)
others_stop()
all_stop(10)
each_in_its_turn()
each_at_its_number()
first_rank_leaves_the_loop()
each_by_a_count()
Turns().counted()
Turns().advanced()
Turns().first_stops()
