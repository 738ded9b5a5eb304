# What is unknown about a condition does not matter after a synchronisation point of all ranks.
import os

from accelerate import Accelerator
from elsewhere import make_network


def remove(path):
    os.remove(path)  # expect: TRL008


def clean(model, make, path):
    accelerator = Accelerator()
    network = make(model)
    if network is None:
        return
    os.remove("before")
    accelerator.wait_for_everyone()
    os.remove("behind")  # expect: TRL008
    remove("in a helper")
    if make("another"):
        os.remove("under another one")


def clean_apart(model, make):
    accelerator = Accelerator()
    if make(model):
        accelerator.wait_for_everyone()
    if make(model):
        os.remove("met elsewhere")


def clean_on_one(model, make):
    accelerator = Accelerator()
    accelerator.wait_for_everyone()
    if make(model) is None or not accelerator.is_main_process:
        return
    os.remove("on one")


clean(1, make_network, "x")
clean_apart(1, make_network)
clean_on_one(1, make_network)
