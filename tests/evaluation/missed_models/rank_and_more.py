# Whatever else a condition tests, the ranks that are not the main process do not pass it.
from accelerate import Accelerator


def main2(args):
    accelerator = Accelerator()
    flag = args.foo()
    if accelerator.is_main_process and flag:
        accelerator.wait_for_everyone()  # expect: TRL006
    accelerator.gather(args.foo())


def main4(args):
    accelerator = Accelerator()
    flag = args.foo()
    if accelerator.is_main_process or flag:
        accelerator.wait_for_everyone()
    accelerator.gather(args.foo())


def twice(args, accelerator):
    accelerator = Accelerator()
    if accelerator.is_main_process:
        accelerator.wait_for_everyone()  # expect: TRL006
    if accelerator.is_main_process and args.foo():
        accelerator.wait_for_everyone()  # expect: TRL006


def one_after_the_other(args):
    accelerator = Accelerator()
    if not accelerator.is_main_process:
        accelerator.wait_for_everyone()
    args.prepare()
    if accelerator.is_main_process:
        accelerator.wait_for_everyone()
