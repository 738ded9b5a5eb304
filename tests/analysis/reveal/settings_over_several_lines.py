"""What a program puts into its settings counts as a whole, however many lines it takes."""

import argparse
import os


def used_elsewhere():
    reveal_rank(args.one_line)  # revealed: unknown
    reveal_rank(args.in_brackets)  # revealed: unknown
    reveal_rank(args.after_backslash)  # revealed: unknown
    reveal_rank(args.in_call)  # revealed: unknown
    reveal_rank(args.after_comment)  # revealed: unknown
    reveal_rank(args.by_name)  # revealed: unknown

    # The next statement is another one.
    reveal_rank(args.shared)  # revealed: same
    reveal_rank(args.shared_call)  # revealed: same
    reveal_rank(args.shared_bracket)  # revealed: same


args = argparse.ArgumentParser().parse_args()
args.one_line = args.tag + "_" + os.environ["RANK"]
args.in_brackets = (args.tag
                    + "_" + os.environ["RANK"])
args.after_backslash = args.tag \
    + "_" + os.environ["RANK"]
args.in_call = os.path.join(
    args.tag,
    os.environ["RANK"],
)
args.after_comment = (
    args.tag  # as given (by hand
    + os.environ["RANK"]
)
setattr(
    args,
    "by_name",
    args.tag + os.environ["RANK"],
)
args.shared = args.tag + "_"
rank = int(os.environ["RANK"])
args.shared_call = os.path.join(
    args.tag,
    "out",
)
local_rank = rank
args.shared_bracket = "(" + args.tag
first = rank == 0
used_elsewhere()
