# A function that a decorator runs on the main process only waits there for the others.
import os
import shutil

from accelerate import Accelerator


def saves_and_waits():
    accelerator = Accelerator()

    @accelerator.on_main_process
    def save():
        accelerator.save_state("out")
        accelerator.wait_for_everyone()  # expect: TRL006

    save()


def waits_every_few_steps(loader, args, start):
    accelerator = Accelerator()

    @accelerator.on_main_process
    def rotate():
        for folder in sorted(os.listdir("out"))[:-3]:
            shutil.rmtree(os.path.join("out", folder))
        accelerator.wait_for_everyone()  # expect: TRL006

    for step in range(start, args.steps):
        if step % args.every == 0:
            rotate()


def waits_outside(args, start):
    accelerator = Accelerator()

    @accelerator.on_main_process
    def rotate():
        for folder in sorted(os.listdir("out"))[:-3]:
            shutil.rmtree(os.path.join("out", folder))

    for step in range(start, args.steps):
        if step % args.every == 0:
            accelerator.save_state("out")
            accelerator.wait_for_everyone()
            rotate()
    accelerator.wait_for_everyone()


def waits_on_both_sides():
    accelerator = Accelerator()

    @accelerator.on_main_process
    def prepare():
        os.makedirs("out")
        accelerator.wait_for_everyone()

    if accelerator.is_main_process:
        prepare()
    else:
        accelerator.wait_for_everyone()


def main(loader, args):
    saves_and_waits()
    waits_every_few_steps(loader, args, args.start)
    waits_outside(args, args.start)
    waits_on_both_sides()
