"""TRL019: a loop over as many epochs as an option says is not in the default set if all launches train for one."""

from __future__ import annotations

import pytest
from started import by_default_in

TRAINS = """\
import argparse

from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_train_epochs", type=int, default={default}, help="epochs")
    parser.add_argument("--lr", type=float)
    args = parser.parse_args()
    rows, model, optimizer = build(args)
    loader = DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows))
    for epoch in range({epochs}):
        for batch in loader:
            model(batch).loss.backward()
            optimizer.step()

if __name__ == "__main__":
    main()
"""
OPTION = "args.num_train_epochs"
ONE = "deepspeed train.py --lr 1e-4 --num_train_epochs 1\n"
DEFAULT = "deepspeed train.py --lr 1e-4\n"


def is_by_default(folder, runs, default="3", epochs=OPTION):
    text = TRAINS.format(default=default, epochs=epochs)
    return by_default_in(folder, {"train.py": text, "run.sh": runs}, "train.py", "TRL019")


@pytest.mark.parametrize(
    ("runs", "by_default"),
    [
        (ONE, False),
        (ONE.replace("epochs 1", "epochs=1"), False),
        (ONE + ONE.replace("_train_epochs 1", "-train-epochs 1.0"), False),
        ("EPOCHS=1\n" + ONE.replace("epochs 1", "epochs $EPOCHS"), False),
        # The one process of an evaluation, and a word of a text, are no trainings on several.
        (ONE + "python train.py --num_train_epochs 2\n", False),
        (ONE + "deepspeed >= 0.11\n", False),
        (ONE + ONE.replace("epochs 1", "epochs 2"), True),
        (ONE + DEFAULT, True),
        # Nobody knows how many these are.
        (ONE.replace("epochs 1", "epochs $1"), True),
        (ONE.replace("--lr", "$OPTIONS --lr"), True),
        (ONE.replace("--lr 1e-4", "--config small.yaml"), True),
        (ONE + "deepspeed $SCRIPT --lr 1e-3\n", True),
        ("", True),
    ],
)
def test_what_launches_say(runs, by_default, tmp_path):
    assert is_by_default(tmp_path, runs) is by_default


@pytest.mark.parametrize(
    ("default", "epochs", "by_default"),
    [
        ("1", OPTION, False),
        ("1.0", f"int({OPTION})", False),
        ("1", f"start, {OPTION}", False),
        ("10", OPTION, True),
        ("1", f"{OPTION} * args.lr", True),
        ("1", "epochs", True),
        ("ONE", OPTION, True),
    ],
)
def test_what_launches_leave_to_the_default(default, epochs, by_default, tmp_path):
    assert is_by_default(tmp_path, DEFAULT, default, epochs) is by_default
