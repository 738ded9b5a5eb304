# What a check refuses where there are several processes, only a single process does after it.
import argparse
import sys

import torch
import torch.distributed as dist


def is_distributed():
    return dist.is_initialized()


def check(condition, message):
    if not condition:
        raise ValueError(message)


def warn(condition, message):
    if not condition:
        print(message)


def refused_at_once(args):
    if is_distributed() and args.prepared is None:
        raise ValueError("prepare the rows first")
    if args.prepared is not None:
        print(torch.load(args.prepared))
    else:
        torch.save([1], "refused_at_once.pt")


def refused_inside(args):
    if dist.get_world_size() > 1:
        print("several processes")
        if args.plot:
            sys.exit("draw on one process")
    if args.plot:
        torch.save([1], "refused_inside.pt")


def refused_by_assert(args):
    assert not is_distributed() or args.prepared is not None
    if args.prepared is None:
        torch.save([1], "refused_by_assert.pt")


def refused_by_helper(args):
    if is_distributed():
        message = "prepare the rows first"
        check(args.prepared is not None, message)
    if args.prepared is not None:
        print(torch.load(args.prepared))
    else:
        torch.save([1], "refused_by_helper.pt")


def refused_by_helper_as_a_whole(args):
    check(not (is_distributed() and args.plot), "draw on one process")
    if args.plot:
        torch.save([1], "refused_by_helper_as_a_whole.pt")


def only_warned(args):
    if is_distributed():
        warn(args.prepared is not None, "prepare the rows first")
    if args.prepared is None:
        torch.save([1], "only_warned.pt")  # expect: TRL008


def other_outcome(args):
    if is_distributed():
        check(args.prepared is None, "only raw rows")
    if args.prepared is None:
        torch.save([1], "other_outcome.pt")  # expect: TRL008


def other_setting(args):
    if is_distributed() and args.plot:
        raise ValueError("draw on one process")
    if args.prepared is None:
        torch.save([1], "other_setting.pt")  # expect: TRL008


def not_in_that_case_alone(args):
    if is_distributed() and args.plot and args.other:
        raise ValueError("draw on one process")
    if args.plot:
        torch.save([1], "not_in_that_case_alone.pt")  # expect: TRL008


def set_after_the_check(args, plot):
    if is_distributed() and plot:
        raise ValueError("draw on one process")
    plot = args.draw
    if plot:
        torch.save([1], "set_after_the_check.pt")  # expect: TRL008


def set_elsewhere(args):
    if is_distributed() and args.changed:
        raise ValueError("draw on one process")
    change(args)
    if args.changed:
        torch.save([1], "set_elsewhere.pt")  # expect: TRL008


def change(args):
    args.changed = args.draw


def refused_in_block(args):
    args.rows = 8
    if args.cached:
        torch.save([1], "before_it_is_refused.pt")
        if args.distributed:
            raise NotImplementedError
        args.rows = 4
    else:
        print("nothing cached")
    if args.cached:
        torch.save([1], "behind_refusing_block.pt")


def refused_in_block_by_call(args):
    if args.cached:
        print("from the cache")
        if is_distributed():
            raise NotImplementedError
    if not args.cached:
        print("nothing cached")
    else:
        torch.save([1], "behind_refusing_call.pt")


def not_refused_in_block(args):
    if args.cached:
        torch.save([1], "not_refused.pt")  # expect: TRL008
        if args.distributed:
            print("several processes")
    if args.cached:
        torch.save([1], "behind_what_is_not_refused.pt")  # expect: TRL008


def refused_on_one_process(args):
    if args.cached:
        torch.save([1], "not_refused_on_several.pt")  # expect: TRL008
        if not args.distributed:
            raise NotImplementedError


def set_behind_the_block(args, cached):
    if cached:
        print("from the cache")
        if args.distributed:
            raise NotImplementedError
    cached = args.draw
    if cached:
        torch.save([1], "set_behind_the_block.pt")  # expect: TRL008


def left_before(args):
    if args.cached:
        torch.save([1], "left_before.pt")  # expect: TRL008
        if args.plot:
            return
        if args.distributed:
            raise NotImplementedError


def distributed_is_set_inside(args, distributed):
    if args.cached:
        torch.save([1], "set_inside.pt")  # expect: TRL008
        distributed = args.draw
        if distributed:
            raise NotImplementedError


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prepared")
    parser.add_argument("--cached", action="store_true")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--other", action="store_true")
    parser.add_argument("--plot", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    args.distributed = dist.get_world_size() > 1
    refused_at_once(args)
    refused_inside(args)
    refused_by_assert(args)
    refused_by_helper(args)
    refused_by_helper_as_a_whole(args)
    only_warned(args)
    other_outcome(args)
    other_setting(args)
    not_in_that_case_alone(args)
    set_after_the_check(args, args.plot)
    set_elsewhere(args)
    refused_in_block(args)
    refused_in_block_by_call(args)
    not_refused_in_block(args)
    refused_on_one_process(args)
    set_behind_the_block(args, args.plot)
    left_before(args)
    distributed_is_set_inside(args, args.distributed)


if __name__ == "__main__":
    main()
