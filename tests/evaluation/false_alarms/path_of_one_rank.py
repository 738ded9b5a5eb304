# A setting that only the main process keeps is a guard where it is tested: the others have None or "" instead.
import os

from accelerate import Accelerator


def log_to(folder, accelerator):
    folder = "" if not accelerator.is_main_process else folder
    if folder:
        with open(os.path.join(folder, "log.txt"), "w") as file:
            file.write("started")


def log_if_given(folder=None, accelerator=None):
    if accelerator is not None and not accelerator.is_main_process:
        folder = None
    if folder is not None:
        with open(os.path.join(folder, "log.txt"), "w") as file:
            file.write("started")


def log_anyway(folder, accelerator):
    folder = folder if accelerator.is_main_process else "elsewhere"
    if folder:
        with open("log.txt", "w") as file:  # expect: TRL008
            file.write("started")


def log_if_asked(folder):
    folder = folder or None
    if folder:
        with open(os.path.join(folder, "log.txt"), "w") as file:  # expect: TRL008
            file.write("started")


def main(config):
    accelerator = Accelerator()
    log_to(config.folder, accelerator)
    log_if_given(config.folder, accelerator)
    log_anyway(config.folder, accelerator)
    log_if_asked(config.folder)
