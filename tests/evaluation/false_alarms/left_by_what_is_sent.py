"""Rank 0 leaves by an answer that it sends to the others, which leave by what they have received."""

import os

import torch
import torch.distributed as dist


def objects():
    if dist.get_rank() == 0:
        done = os.path.exists("done")
        dist.broadcast_object_list([str(done)], src=0)
        if done:
            return
    else:
        box = [None]
        dist.broadcast_object_list(box, src=0)
        if box[0] == "True":
            return
    dist.barrier()


def tensors(epochs):
    for _ in range(epochs):
        if dist.get_rank() == 0:
            stops = os.path.exists("stop")
            flag = torch.tensor([int(stops)], device="cuda")
            dist.broadcast(flag, 0)
            if stops:
                break
        else:
            flag = torch.zeros(1, dtype=torch.int, device="cuda")
            dist.broadcast(flag, 0)
            if flag.item() > 0:
                break
        dist.barrier()


def by_something_else(path):
    if dist.get_rank() == 0:
        done = os.path.exists("done")
        dist.broadcast_object_list([str(done)], src=0)
        if done:
            return  # expect: TRL006
    else:
        box = [None]
        dist.broadcast_object_list(box, src=0)
        if os.path.exists(path):
            return
    dist.barrier()


def only_the_first():
    if dist.get_rank() == 0:
        done = os.path.exists("done")
        dist.broadcast_object_list([str(done)], src=0)
        if done:
            return  # expect: TRL006
    else:
        box = [None]
        dist.broadcast_object_list(box, src=0)
        print(box[0])
    dist.barrier()


def by_what_is_not_sent():
    if dist.get_rank() == 0:
        done = os.path.exists("done")
        dist.broadcast_object_list([str(done)], src=0)
        if os.path.exists("stop"):
            return  # expect: TRL006
    else:
        box = [None]
        dist.broadcast_object_list(box, src=0)
        if box[0] == "True":
            return
    dist.barrier()


def before_it_is_sent():
    if dist.get_rank() == 0:
        done = os.path.exists("done")
        if done:
            return  # expect: TRL006
        dist.broadcast_object_list([str(done)], src=0)
    else:
        box = [None]
        dist.broadcast_object_list(box, src=0)
        if box[0] == "True":
            return
    dist.barrier()


def where_it_is_not_true():
    if dist.get_rank() == 0:
        done = os.path.exists("done")
        dist.broadcast_object_list([done], src=0)
        if not done:
            return  # expect: TRL006
    else:
        box = [None]
        dist.broadcast_object_list(box, src=0)
        if box[0]:
            return
    dist.barrier()


def where_another_answer_is_named():
    if dist.get_rank() == 0:
        done = os.path.exists("done")
        dist.broadcast_object_list([str(done)], src=0)
        if done:
            return  # expect: TRL006
    else:
        box = [None]
        dist.broadcast_object_list(box, src=0)
        if box[0] == "False":
            return
    dist.barrier()


def where_it_is_another_number():
    if dist.get_rank() == 0:
        done = os.path.exists("done")
        flag = torch.tensor([int(done)], device="cuda")
        dist.broadcast(flag, 0)
        if done:
            return  # expect: TRL006
    else:
        flag = torch.zeros(1, dtype=torch.int, device="cuda")
        dist.broadcast(flag, 0)
        if flag.item() != 1:
            return
    dist.barrier()


def sent_by_another_rank():
    if dist.get_rank() == 0:
        done = os.path.exists("done")
        dist.broadcast_object_list([done], src=1)
        if done:
            return  # expect: TRL006
    else:
        box = [None]
        dist.broadcast_object_list(box, src=1)
        if box[0]:
            return
    dist.barrier()


def errors(check):
    if dist.get_rank() == 0:
        error = check()
        dist.broadcast_object_list([error])
        if error is not None:
            raise RuntimeError(error)
    else:
        box = [None]
        dist.broadcast_object_list(box)
        if box[0] is not None:
            raise RuntimeError(box[0])
    dist.barrier()


def by_a_number_that_is_drawn():
    if dist.get_rank() == 0:
        dist.broadcast(torch.tensor([1.0], device="cuda"), src=0)
        if torch.rand(1) > 0.5:
            return  # expect: TRL006
    else:
        flag = torch.zeros(1, device="cuda")
        dist.broadcast(flag, src=0)
        if flag.item() > 0:
            return
    dist.barrier()


def broadcast(message=None):
    if dist.get_world_size() == 1:
        return message
    box = [message]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def by_helper():
    if dist.get_rank() == 0:
        with open("state") as file:
            done = file.read() == "done"
            _ = broadcast(str(done))
            if done:
                return
    else:
        done = broadcast()
        if done == "True":
            return
        if done != "False":
            raise OSError(done)
    dist.barrier()


def by_helper_where_it_is_not_true():
    if dist.get_rank() == 0:
        done = os.path.exists("done")
        broadcast(str(done))
        if done:
            return  # expect: TRL006
    else:
        done = broadcast()
        if done == "False":
            return
    dist.barrier()


def by_helper_whose_result_is_left():
    if dist.get_rank() == 0:
        done = os.path.exists("done")
        broadcast(str(done))
        if done:
            return  # expect: TRL006
    else:
        broadcast()
        stop = os.path.exists("stop")
        if stop:
            return
    dist.barrier()


dist.init_process_group("nccl")
by_helper()
by_helper_where_it_is_not_true()
by_helper_whose_result_is_left()
objects()
tensors(3)
by_something_else("done")
only_the_first()
by_what_is_not_sent()
before_it_is_sent()
where_it_is_not_true()
by_a_number_that_is_drawn()
where_another_answer_is_named()
where_it_is_another_number()
sent_by_another_rank()
errors(os.getpid)
