"""Functions of libraries that write a file to the path that they are given, or make a repository of a name.

Read from huggingface_hub 1.2 and the documentation of OpenCV 4.12, imageio 2.37, joblib 1.5, matplotlib 3.10,
OmegaConf 2.3, scikit-image 0.25, SciPy 1.16, safetensors 0.6, soundfile 0.13, torchaudio 2.8 and torchvision 0.24. What
each of them does to a file is the same: it is opened anew and filled, so that ranks which do so at the same time leave
a mixture, or fail.
"""

from __future__ import annotations

from trl_lint.knowledge.schema import Class, Effect, Function, OpaqueCall, Parameter, Row

# The layout of a table is by hand: one line per row.
# fmt: off

# Each function with the parameter that is the path.
_WRITES: dict[str, Parameter] = {
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
_CREATES = Effect("creates the same repository", (0, "repo_id"), fails=True, unless=("exist_ok",),
                  instead="let all ranks ask for it: `exist_ok=True`, or do it on the main process only")
# fmt: on

ROWS: tuple[Row, ...] = (
    *(
        OpaqueCall(name=name, source="documentation", effect=Effect("writes the same file", path))
        for name, path in _WRITES.items()
    ),
    Class(name="huggingface_hub.HfApi", source="hf_api.py::HfApi"),
    *(
        Function(name=f"huggingface_hub.{name}", source="hf_api.py::HfApi.create_repo", effect=_CREATES)
        for name in ("HfApi.create_repo", "create_repo")
    ),
)
