"""Fields that a function sets on an object are known wherever the object goes, also in another file."""

import copy

from loop import Loop, Other, is_first, part_of, seed_of
from omegaconf import OmegaConf
from options import counted, parsed, replaced, start, told, told_alike, told_some
from shared import opt
from somewhere import changed, load


def main():
    args = parsed()
    reveal_rank(args.rank + 1)  # revealed: local(rank)
    reveal_rank(args.out)  # revealed: same
    start(args)
    reveal_rank(args.number)  # revealed: local(rank)
    replaced(args)
    reveal_rank(args.part)  # revealed: same
    reveal_rank(seed_of(args))  # revealed: local(rank)
    reveal_rank(is_first(args))  # revealed: local(rank)
    reveal_rank(part_of(args))  # revealed: same

    loop = Loop(None, args)
    reveal_rank(loop.seed())  # revealed: local(rank)
    reveal_rank(loop.seed_passed_on())  # revealed: local(rank)
    reveal_rank(loop.seed_of_name())  # revealed: local(rank)
    reveal_rank(loop.part())  # revealed: same

    reveal_rank(seed_of(load()))  # revealed: unknown
    reveal_rank(Other(load()).seed())  # revealed: unknown

    several = copy.deepcopy(args)
    reveal_rank(several.seed)  # revealed: local(rank)
    merged = OmegaConf.merge(OmegaConf.create({"x": 1}), args)
    reveal_rank(merged.seed)  # revealed: local(rank)
    reveal_rank(changed(args).seed)  # revealed: unknown
    args = changed(args)
    reveal_rank(args.seed)  # revealed: unknown

    loaded = load()
    start(loaded)
    reveal_rank(loaded.number)  # revealed: local(rank)
    counted(loaded)
    reveal_rank(loaded.number)  # revealed: unknown
    reveal_rank(loaded.seed)  # revealed: local(rank)

    told(args)
    reveal_rank(args.log)  # revealed: unknown
    start(opt)
    told(opt)
    reveal_rank(opt.log)  # revealed: local(rank)
    reveal_rank(opt.late)  # revealed: local(rank)
    told_some(opt)
    reveal_rank(opt.shown)  # revealed: same
    told_alike(opt)
    reveal_rank(opt.plain)  # revealed: same


main()
