# A setting selects one of several objects of the project: methods of each are followed, and what holds for all of them
# holds for the object.
from torch.distributed import all_reduce, get_rank


class Plain:
    def __init__(self):
        self.count = 0
        self.folder = "plain"

    def name(self, args):
        return "name"

    def total(self, loss):
        all_reduce(loss)
        return loss

    @classmethod
    def title(cls, args):
        return "plain_{}".format(3)


class Apart(Plain):
    def __init__(self):
        self.count = 0
        self.folder = "apart"

    def name(self, args):
        return f"name_{get_rank()}"

    @classmethod
    def title(cls, args):
        return "apart"


class Other:
    def name(self, args):
        return "other"

    @classmethod
    def title(cls, args):
        return f"other_{get_rank()}"


KINDS = {"plain": Plain, "apart": Apart}


class Program:
    def __init__(self, args):
        if args.kind == "plain":
            self.saved = Plain()
        else:
            self.saved = Other()
        self.apart = Apart() if args.kind == "apart" else Plain()

    def show(self, args, loss):
        reveal_rank(self.saved)  # revealed: same
        reveal_rank(self.saved.name(args))  # revealed: same
        reveal_rank(self.apart.name(args))  # revealed: local(rank)
        reveal_rank(self.apart.folder)  # revealed: same
        reveal_rank(self.saved.folder)  # revealed: same
        reveal_rank(self.saved.total(loss))  # revealed: same
        reveal_rank(self.apart.total(loss))  # revealed: same
        self.apart.count = get_rank()
        reveal_rank(self.apart.count)  # revealed: local(rank)


def main(args, batch, model):
    Program(args).show(args, model(batch).loss.mean())
    reveal_rank(KINDS[args.kind].title(args))  # revealed: same
    reveal_rank({"plain": Plain, "other": Other}[args.kind].title(args))  # revealed: local(rank)
    for each in [Apart() for _ in args.names] + [Plain()]:
        reveal_rank(each.name(args))  # revealed: unknown
    unknown = args.make() if args.made else Plain()
    reveal_rank(unknown.name(args))  # revealed: unknown


main(read(), load(), build())
