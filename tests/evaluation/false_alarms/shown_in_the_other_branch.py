# Only one of two branches is for several processes: what shows that says nothing of the other one.
import argparse
import json
import os

from accelerate import Accelerator


def write(path, scores):
    with open(path, "w") as file:
        json.dump(scores, file)


def plot(path, scores):
    with open(path, "w") as file:
        file.write(str(scores))


def show(path, scores):
    with open(path, "w") as file:  # expect: TRL008
        file.write(str(scores))


def run(accelerator, rows):
    return accelerator.gather(rows)


def by_branch(args, rows):
    if args.by_api:
        write(args.out, rows)
    else:
        scores = run(Accelerator(), rows)
        show(args.out, scores)


def by_test(args, rows, accelerator):
    if args.plot_only:
        plot(args.out, rows)
    else:
        scores = run(accelerator, rows)
        if accelerator.is_main_process:
            plot(args.out, scores)


def by_return(args, rows):
    if args.plot_only:
        plot(args.out, rows)
        return
    run(Accelerator(), rows)


def after(args, rows):
    if args.local:
        print(rows)
    else:
        run(Accelerator(), rows)
    os.mkdir(args.out)  # expect: TRL008


def either(args, rows):
    if args.tracked:
        run(Accelerator(log_with="wandb"), rows)
        os.mkdir(args.out)  # expect: TRL008
    else:
        run(Accelerator(), rows)
        os.mkdir(args.out)  # expect: TRL008


def in_turn(args, rows):
    for stage in args.stages:
        if stage == "run":
            rows = run(Accelerator(), rows)
        else:
            os.mkdir(args.out)  # expect: TRL008


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--plot_only", action="store_true")
    parser.add_argument("--by_api", action="store_true")
    parser.add_argument("--tracked", action="store_true")
    parser.add_argument("--local", action="store_true")
    parser.add_argument("--stages", nargs="*")
    parser.add_argument("--out")
    given = parser.parse_args()
    for work in (by_branch, by_return, after, either, in_turn):
        work(given, [])
