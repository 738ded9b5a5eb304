"""TRL008: functions and methods of libraries that write, by the argument that is the path."""

from __future__ import annotations

import pytest
from snippets import Snippets, loop

SNIPPETS = Snippets("TRL008")

IMPORTS = """\
import os
import gzip
import logging
import shutil

import anyconfig
import ase.io
import Bio.SeqIO
import comet_ml
import cv2
import diffusers
import faiss
import geopandas
import git
import graphviz
import imageio
import joblib
import jsonlines
import librosa
import matplotlib.pyplot as plt
import mlflow
import mmcv
import mmengine
import monai
import neptune
import nibabel as nib
import huggingface_hub
import nltk
import open3d
import pandas as pd
import plotly.io as pio
import polars as pl
import pyarrow.parquet as pq
import sentencepiece as spm
import srsly
import tensorflow as tf
import tifffile
import timm
import torchviz
import trimesh
import urllib.request
import zarr
from aim import Run
from batchgenerators.utilities.file_and_folder_operations import save_json
from huggingface_hub import HfApi, create_repo, upload_file
import numpy as np
import soundfile as sf
import tensorboard_logger
import torchaudio
import torchvision
from huggingface_hub import HfApi, create_repo
from omegaconf import OmegaConf
from gensim.models import Word2Vec
from numpy.lib.format import open_memmap
from pydub import AudioSegment
from safetensors.torch import save_file
from pathlib import Path
from scipy import sparse
from scipy.io import wavfile
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from tokenizers.implementations import BertWordPieceTokenizer
from torchvision.datasets.utils import download_url
from torchvision.utils import save_image
"""


def places(body: str) -> list[str]:
    return SNIPPETS.places(IMPORTS + loop(body))


@pytest.mark.parametrize(
    "call",
    [
        "anyconfig.dump(args, {})",
        "ase.io.write({}, atoms)",
        "create_repo({})",
        "cv2.imwrite({}, picture)",
        "gzip.open({}, 'wt')",
        "jsonlines.open({}, mode='w')",
        "logging.FileHandler({}, 'w')",
        "logging.basicConfig(level=20, filename={}, filemode='w')",
        "open3d.io.write_point_cloud({}, cloud)",
        "zarr.open({}, mode='w')",
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
        "save_json(args, {})",
        "sf.write({}, sound, 16000)",
        "shutil.copyfile(args.config, {})",
        "shutil.copytree(args.code, {})",
        "torch.jit.save(script, {})",
        "torch.onnx.export(net, inputs, {})",
        "torchaudio.save({}, sound, 16000)",
        "torchvision.utils.save_image(pictures, {})",
        "wavfile.write({}, 16000, sound)",
        "model_to_save.config.to_json_file({})",
        "trainer.state.save_to_json({})",
        "tokenizer.save_vocabulary({})",
        "ByteLevelBPETokenizer().save_model({})",
        "(BertWordPieceTokenizer() if args.words else ByteLevelBPETokenizer()).save({})",
        "Tokenizer(model).save(path={})",
        "cv2.VideoWriter({}, codec, 30, size)",
        "diffusers.utils.export_to_video(frames, {})",
        "download_url(args.url, {})",
        "faiss.write_index(index, {})",
        "frame.write_parquet({})",
        "imageio.get_writer({}, fps=20)",
        "mmengine.dump(args, {})",
        "monai.handlers.write_metrics_reports({}, images, metrics, None, None)",
        "nib.save(image, {})",
        "pd.ExcelWriter({})",
        "pq.write_table(table, {})",
        "profile.export_chrome_trace({})",
        "shutil.make_archive({}, 'zip')",
        "sparse.save_npz({}, matrix)",
        "spm.SentencePieceTrainer.train(input=args.text, model_prefix={})",
        "tifffile.imwrite({}, picture)",
        "torch.export.save(program, {})",
        "torchvision.datasets.CIFAR10({}, train=True, download=True)",
        "urllib.request.urlretrieve(args.url, {})",
        "zarr.save({}, rows)",
        "Path({}).symlink_to(args.code)",
        "Bio.SeqIO.write(records, {}, 'fasta')",
        "git.Repo.clone_from(args.url, {})",
        "librosa.output.write_wav({}, sound, 16000)",
        "mmcv.Config.fromfile(args.config).dump({})",
        "np.memmap({}, dtype='uint8', mode='w+', shape=(3,))",
        "open_memmap({}, 'w+')",
        "pio.write_image(figure, {})",
        "srsly.write_jsonl({}, rows)",
        "tf.io.write_file({}, text)",
        "timm.utils.update_summary(step, {{}}, {{}}, {})",
        "torch.cuda.memory._dump_snapshot({})",
        "torch.jit.script(accelerator.unwrap_model(model)).save({})",
        "torch.package.PackageExporter({})",
        "AudioSegment.from_wav(args.sound).export({}, format='mp3')",
        "Tokenizer.from_file(args.tokenizer).save({})",
        "Word2Vec(texts).save({})",
        "geopandas.GeoDataFrame(rows).to_file({})",
        "graphviz.Digraph().render({})",
        "grid.to_netcdf({})",
        "grid.to_zarr({})",
        "pl.DataFrame(rows).write_csv({})",
        "pl.from_pandas(rows).write_json(file={})",
        "torchviz.make_dot(loss).render({}, format='png')",
        "trimesh.Trimesh(points).export({})",
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
        ("srsly.write_jsonl('x.jsonl', rows, append=True)", False),
        ("graphviz.Digraph().render()", True),  # to a file with the name of the graph
        ("torch.cuda.memory._dump_snapshot()", True),
        ("np.memmap('x', dtype='uint8', mode='r')", False),
        ("np.memmap('x', dtype='uint8')", False),
        ("open_memmap('x', mode='r+')", False),
        ("mmcv.Config.fromfile(args.config).dump()", False),
        ("mmengine.Config(dict(a=1)).dump('x.py')", True),
        ("config = mmcv.Config.fromfile(args.config)\nconfig.dump('x.py')", True),
        ("config = somebodys()\nconfig.dump('x.py')", False),
        ("pl.DataFrame(rows).write_csv()", False),
        ("somebodys().write_csv('x.csv')", False),
        ("somebodys().export('x')", False),
        ("somebodys().render('x')", False),
        ("trimesh.Trimesh(points).export(file_type='stl')", False),
    ],
)
def test_what_makes_it_right_on_all_ranks(call, is_reported):
    assert bool(places(call)) is is_reported


def test_copies_of_one_file_are_a_waste():
    (finding,) = SNIPPETS.findings(IMPORTS + loop('shutil.copy("a", "b")'))
    assert finding.consequence == "waste"
    assert not finding.by_default


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        ("create_repo(args.repo)", True),
        ("HfApi().create_repo(args.repo)", True),
        ("create_repo(args.repo, exist_ok=True)", False),
        ('upload_file(repo_id="a/b", path_in_repo="x", path_or_fileobj="y")', True),
        ('upload_file(repo_id="a/b", path_in_repo=f"{accelerator.process_index}", path_or_fileobj="y")', False),
        ("if accelerator.is_main_process: create_repo(args.repo)", False),
    ],
)
def test_repositories_of_the_hub(call, is_reported):
    assert bool(places(call)) is is_reported


CLONE = "from huggingface_hub import Repository\nrepo = Repository(args.clone, clone_from=args.repo)\n"


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        ("repo.push_to_hub(blocking=False)", True),
        ("repo.git_push()", True),
        ('with repo.commit("end"):\n    pass', True),
        ('repo.git_commit("end")', False),  # in the clone
        ("if accelerator.is_main_process: repo.push_to_hub()", False),
        ('with repo.commit("end", branch=f"{accelerator.process_index}"):\n    pass', False),
    ],
)
def test_clones_of_a_repository_of_the_hub(call, is_reported):
    assert bool(places(CLONE + call)) is is_reported


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        ('picture.save(os.path.join(args.out, f"{args.step}.png"))', True),
        ('path = args.out + "/" + args.name + ".JPG"\npicture.save(path)', True),
        ('picture.save(os.path.join(args.out, f"{accelerator.process_index}.png"))', False),
        ('path = args.out + "/x.png"\npath = args.out\npicture.save(path)', False),
        ("picture.save(args.out)", False),
        ('logging.FileHandler("x.log")', False),
        ('logging.basicConfig(filename="x.log")', False),
        ("logging.basicConfig(level=20)", False),
        ('gzip.open("x.gz", "rt")', False),
    ],
)
def test_pictures_and_files_that_are_opened(call, is_reported):
    assert bool(places(f"picture = somebodys()\n{call}")) is is_reported


@pytest.mark.parametrize(
    ("start", "is_reported"),
    [
        ('wandb.init(project="x", group="all")', False),
        ('wandb.init(project="x", mode="online" if accelerator.is_main_process else "disabled")', False),
        ('if accelerator.is_main_process: wandb.init(project="x", group="all")', True),
        ("pass", True),
    ],
)
def test_where_all_ranks_start_a_run_that_is_right_each_logs_to_its_own(start, is_reported):
    text = f"import wandb\n{IMPORTS}" + loop(f"{start}\nshow()") + '\n\ndef show():\n    wandb.log({"x": 1})\n'
    assert ('wandb.log({"x": 1})' in "".join(SNIPPETS.places(text))) is is_reported


def test_a_repository_is_asked_for_by_all_ranks():
    text = IMPORTS + loop("url = create_repo(args.repo)")
    assert SNIPPETS.finding(text).consequence == "crash"
    assert SNIPPETS.mended(text, unsafe=True) == text.replace("(args.repo)", "(args.repo, exist_ok=True)")


DATA = "torchvision.datasets.CIFAR10(args.data_dir, download={})"


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        (DATA.format(True), True),
        (DATA.format(False), False),
        (DATA.format("args.download"), False),
        (DATA.format("accelerator.is_main_process"), False),
        ("torchvision.datasets.CIFAR10(args.data_dir)", False),
        ("torchvision.datasets.ImageFolder(args.data_dir)", False),
        (f"with accelerator.main_process_first(): {DATA.format(True)}", False),
        (f"if accelerator.is_main_process: {DATA.format(True)}", False),
        ("nltk.download('punkt')", True),
        ("with accelerator.main_process_first(): nltk.download('punkt')", False),
        ("huggingface_hub.snapshot_download(args.repo, local_dir=args.data_dir)", True),
        ("huggingface_hub.hf_hub_download(args.repo, 'rows.bin', local_dir=args.data_dir)", True),
        # In the cache, ranks that find a file missing take turns, and all but the first find it.
        ("huggingface_hub.snapshot_download(args.repo)", False),
        ("huggingface_hub.snapshot_download(args.repo, local_dir=None)", False),
        ("huggingface_hub.snapshot_download(args.repo, local_dir=f'/data/{accelerator.process_index}')", False),
        (
            "with accelerator.main_process_first(): huggingface_hub.snapshot_download(args.repo, local_dir='data')",
            False,
        ),
    ],
)
def test_data_that_each_process_downloads(call, is_reported):
    assert bool(places(call)) is is_reported


@pytest.mark.parametrize(
    ("made", "is_reported"),
    [
        ("torch.jit.script(net)", True),
        ("torch.jit.trace(net, inputs)", True),
        ("torch.jit.load(args.path)", False),
        ("somebodys(net)", False),
    ],
)
def test_a_model_that_torchscript_has_made(made, is_reported):
    call = "script.save(os.path.join(args.output_dir, 'net.zip'))"
    assert places(f"script = {made}\n{call}") == [call] * is_reported
    assert places(f"script = {made}\nif accelerator.is_main_process: {call}") == []


def test_cache_files_that_others_may_be_reading():
    text = (
        "from datasets import load_dataset\n"
        + IMPORTS
        + loop("data = load_dataset('a').map(tokenize)\n{}data.cleanup_cache_files()")
    )
    assert SNIPPETS.places(text.format("")) == ["data.cleanup_cache_files()"]
    assert SNIPPETS.places(text.format("with accelerator.main_process_first(): ")) == ["data.cleanup_cache_files()"]
    assert SNIPPETS.places(text.format("if accelerator.is_main_process: ")) == []
    assert SNIPPETS.places(text.format("").replace(".map(tokenize)", "")) == []  # it leaves no cache files


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        ("os.makedirs(args.output_dir)", True),
        ("shutil.rmtree(args.output_dir)", True),
        ("os.makedirs(args.output_dir, exist_ok=True)", False),
        ("if not os.path.exists(args.output_dir): os.makedirs(args.output_dir)", False),
        ("save_json(args, args.path)", False),  # it is written again
        ("os.makedirs(path_of(batch))", False),
    ],
)
def test_what_fails_where_the_ranks_take_turns(call, is_reported):
    assert bool(places(f"with accelerator.main_process_first():\n    {call}")) is is_reported


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        ("comet_ml.Experiment(project_name=args.name)", True),
        ("comet_ml.start(project_name=args.name)", True),
        ("comet_ml.start(project_name=args.name, experiment_key=args.key)", False),
        ("comet_ml.get_global_experiment()", False),
        ("neptune.init_run(project=args.name)", True),
        ("neptune.init_run(project=args.name, with_id=args.key)", False),
        ("Run(experiment=args.name)", True),
        ("Run(args.key)", False),
        ("if accelerator.is_main_process: Run(experiment=args.name)", False),
        ("tensorboard_logger.Logger(args.output_dir)", True),
        ("tensorboard_logger.Logger(args.output_dir, is_dummy=True)", False),
        ("tensorboard_logger.configure(args.output_dir)", True),
        ('tensorboard_logger.configure(f"run-{accelerator.process_index}")', False),
    ],
)
def test_runs_of_other_trackers(call, is_reported):
    assert bool(places(call)) is is_reported


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        ("HfApi().create_branch(args.repo, branch='a')", True),
        ("HfApi().create_branch(args.repo, branch='a', exist_ok=True)", False),
        ("HfApi().delete_repo(args.repo)", True),
        ("HfApi().delete_repo(args.repo, missing_ok=True)", False),
        ("if accelerator.is_main_process: HfApi().delete_repo(args.repo)", False),
        ("HfApi().create_bucket('b')", True),
        ("HfApi().create_bucket('b', exist_ok=True)", False),
        ("HfApi().create_bucket(f'b{accelerator.process_index}')", False),
        ("HfApi().delete_bucket('b')", True),
        ("HfApi().delete_bucket('b', missing_ok=True)", False),
        ("load_dataset('a').push_to_hub('b')", True),
        ("load_dataset('a', streaming=True).push_to_hub('b')", True),
        ("load_dataset('a', streaming=True).repeat(2).push_to_hub('b')", True),
        ("if accelerator.is_main_process: load_dataset('a', streaming=True).push_to_hub('b')", False),
        ("load_dataset('a').save_to_disk(args.output_dir)", True),
        ("if accelerator.is_main_process: load_dataset('a').save_to_disk(args.output_dir)", False),
    ],
)
def test_what_else_is_changed_on_the_hub(call, is_reported):
    assert bool(SNIPPETS.places("from datasets import load_dataset\n" + IMPORTS + loop(call))) is is_reported


def test_a_download_where_nothing_is_there_is_asked_for_only():
    call = "urllib.request.urlretrieve(args.url, args.data_path)"
    (whatever,) = SNIPPETS.findings(IMPORTS + loop(call))
    (looked,) = SNIPPETS.findings(IMPORTS + loop(f"if not os.path.exists(args.data_path):\n    {call}"))
    assert (whatever.by_default, looked.by_default) == (True, False)
    assert "that find nothing there" in looked.message
    assert looked.message.endswith("each downloads the same file")


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        ("tokenizer.save_pretrained(args.output_dir)", True),
        ("args.image_processor.save_pretrained(args.output_dir)", True),
        ("tokenizer.push_to_hub(args.repo)", True),
        ("if accelerator.is_main_process: tokenizer.save_pretrained(args.output_dir)", False),
        ("tokenizer.save_pretrained(f'{accelerator.process_index}')", False),
        ("tokenizer.save_pretrained(path_of(batch))", False),
        ("adapter.save_pretrained(args.output_dir)", False),
        ("tokenizer.save(args.output_dir)", False),
        ("Processor().save_pretrained(args.output_dir)", False),  # its own class says what it does
    ],
)
def test_a_tokenizer_by_its_name(call, is_reported):
    own = "\nclass Processor:\n    def save_pretrained(self, path):\n        write_once(path)\n"
    found = SNIPPETS.findings(IMPORTS + own + loop(call))
    assert [each.by_default for each in found] == [False] * is_reported
