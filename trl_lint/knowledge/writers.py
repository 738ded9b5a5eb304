"""Functions of libraries that write a file to the path that they are passed.

Read from the source of batchgenerators 0.25, MONAI 1.5 and ASE 3.26 (`ase.io.formats.write`: its `parallel` uses MPI,
which torchrun and accelerate do not start, so that each of their processes counts as the first one), and from the
documentation of anyconfig 0.14, Biopython 1.85, diffusers 0.35, faiss 1.12, gdown 5.2, GitPython 3.1, imageio 2.37,
joblib 1.5, librosa 0.7, matplotlib 3.10, mediapy 1.2, mmcv 2.2, mmengine 0.10, nibabel 5.3, NLTK 3.9, OmegaConf 2.3,
Open3D 0.19, OpenCV 4.12, pandas 2.3, plotly 6.3, pyarrow 21, Python, safetensors 0.6, scikit-image 0.25, SciPy 1.16,
sentencepiece 0.2, SimpleITK 2.5, soundfile 0.13, srsly 2.5, TensorFlow 2.20, tifffile 2025.10, timm 1.0, torch 2.9,
torchaudio 2.8, torchvision 0.24, wget 3.2 and zarr 3.1. Each of them opens and rewrites the whole file, so that ranks
which do so at the same time leave a mixture, or fail.
"""

from __future__ import annotations

from trl_lint.findings import Consequence
from trl_lint.knowledge.schema import Effect, OpaqueCall, Parameter, Row

# The layout of a table is by hand: one line per row.
# fmt: off

# Each function with the parameter for the path.
_WRITES: dict[str, Parameter] = {
    "anyconfig.dump": (1, "out"),
    "ase.io.write": (0, "filename"),
    **{
        f"batchgenerators.utilities.file_and_folder_operations.{name}": (1, "file")
        for name in ("save_json", "save_pickle", "write_json", "write_pickle")
    },
    "Bio.SeqIO.write": (1, "handle"),
    "cv2.imwrite": (0, "filename"),
    "cv2.VideoWriter": (0, "filename"),
    "distutils.dir_util.copy_tree": (1, "dst"),
    "diffusers.utils.export_to_gif": (1, "output_gif_path"),
    "diffusers.utils.export_to_video": (1, "output_video_path"),
    "faiss.write_index": (1, "fname"),
    "imageio.get_writer": (0, "uri"),
    "imageio.imsave": (0, "uri"),
    "imageio.imwrite": (0, "uri"),
    "imageio.mimsave": (0, "uri"),
    "imageio.mimwrite": (0, "uri"),
    "joblib.dump": (1, "filename"),
    "librosa.output.write_wav": (0, "path"),
    "matplotlib.pyplot.imsave": (0, "fname"),
    "matplotlib.pyplot.savefig": (0, "fname"),
    "mediapy.write_image": (0, "path"),
    "mediapy.write_video": (0, "path"),
    "mmcv.dump": (1, "file"),
    "mmcv.imwrite": (1, "file_path"),
    "mmengine.dump": (1, "file"),
    "monai.handlers.utils.write_metrics_reports": (0, "save_dir"),
    "monai.handlers.write_metrics_reports": (0, "save_dir"),
    "nibabel.save": (1, "filename"),
    "omegaconf.OmegaConf.save": (1, "f"),
    "open3d.io.write_image": (0, "filename"),
    "open3d.io.write_point_cloud": (0, "filename"),
    "open3d.io.write_triangle_mesh": (0, "filename"),
    "pandas.ExcelWriter": (0, "path"),
    "plotly.io.write_html": (1, "file"),
    "plotly.io.write_image": (1, "file"),
    "plotly.io.write_json": (1, "file"),
    "pyarrow.feather.write_feather": (1, "dest"),
    "pyarrow.parquet.write_table": (1, "where"),
    "safetensors.numpy.save_file": (1, "filename"),
    "safetensors.torch.save_file": (1, "filename"),
    "safetensors.torch.save_model": (1, "filename"),
    "scipy.io.savemat": (0, "file_name"),
    "scipy.io.wavfile.write": (0, "filename"),
    "scipy.sparse.save_npz": (0, "file"),
    "sentencepiece.SentencePieceTrainer.train": (2, "model_prefix"),
    "shutil.make_archive": (0, "base_name"),
    "shutil.unpack_archive": (1, "extract_dir"),
    "SimpleITK.WriteImage": (1, "fileName"),
    "skimage.io.imsave": (0, "fname"),
    "soundfile.write": (0, "file"),
    **{
        f"srsly.{name}": (0, "path")
        for name in ("write_gzip_json", "write_json", "write_msgpack", "write_yaml")
    },
    "tensorflow.io.write_file": (0, "filename"),
    "tifffile.imwrite": (0, "file"),
    "torch.export.save": (1, "f"),
    "torch.package.PackageExporter": (0, "f"),
    "torchaudio.save": (0, "uri"),
    "torchvision.io.write_file": (0, "filename"),
    "torchvision.io.write_jpeg": (1, "filename"),
    "torchvision.io.write_png": (1, "filename"),
    "torchvision.io.write_video": (0, "filename"),
    "torchvision.utils.save_image": (1, "fp"),
    "zarr.save": (0, "store"),
}
# Calls that download a file, with the parameter for its place, and the consequence if all ranks do so: those that write
# to a file of another name first, and rename it, only do the same work once per rank.
_FETCHES: dict[str, tuple[Parameter, Consequence]] = {
    "gdown.download": ((1, "output"), Consequence.WASTE),
    "gdown.download_folder": ((2, "output"), Consequence.WASTE),
    "torch.hub.download_url_to_file": ((1, "dst"), Consequence.WASTE),
    "torchvision.datasets.utils.download_and_extract_archive": ((1, "download_root"), Consequence.RACE),
    "torchvision.datasets.utils.download_url": ((1, "root"), Consequence.RACE),
    "urllib.request.urlretrieve": ((1, "filename"), Consequence.RACE),
    "wget.download": ((1, "out"), Consequence.WASTE),
}
# Data sets of torchvision and torchaudio that download and unpack missing files, if an argument says so. On the first
# start of a program all ranks do so, and overwrite files that others have half written (torchvision/datasets/utils.py
# `download_url` writes to the file itself); later starts find the files.
_FETCHED = {
    "torchaudio.datasets": ("LIBRISPEECH", "LIBRITTS", "LJSPEECH", "SPEECHCOMMANDS", "TEDLIUM", "VCTK_092", "YESNO"),
    "torchvision.datasets": (
        "CIFAR10", "CIFAR100", "CelebA", "Caltech101", "Caltech256", "Country211", "DTD", "EMNIST", "EuroSAT",
        "FGVCAircraft", "FashionMNIST", "Flowers102", "Food101", "GTSRB", "KMNIST", "MNIST", "Omniglot",
        "OxfordIIITPet", "PCAM", "Places365", "QMNIST", "SBDataset", "SEMEION", "STL10", "SUN397", "SVHN",
        "StanfordCars", "USPS", "VOCDetection", "VOCSegmentation",
    ),
}
# fmt: on

ROWS: tuple[Row, ...] = (
    *(
        OpaqueCall(name=name, source="documentation", effect=Effect("writes the same file", path))
        for name, path in _WRITES.items()
    ),
    *(
        OpaqueCall(
            name=name,
            source="documentation",
            effect=Effect("downloads the same file", path, makes=True, consequence=consequence, fetches=True),
        )
        for name, (path, consequence) in _FETCHES.items()
    ),
    OpaqueCall(
        name="srsly.write_jsonl",
        source="documentation",
        effect=Effect("writes the same file", (0, "path"), unless=("append",)),
    ),
    # Each rank writes what its own device holds.
    OpaqueCall(
        name="torch.cuda._dump_snapshot",
        source="torch/cuda/memory.py::_dump_snapshot",
        effect=Effect("writes the same file", (0, "filename"), optional=True),
    ),
    # It adds a line.
    OpaqueCall(
        name="timm.utils.update_summary",
        source="timm/utils/summary.py::update_summary",
        effect=Effect("appends to the same file", (3, "filename"), consequence=Consequence.WASTE),
    ),
    OpaqueCall(
        name="git.Repo.clone_from",
        source="git/repo/base.py::Repo.clone_from",
        effect=Effect("clones the same repository", (1, "to_path"), fails=True, makes=True, fetches=True),
    ),
    # Ranks that find a file missing in the folder take turns: each deletes what the last one has got, and starts anew.
    *(
        OpaqueCall(
            name=f"huggingface_hub.{name}",
            source="huggingface_hub/file_download.py::_hf_hub_download_to_local_dir",
            effect=Effect(
                "downloads the same files where they are not there",
                (-1, "local_dir"),
                looks=True,
                consequence=Consequence.WASTE,
                fetches=True,
            ),
        )
        for name in ("hf_hub_download", "snapshot_download")
    ),
    # It first tests whether the package exists already, and is complete.
    OpaqueCall(
        name="nltk.download",
        source="documentation",
        effect=Effect(
            "downloads and unpacks the same package", looks=True, consequence=Consequence.WASTE, fetches=True
        ),
    ),
    *(
        OpaqueCall(
            name=f"{package}.{name}",
            source="documentation",
            effect=Effect(
                "downloads and unpacks the same files where they are not there",
                (0, "root"),
                given="download",
                looks=True,
                consequence=Consequence.WASTE,
                fetches=True,
            ),
        )
        for package, names in _FETCHED.items()
        for name in names
    ),
)
