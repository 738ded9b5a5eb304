"""Each rank lists the old files when it is its turn, and the first one has removed them by then."""

import glob
import os

from accelerate import Accelerator


def clear(folder):
    for path in glob.glob(os.path.join(folder, "best*.pth")):
        os.remove(path)


def in_turn(config):
    accelerator = Accelerator()
    with accelerator.main_process_first():
        clear(config.folder)
        for path in glob.glob(os.path.join(config.folder, "last*.pth")):
            os.remove(path)


def listed_before(config):
    accelerator = Accelerator()
    paths = glob.glob(os.path.join(config.folder, "best*.pth"))
    with accelerator.main_process_first():
        for path in paths:
            os.remove(path)  # expect: TRL008


def together(config):
    accelerator = Accelerator()
    accelerator.wait_for_everyone()
    for path in glob.glob(os.path.join(config.folder, "best*.pth")):
        os.remove(path)  # expect: TRL008
