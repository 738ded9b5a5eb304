"""TRL008: functions and methods of libraries that write, by what each of them is given as the path."""

from __future__ import annotations

import pytest
from snippets import Snippets, loop

SNIPPETS = Snippets("TRL008")

IMPORTS = """\
import os
import shutil

import cv2
import imageio
import joblib
import matplotlib.pyplot as plt
import mlflow
import numpy as np
import soundfile as sf
import torchaudio
import torchvision
from huggingface_hub import HfApi, create_repo
from omegaconf import OmegaConf
from safetensors.torch import save_file
from scipy.io import wavfile
from torchvision.utils import save_image
"""


def places(body: str) -> list[str]:
    return SNIPPETS.places(IMPORTS + loop(body))


@pytest.mark.parametrize(
    "call",
    [
        "create_repo({})",
        "cv2.imwrite({}, picture)",
        "HfApi().create_repo(repo_id={}, private=True)",
        "imageio.imwrite({}, picture)",
        "imageio.v2.mimsave(uri={}, ims=pictures)",
        "joblib.dump(args, {})",
        "np.savetxt({}, rows)",
        "np.savez_compressed({}, a=1)",
        "OmegaConf.save(args, {})",
        "os.symlink('last', {})",
        "os.unlink({})",
        "plt.savefig({})",
        "save_file(tensors, {})",
        "save_image(pictures, {}, nrow=4)",
        "sf.write({}, sound, 16000)",
        "shutil.copyfile(args.config, {})",
        "shutil.copytree(args.code, {})",
        "torch.jit.save(script, {})",
        "torch.onnx.export(net, inputs, {})",
        "torchaudio.save({}, sound, 16000)",
        "torchvision.utils.save_image(pictures, {})",
        "wavfile.write({}, 16000, sound)",
        "model_to_save.config.to_json_file({})",
        "tokenizer.save_vocabulary({})",
    ],
)
def test_a_path_that_is_the_same_everywhere(call):
    same = call.format('os.path.join(args.output_dir, "x")')
    assert places(same) == [same]
    assert places(f"if accelerator.is_main_process:\n    {same}") == []
    assert places(call.format('f"x-{accelerator.process_index}"')) == []
    assert places(call.format("path_of(batch)")) == []


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        ('shutil.copytree("a", "b", dirs_exist_ok=True)', False),
        ("mlflow.start_run()", True),
        ("mlflow.start_run(run_name=args.name)", True),
        ("mlflow.start_run(run_id=args.run)", False),
        ("mlflow.start_run(args.run)", False),
        ('mlflow.start_run(run_name=f"rank{accelerator.process_index}")', False),
        ("create_repo(args.repo, exist_ok=True)", False),
        ("if not HfApi().repo_exists(args.repo):\n    create_repo(args.repo)", False),
        ("picture.write(1)", False),
        ("cv2.imshow('x', picture)", False),
    ],
)
def test_what_makes_it_right_on_all_ranks(call, is_reported):
    assert bool(places(call)) is is_reported


def test_copies_of_one_file_are_a_waste():
    (finding,) = SNIPPETS.findings(IMPORTS + loop('shutil.copy("a", "b")'))
    assert finding.consequence == "waste"
    assert not finding.by_default


def test_a_repository_is_asked_for_by_all_ranks():
    text = IMPORTS + loop("url = create_repo(args.repo)")
    assert SNIPPETS.finding(text).consequence == "crash"
    assert SNIPPETS.mended(text, unsafe=True) == text.replace("(args.repo)", "(args.repo, exist_ok=True)")
