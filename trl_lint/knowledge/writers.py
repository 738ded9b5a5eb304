"""Functions of libraries that write a file to the path that they are given.

Read from the source of batchgenerators 0.25 and ASE 3.26 (`ase.io.formats.write`: its `parallel` asks MPI, which
torchrun and accelerate do not start, so that each of their processes counts as the first one), and from the
documentation of OpenCV 4.12, imageio 2.37, joblib 1.5, matplotlib 3.10, OmegaConf 2.3, scikit-image 0.25, SciPy 1.16,
safetensors 0.6, soundfile 0.13, torchaudio 2.8 and torchvision 0.24. What each of them does to the file is the same: it
is opened anew and filled, so that ranks which do so at the same time leave a mixture, or fail.
"""

from __future__ import annotations

from trl_lint.knowledge.schema import Effect, OpaqueCall, Parameter, Row

# The layout of a table is by hand: one line per row.
# fmt: off

# Each function with the parameter that is the path.
_WRITES: dict[str, Parameter] = {
    "ase.io.write": (0, "filename"),
    **{
        f"batchgenerators.utilities.file_and_folder_operations.{name}": (1, "file")
        for name in ("save_json", "save_pickle", "write_json", "write_pickle")
    },
    "cv2.imwrite": (0, "filename"),
    "imageio.imsave": (0, "uri"),
    "imageio.imwrite": (0, "uri"),
    "imageio.mimsave": (0, "uri"),
    "imageio.mimwrite": (0, "uri"),
    "joblib.dump": (1, "filename"),
    "matplotlib.pyplot.imsave": (0, "fname"),
    "matplotlib.pyplot.savefig": (0, "fname"),
    "omegaconf.OmegaConf.save": (1, "f"),
    "safetensors.torch.save_file": (1, "filename"),
    "safetensors.torch.save_model": (1, "filename"),
    "scipy.io.savemat": (0, "file_name"),
    "scipy.io.wavfile.write": (0, "filename"),
    "skimage.io.imsave": (0, "fname"),
    "soundfile.write": (0, "file"),
    "torchaudio.save": (0, "uri"),
    "torchvision.io.write_jpeg": (1, "filename"),
    "torchvision.io.write_png": (1, "filename"),
    "torchvision.io.write_video": (0, "filename"),
    "torchvision.utils.save_image": (1, "fp"),
}
# fmt: on

ROWS: tuple[Row, ...] = tuple(
    OpaqueCall(name=name, source="documentation", effect=Effect("writes the same file", path))
    for name, path in _WRITES.items()
)
