"""What a program with one process runs, whose other functions a program with several imports."""

import pytest
from started import findings_in

TEST = """\
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def evaluate(model, path):
    with open(path, "w") as file:
        file.write("shared")

{code}
"""
TRAIN = """\
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from evaluation import evaluate{others}

def main(model):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    evaluate(model, "shared.txt")

main(load())
"""
START = 'dist.init_process_group("nccl")\n'
WRITE = 'open("own.txt", "w").write("own")\n'
IN_MAIN = f'if __name__ == "__main__":\n    {START}    {WRITE}'
IN_FUNCTION = f'def main():\n    {START}    {WRITE}\nif __name__ == "__main__":\n    main()\n'
IN_HELPER = f'def save():\n    {WRITE}\ndef main():\n    {START}    save()\nif __name__ == "__main__":\n    main()\n'
AT_TOP = f"{START}{WRITE}"
SEVERAL = "torchrun --nproc_per_node 8 train.py\n"
ONE = "torchrun --nproc_per_node 1 evaluation.py\n"


def writes_by_default(folder, code: str, launches: str, others: str = "") -> bool:
    files = {"evaluation.py": TEST.format(code=code), "train.py": TRAIN.format(others=others), "run.sh": launches}
    lines = files["evaluation.py"].splitlines()
    (found,) = (each for each in findings_in(folder, files, "evaluation.py") if "own.txt" in lines[each.start.line - 1])
    return found.by_default


@pytest.mark.parametrize("code", [IN_MAIN, IN_FUNCTION, IN_HELPER])
def test_what_only_the_program_itself_runs(code, tmp_path):
    assert not writes_by_default(tmp_path, code, SEVERAL + ONE)


@pytest.mark.parametrize(
    ("code", "launches", "others"),
    [
        (IN_MAIN, SEVERAL, ""),  # nothing shows how it is started
        (IN_MAIN, SEVERAL + ONE.replace("1", "8"), ""),
        (AT_TOP, SEVERAL + ONE, ""),  # whoever imports the file runs it
        (IN_HELPER, SEVERAL + ONE, ", save"),
    ],
)
def test_what_others_may_run(code, launches, others, tmp_path):
    assert writes_by_default(tmp_path, code, launches, others)
