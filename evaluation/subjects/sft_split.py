"""Runs trl's own SFT script on a mixture of datasets that it splits into rows to train on and rows to evaluate on.

The model and the texts are files, as the script wants them: each process writes its own.
"""

import os
import tempfile
from pathlib import Path

import datasets
import numpy as np
import shared
import tiny
from trl import DatasetMixtureConfig, ModelConfig, ScriptArguments, SFTConfig
from trl.scripts import sft

LENGTHS = 13
TEST_PART = 0.2

chosen = shared.options()
scratch = tempfile.TemporaryDirectory()
folder = Path(scratch.name)
datasets.config.HF_DATASETS_CACHE = folder / "cache"
# As many as are left to train on after the split is what is read once.
rows = round(shared.size(chosen) / (1 - TEST_PART))
(folder / "rows.txt").write_text("\n".join(tiny.sentence(index, 4 + index % LENGTHS) for index in range(rows)))
tiny.tiny_model().save_pretrained(folder / "model")
tiny.tiny_tokenizer().save_pretrained(folder / "model")
# As from the start, each process draws from numpy's generator in a state of its own, but in every run the same.
np.random.seed(int(os.environ.get("RANK", "0")))
sft.main(
    ScriptArguments(),
    SFTConfig(**{**shared.arguments(chosen), "output_dir": str(folder / "output")}, average_tokens_across_devices=True),
    ModelConfig(model_name_or_path=str(folder / "model"), dtype="float32"),
    DatasetMixtureConfig(
        datasets=[{"path": "text", "data_files": str(folder / "rows.txt")}], test_split_size=TEST_PART
    ),
)
