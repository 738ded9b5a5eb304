# Objects that say by themselves whether they are true, or equal to a number: as the rank decides.
import torch
import torch.distributed as dist


class Context:
    def __init__(self):
        self.rank = dist.get_rank()

    def __bool__(self):
        return self.rank == 0


class Share:
    def __init__(self):
        self.rank = dist.get_rank()

    def __len__(self):
        return 1 if self.rank == 0 else 0


class Rank:
    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return self.number == other

    def __hash__(self):
        return hash(self.number)

    def __lt__(self, other):
        return self.number < other

    def __int__(self):
        return self.number


class Log:
    def __init__(self):
        self.lines = []

    def __bool__(self):
        return True

    def __len__(self):
        return len(self.lines)

    def __eq__(self, other):
        return self.lines == other.lines


def main(is_verbose):
    dist.init_process_group("nccl")
    weights = torch.nn.Linear(2, 2).state_dict()
    context, share, rank, log = Context(), Share(), Rank(dist.get_rank()), Log()
    if context:
        torch.save(weights, "context.pt")
    if is_verbose and context:
        torch.save(weights, "verbose.pt")
    if not context:
        print("waits")
    else:
        torch.save(weights, "else.pt")
    if bool(context):
        torch.save(weights, "bool.pt")
    path = "chosen.pt" if context else None
    if path is not None:
        torch.save(weights, path)
    if share:
        torch.save(weights, "share.pt")
    if len(share) > 0:
        torch.save(weights, "len.pt")
    if rank == 0:
        torch.save(weights, "equal.pt")
    if rank != 0:
        print("waits")
    else:
        torch.save(weights, "other.pt")
    if rank < 1:
        torch.save(weights, "less.pt")
    if int(rank) == 0:
        torch.save(weights, "int.pt")
    if log:
        torch.save(weights, "log.pt")  # expect: TRL008
    if log == Log():
        torch.save(weights, "logs.pt")  # expect: TRL008
    if not log:
        print("nothing")
    else:
        torch.save(weights, "not.pt")  # expect: TRL008


if __name__ == "__main__":
    main(True)
