"""TRL008: what is written of the rows that each process has taken by its rank is no process's to leave out."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL008")

PROGRAM = """\
import csv
import json
from pathlib import Path
import torch.distributed as dist
from answers import answer_to

class Asked:
    def __init__(self, rank, world_size):
        self.rank, self.world_size = rank, world_size

    def ask(self, questions):
        told = []
        for number in range(self.rank, len(questions), self.world_size):
            told.append({{"number": number, "answer": answer_to(questions[number])}})
        return told

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
questions = open("questions.txt").readlines()
{made}
{written}
"""

TAKEN = "rows = []\nfor each in questions[rank::world_size]:\n    rows.append(each)"
NUMBERED = (
    "rows = []\nfor at in range(rank, len(questions), world_size):\n"
    '    rows.append({"at": at, "answer": answer_to(questions[at])})'
)
LISTED = 'rows = [{"at": at, "text": answer_to(questions[at])} for at in range(rank, len(questions), world_size)]'
PAIRED = "rows = []\nfor at, each in enumerate(questions[rank::world_size]):\n    rows.append([at, answer_to(each)])"
RETURNED = "rows = Asked(rank, world_size).ask(questions)"
GATHERED = f"{LISTED}\nparts = [None] * world_size\ndist.all_gather_object(parts, rows)\nrows = sum(parts, [])"
ALL = 'rows = [{"at": at, "text": answer_to(questions[at])} for at in range(len(questions))]'
DRAWN = "import numpy as np\nrows = np.random.choice(len(questions), size=10)"
LOGGED = 'rows = [{"at": at, "ranks": world_size} for at in range(len(questions))]'

MANY = 'with open("rows.txt", "w") as file:\n    file.writelines(json.dumps(each) + "\\n" for each in rows)'
EACH = 'with open("rows.txt", "w") as file:\n    for each in rows:\n        file.write(json.dumps(each) + "\\n")'
DUMPED = 'with open("rows.json", "w") as file:\n    json.dump(rows, file)'
BESIDE = 'with open("rows.json", "w") as file:\n    json.dump({"score": 1, "rows": rows}, file)'
JOINED = 'with open("rows.txt", "w") as file:\n    file.write("\\n".join(str(each) for each in rows) + "\\n")'
TEXT = 'Path("rows.json").write_text(json.dumps(rows))'
TABLE = 'with open("rows.csv", "w") as file:\n    table = csv.writer(file)\n    table.writerows(rows)'


@pytest.mark.parametrize(
    ("made", "written"),
    [
        *((made, written) for made in (TAKEN, NUMBERED, LISTED, PAIRED, RETURNED) for written in (MANY, EACH, TEXT)),
        *((RETURNED, written) for written in (DUMPED, BESIDE, JOINED, TABLE)),
    ],
)
def test_a_guard_would_lose_the_rows_of_the_other_ranks(made, written):
    finding = SNIPPETS.finding(PROGRAM.format(made=made, written=written))
    assert finding.message.endswith("with data of its own, and only those of the last one remain")
    assert finding.help.startswith("put the rank into the file's name, or gather the data first")
    assert finding.fix.applicability.value == "display"


def test_what_is_only_drawn_may_be_the_same_with_one_seed():
    finding = SNIPPETS.finding(PROGRAM.format(made=DRAWN, written='np.save("rows.npy", rows)'))
    assert finding.message.endswith("writes the same file at the same time, which may damage it")


@pytest.mark.parametrize("made", [GATHERED, ALL, LOGGED])
@pytest.mark.parametrize("written", [MANY, EACH, TEXT, DUMPED, BESIDE, JOINED])
def test_rows_that_all_ranks_have_are_for_one_to_write(made, written):
    finding = SNIPPETS.finding(PROGRAM.format(made=made, written=written))
    assert "of its own" not in finding.message
    assert finding.fix.applicability.value == "unsafe"
