"""Loops that are longer on some ranks by a condition on the rank, next to those that share rows among the ranks.

A number that is written in the code for some ranks, and is another one for the others, makes loops over `range` of it
differ. The numbers by which ranks share rows differ as well: of these, each may have as many.
"""

import os
from pathlib import Path

import torch
from accelerate import Accelerator

accelerator = Accelerator()
model = torch.nn.Linear(2, 1)
loader = torch.utils.data.DataLoader([torch.ones(2)])
model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters()), loader)


def goes_on_on_one():
    start = 0
    if accelerator.is_main_process and os.path.exists("last.pt"):
        start = torch.load("last.pt")["epoch"]
    for _ in range(start, 10):
        for batch in loader:
            loss = model(batch).mean()  # expect: TRL006
            accelerator.backward(loss)
            optimizer.step()


def goes_on_at_a_line_of_one():
    start = 1
    if accelerator.is_main_process:
        start = int(Path("last.txt").read_text())
    for _ in range(start, 10):
        accelerator.wait_for_everyone()  # expect: TRL006


def written_twice():
    rounds = 5
    if accelerator.process_index == 0:
        rounds = 3
    for _ in range(rounds - 1):
        accelerator.wait_for_everyone()  # expect: TRL006


def in_an_expression():
    for _ in range(2 if accelerator.is_main_process else 1):
        accelerator.wait_for_everyone()  # expect: TRL006


def go_on_on_all():
    start = 0
    if os.path.exists("last.pt"):
        start = torch.load("last.pt")["epoch"]
    for _ in range(start, 10):
        accelerator.wait_for_everyone()


def are_told():
    start = 0
    if accelerator.is_main_process:
        start = torch.load("last.pt")["epoch"]
    told = torch.tensor([start], device=accelerator.device)
    torch.distributed.broadcast(told, 0)
    for _ in range(int(told), 10):
        accelerator.wait_for_everyone()


def from_own_row_on(rows):
    size = rows // accelerator.num_processes
    begin = accelerator.process_index * size
    end = begin + size
    if accelerator.process_index == accelerator.num_processes - 1:
        end = rows
    for _ in range(begin, end):
        accelerator.wait_for_everyone()


def with_what_is_left_over(rows):
    size = rows // accelerator.num_processes
    if accelerator.process_index < rows % accelerator.num_processes:
        size += 1
    for _ in range(size):
        accelerator.wait_for_everyone()


def first_with_what_is_left_over(rows):
    size = rows // accelerator.num_processes
    if accelerator.is_main_process:
        size += rows % accelerator.num_processes
    for _ in range(size):
        accelerator.wait_for_everyone()


def each_in_turn():
    for _ in range(accelerator.process_index):
        accelerator.wait_for_everyone()
    for _ in range(accelerator.num_processes - accelerator.process_index):
        accelerator.wait_for_everyone()


def on_one_only():
    shown = 0
    if accelerator.is_main_process:
        shown = 4
    for each in range(shown):
        print(each)


goes_on_on_one()
goes_on_at_a_line_of_one()
written_twice()
in_an_expression()
go_on_on_all()
are_told()
from_own_row_on(120)
with_what_is_left_over(120)
first_with_what_is_left_over(120)
each_in_turn()
on_one_only()
