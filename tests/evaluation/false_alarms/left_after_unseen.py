"""One rank leaves a round after a call out of sight, which may be a collective, and before a broadcast."""

import somewhere
import torch.distributed as dist


def left_after_all_have_been_through(rank):
    while True:
        order = ["rest"]
        if rank == 0:
            rows = somewhere.sync_rows()
            if somewhere.is_open():
                somewhere.sync_rows()
                if len(rows) < 8:
                    continue  # expect: TRL006
                somewhere.wait_for_more()
            order = ["train"]
        dist.broadcast_object_list(order, src=0)
        if order[0] == "stop":
            break


def told_on_the_way_out(rank):
    while True:
        order = ["rest"]
        if rank == 0:
            rows = somewhere.sync_rows()
            if len(rows) < 8:
                somewhere.sync_that_there_is_nothing()
                continue
            order = ["train"]
        dist.broadcast_object_list(order, src=0)
        if order[0] == "stop":
            break


def told_in_each_way_out(rank):
    while True:
        order = ["rest"]
        if rank == 0:
            rows = somewhere.rows()
            if rows is None:
                somewhere.sync_that_there_is_nothing()
                break
            if len(rows) < 8:
                somewhere.sync_that_there_is_nothing()
                continue
            order = ["train"]
        dist.broadcast_object_list(order, src=0)
        if order[0] == "stop":
            break


def told_on_one_of_two_ways_out(rank):
    while True:
        order = ["rest"]
        if rank == 0:
            rows = somewhere.rows()
            if rows is None:
                somewhere.sync_that_there_is_nothing()
                break
            elif len(rows) < 8:
                continue  # expect: TRL006
            order = ["train"]
        dist.broadcast_object_list(order, src=0)
        if order[0] == "stop":
            break


def told_where_all_ways_lead_out(rank):
    while True:
        order = ["rest"]
        if rank == 0:
            rows = somewhere.rows()
            if len(rows) < 8:
                somewhere.sync_that_there_is_nothing()
                if rows:
                    print("too few")
                    continue
                elif rows is None:
                    break
                else:
                    continue
            order = ["train"]
        dist.broadcast_object_list(order, src=0)
        if order[0] == "stop":
            break


def others_wait_too(rank):
    while True:
        order = ["rest"]
        if rank == 0:
            rows = somewhere.sync_rows()
            if len(rows) < 8:
                continue
        else:
            somewhere.sync_rows()
        dist.broadcast_object_list(order, src=0)


def others_leave_too(rank):
    while True:
        order = ["rest"]
        if rank == 0:
            rows = somewhere.sync_rows()
            if len(rows) < 8:
                continue
        elif somewhere.received() is None:
            continue
        dist.broadcast_object_list(order, src=0)


def left_for_good(rank):
    if rank == 0:
        rows = somewhere.sync_rows()
        for row in rows:
            somewhere.wait_for(row)
            if row is None:
                return
    dist.barrier()


def met_on_the_way_out(rank):
    while True:
        order = ["rest"]
        if rank == 0:
            rows = somewhere.sync_rows()
            if len(rows) < 8:
                dist.broadcast_object_list(order, src=0)
                continue
            order = ["train"]
        dist.broadcast_object_list(order, src=0)
        somewhere.train(order)


def nothing_comes(rank):
    while True:
        if rank == 0:
            rows = somewhere.sync_rows()
            if len(rows) < 8:
                continue
        print(rank)


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    for each in (left_for_good, nothing_comes):
        each(rank)
    left_after_all_have_been_through(rank)
    told_on_the_way_out(rank)
    told_in_each_way_out(rank)
    told_on_one_of_two_ways_out(rank)
    told_where_all_ways_lead_out(rank)
    others_wait_too(rank)
    others_leave_too(rank)
    left_for_good(rank)
    met_on_the_way_out(rank)
    nothing_comes(rank)


if __name__ == "__main__":
    main()
