"""What libraries for configurations and command lines hold is the same on all ranks, and so is what is made of it; not
what the program puts there by the rank.
"""

import ast
import hashlib
import os
import shlex
import sys
import urllib.parse
from distutils.util import strtobool

import configargparse
import docopt
import hydra
import jsonargparse
import pandas as pd
import torch.distributed as dist
from box import Box
from detectron2.config import get_cfg
from yacs.config import CfgNode as CN

_C = CN()
_C.LR = 0.1
_C.DEVICES = [0, 1]
_C.STEPS = [
    (1, 2),  # the first ones
    (3, 4),
]
_C.OWN_STEPS = [
    1,
    dist.get_rank(),
]
_C.OUT = CN()
_C.OUT.NAME = "run"
_C.OUT.OWN = dist.get_rank()
_C.OUT.LATER = ""
if dist.get_rank() == 0:
    _C.OUT.LATER = "first"


def save(name):
    with open(name + ".txt", "w") as file:  # expect: TRL008
        file.write("done")


def main():
    dist.init_process_group("nccl")
    node = _C.clone()
    save(node.OUT.NAME)
    of_yacs(node)
    of_libraries()
    computed(sys.argv[1])


def of_yacs(node):
    with open(f"{node.OUT.NAME}_{node.LR}.txt", "w") as file:  # expect: TRL008
        file.write("done")
    with open(f"{node.OUT.OWN}.txt", "w") as file:
        file.write("done")
    with open(f"{node.OUT.LATER}.txt", "w") as file:
        file.write("done")
    with open(f"{node.STEPS}.txt", "w") as file:  # expect: TRL008
        file.write("done")
    with open(f"{node.OWN_STEPS}.txt", "w") as file:
        file.write("done")
    node.defrost()
    node.NUMBER = dist.get_rank()
    with open(f"{node.NUMBER}.txt", "w") as file:
        file.write("done")
    with open(f"{get_cfg().OUTPUT_DIR}.txt", "w") as file:  # expect: TRL008
        file.write("done")


def of_libraries():
    with open(configargparse.ArgParser().parse_args().out, "w") as file:  # expect: TRL008
        file.write("done")
    with open(jsonargparse.ArgumentParser().parse_args().out, "w") as file:  # expect: TRL008
        file.write("done")
    with open(docopt.docopt(__doc__)["--out"], "w") as file:  # expect: TRL008
        file.write("done")
    with open(hydra.compose(config_name="base").out, "w") as file:  # expect: TRL008
        file.write("done")
    with open(Box(name=sys.argv[2]).name, "w") as file:  # expect: TRL008
        file.write("done")
    if len(pd.read_csv("rows.csv")) > 3:
        with open("many.txt", "w") as file:  # expect: TRL008
            file.write("done")
    if len(pd.read_csv(f"rows{dist.get_rank()}.csv")) > 3:
        with open("many_here.txt", "w") as file:
            file.write("done")


def computed(text):
    if strtobool(text):
        with open("flag.txt", "w") as file:  # expect: TRL008
            file.write("done")
    if ast.literal_eval(text):
        with open(urllib.parse.urlparse(text).path, "w") as file:  # expect: TRL008
            file.write("done")
    with open(shlex.split(text)[0], "w") as file:  # expect: TRL008
        file.write("done")
    with open(hashlib.md5(text.encode()).hexdigest(), "w") as file:  # expect: TRL008
        file.write("done")
    digest = hashlib.md5()
    digest.update(os.environ["RANK"].encode())
    with open(digest.hexdigest(), "w") as file:
        file.write("done")
    if strtobool(os.environ["RANK"]):
        with open("second.txt", "w") as file:
            file.write("done")


if __name__ == "__main__":
    main()
