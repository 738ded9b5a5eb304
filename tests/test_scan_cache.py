"""The facts on how files are run are cached by their contents, and restored unchanged."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from trl_lint.launch.judge.engines import of_file
from trl_lint.linter.execution import scan_cache
from trl_lint.linter.execution.importers import imported
from trl_lint.linter.execution.scan_cache import ScanCache
from trl_lint.linter.store.cache import Cache
from trl_lint.linter.store.content_cache import ContentCache

FILES = {
    "run.sh": "accelerate launch --use_fsdp --num_processes 1 -m train --epochs 3\npython eval.py --do-pred 3\n",
    "many.sh": 'torchrun --nproc_per_node 8 train.py "$@"\npython -m tools\ndeepspeed x.py --deepspeed zero3.json\n',
    "zero3.json": '{"zero_optimization": {"stage": 3}}',
    "train.py": '"""python train.py"""\nimport a\nfrom d import e\nspawn(e)\nif __name__ == "__main__":\n    f()\n',
    "engine.py": 'deepspeed.initialize(net, config={"zero_optimization": {"stage": 1}})\n',
    "named.py": 'TrainingArguments("out", deepspeed="zero3.json")\n',
    "plain.py": "x = 1\n",
    "accelerate.yaml": "distributed_type: FSDP\nnum_processes: 8\n",
    "task.yaml": "task:\n  _target_: tasks.Training\n",
}


def looks(folder: Path) -> ScanCache:
    return ScanCache(ContentCache(Cache(folder), "looks-x"))


@pytest.mark.parametrize("name", FILES)
def test_what_was_seen_comes_back_as_it_was(name, tmp_path, monkeypatch):
    path, data = PurePath(name), FILES[name].encode()
    first = looks(tmp_path)
    expected = of_file(path, data), tuple(sorted(imported(data))) if name.endswith(".py") else ()
    assert first.at(path, data) == expected
    first.save()
    monkeypatch.setattr(scan_cache, "of_file", None)  # it is not scanned again
    again = looks(tmp_path)
    assert again.at(path, data) == again.at(path, data) == expected
    with pytest.raises(TypeError):
        again.at(path, data + b"#")
    with pytest.raises(TypeError):
        again.at(PurePath(f"other{path.suffix}"), data)  # a program's text contains its own name


@pytest.mark.parametrize(
    "row", [1, "text", [1], {"launches": [1]}, {"beside": ["none"]}, {"bare": [1]}, {"program": "yes"}]
)
def test_what_is_not_of_our_making_is_seen_anew(row, tmp_path):
    path, data = PurePath("run.sh"), FILES["run.sh"].encode()
    kept = ContentCache(Cache(tmp_path), "looks-x")
    kept.add(b"run.sh\0" + data, row)
    assert ScanCache(kept).at(path, data) == (of_file(path, data), ())
    assert ScanCache(kept).at(path, data) == (of_file(path, data), ())
