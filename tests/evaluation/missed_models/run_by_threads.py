# A pool of threads runs what it gets in this process.
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import torch
import torch.distributed as dist
from trl import GRPOTrainer


def run(program):
    with open("solution.py", "w") as file:  # expect: TRL008
        file.write(program)
    return float(subprocess.run([sys.executable, "solution.py"]).returncode == 0)


def keep(name, text):
    open(name, "w").write(text)


def note(text):
    open("last.txt", "w").write(text)  # expect: TRL008


def apart(program):
    with open("apart.py", "w") as file:
        file.write(program)
    return 1.0


def tested(completions, **others):
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda each: run(each), completions))


def kept(prompts, completions, **others):
    pool = ThreadPool(4)
    for prompt, completion in zip(prompts, completions):
        ThreadPoolExecutor(1).submit(keep, f"{prompt}.txt", completion)
        ThreadPoolExecutor(1).submit(note, completion)
    return pool.imap(len, completions)


def tested_apart(completions, **others):
    with ProcessPoolExecutor() as pool:
        return list(pool.map(apart, completions))


class Judged:
    def __init__(self, pool):
        self.pool = ThreadPoolExecutor(8)
        self.others = pool

    def __call__(self, completions, **others):
        scores = list(self.pool.map(len, completions))
        if max(scores) > 100:  # the branch below is that of some ranks
            dist.all_reduce(torch.ones(1, device="cuda"))  # expect: TRL006
        if max(self.others.map(len, completions)) > 100:
            dist.all_reduce(torch.ones(1, device="cuda"))
        return scores


GRPOTrainer(model="small", reward_funcs=[tested, kept, tested_apart, Judged(connect())]).train()
