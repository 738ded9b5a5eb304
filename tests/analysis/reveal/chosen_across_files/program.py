"""A setting selects a class or a function of another file by its name."""

from .kinds import Apart, Plain, number, rank


class Here:
    @classmethod
    def title(cls):
        return "here"


def main(args):
    chosen = Apart if args.apart else Plain
    reveal_rank(chosen().name())  # revealed: same
    reveal_rank(chosen.title())  # revealed: local(rank)
    reveal_rank({"apart": Apart, "here": Here}[args.kind].title())  # revealed: local(rank)
    reveal_rank((Plain if args.plain else Here).title())  # revealed: same
    reveal_rank((number if args.plain else rank)())  # revealed: local(rank)
    reveal_rank((Plain if args.plain else args.kind).title())  # revealed: unknown


main(read())
