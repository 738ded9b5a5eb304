"""Classes and functions of model libraries: Diffusers, timm, CLIP, open_clip, torchvision, sentence_transformers.

Read from diffusers 0.40.0.dev0, timm 1.0.29.dev0, open_clip 4.2.0.dev0, sentence_transformers 3.1.0.dev0 and the
documentation of kornia 0.8 and torchvision 0.24.
"""

from __future__ import annotations

from trl_lint.domain import ranks
from trl_lint.knowledge import transformers
from trl_lint.knowledge.effects import OF_MODELS
from trl_lint.knowledge.schema import (
    BARE_MODEL,
    NOTHING,
    PURE,
    SAME,
    SETTING,
    Class,
    Collective,
    Function,
    Row,
    instance,
    items,
    tensor,
)

# The layout of a table is by hand: one or two lines per row.
# fmt: off

_TRAINING = "training_utils.py"
_FACTORY = "open_clip/factory.py"
# Represents all pipeline classes of Diffusers: a trained model with everything that is used with it.
PIPELINE = "diffusers.DiffusionPipeline"
_PIPELINES = "pipelines/pipeline_utils.py::DiffusionPipeline"

# Objects that run the backward pass of the loss with which they are called, and step the optimizer.
STEPS = frozenset({"timm.utils.ApexScaler", "timm.utils.NativeScaler"})

# The trainers of sentence_transformers: each is a Trainer of transformers, with settings that add to its own.
# Source: sentence_transformers/trainer.py::SentenceTransformerTrainer, cross_encoder/trainer.py::CrossEncoderTrainer,
# sparse_encoder/trainer.py::SparseEncoderTrainer, and training_args.py beside each
_SENTENCE_TRAINERS = (("SentenceTransformer", "", "3.0"), ("CrossEncoder", "cross_encoder/", "4.0"),
                      ("SparseEncoder", "sparse_encoder/", "5.0"))  # fmt: skip

ROWS: tuple[Row, ...] = (
    *(
        row
        for name, folder, since in _SENTENCE_TRAINERS
        for row in (
            Class(name=f"sentence_transformers.{name}Trainer", source=f"{folder}trainer.py::{name}Trainer",
                  since=since, bases=("transformers.Trainer",), callbacks=transformers.CALLBACKS),
            Class(name=f"sentence_transformers.{name}TrainingArguments",
                  source=f"{folder}training_args.py::{name}TrainingArguments", since=since,
                  bases=("transformers.TrainingArguments",), others=SETTING),
        )
    ),
    Class(name=PIPELINE, source=_PIPELINES),
    # Apart from a few small files, it writes the model.
    *(
        Function(name=f"{PIPELINE}.{name}", source=f"{_PIPELINES}.{name}", returns=NOTHING, effect=OF_MODELS[name])
        for name in ("push_to_hub", "save_pretrained")
    ),
    Function(name=f"{PIPELINE}.to", source=f"{_PIPELINES}.to", returns=instance(PIPELINE)),
    # Not a module: it keeps averages of the parameters of one.
    Class(name="diffusers.training_utils.EMAModel", source=f"{_TRAINING}::EMAModel", makes=PURE),
    *(
        Function(name=f"diffusers.training_utils.{name}", source=f"{_TRAINING}::{name}", returns="pure")
        for name in ("compute_confidence_aware_loss", "compute_dream_and_update_latents",
                     "compute_loss_weighting_for_sd3", "compute_snr")
    ),
    # Each rank draws different values.
    Function(name="diffusers.training_utils.compute_density_for_timestep_sampling",
             source=f"{_TRAINING}::compute_density_for_timestep_sampling",
             returns=tensor(ranks.RNG_LOCAL, dtype="float")),
    *(
        Function(name=f"diffusers.training_utils.{name}", source=f"{_TRAINING}::{name}", returns=NOTHING)
        for name in ("cast_training_params", "free_memory")
    ),
    Function(name="clip.load", source="github.com/openai/CLIP, clip/clip.py::load", returns=items(BARE_MODEL, PURE)),
    Function(name="open_clip.create_model", source=f"{_FACTORY}::create_model", returns=BARE_MODEL),
    Function(name="open_clip.create_model_and_transforms", source=f"{_FACTORY}::create_model_and_transforms",
             returns=items(BARE_MODEL, PURE, PURE)),
    Function(name="open_clip.create_model_from_pretrained",
             source=f"{_FACTORY}::create_model_from_pretrained", returns=items(BARE_MODEL, PURE)),
    Function(name="open_clip.get_tokenizer", source=f"{_FACTORY}::get_tokenizer", returns=PURE),
    Function(name="timm.create_model", source="timm/models/_factory.py::create_model", returns=BARE_MODEL),
    *(
        Function(name=name, source="timm/utils/metrics.py::accuracy", returns="pure")
        for name in ("timm.utils.accuracy", "timm.utils.metrics.accuracy")
    ),
    # A sum over the ranks, divided by the number that it is given.
    *(
        Collective(name=name, source="timm/utils/distributed.py::reduce_tensor", result="reduced",
                   fails="always", reduction=(-1, "", "mean"))
        for name in ("timm.utils.reduce_tensor", "timm.utils.distributed.reduce_tensor")
    ),
    Function(name="timm.utils.AverageMeter", source="timm/utils/metrics.py::AverageMeter", returns="metric"),
    *(Class(name=name, source=f"timm/utils/cuda.py::{name.rpartition('.')[2]}") for name in STEPS),
    *(
        Class(name=f"torchvision.datasets.{name}", source=f"torchvision/datasets/folder.py::{name}", others=SAME)
        for name in ("DatasetFolder", "ImageFolder")
    ),
    Function(name="torchvision.models.get_model", source="torchvision/models/_api.py::get_model",
             returns=BARE_MODEL),
)

# The modules of torchvision's functions that create a model, with lower-case names, and the functions that do not.
MODEL_FUNCTIONS = frozenset({"torchvision.models", *(
    f"torchvision.models.{task}" for task in ("detection", "optical_flow", "quantization", "segmentation", "video")
)})  # fmt: skip
NO_MODEL_FUNCTIONS = frozenset({"get_model_builder", "get_model_weights", "get_weight", "list_models"})
# The modules of classes whose instances only compute.
PURE_CLASSES = (
    "einops.layers.",
    "kornia.augmentation.",
    "timm.data.FastCollateMixup",
    "timm.data.Mixup",
    "timm.data.mixup.",
    "torchvision.transforms.",
)
# Averages of a model, whose parameters they detach: `prepare` wraps them only if they hold the averaged model as well.
# The keyword that, if false, keeps it out of their modules (true by default), or "" if they never hold it. Read from
# ema_pytorch 0.7.
AVERAGES = {
    f"{module}.{name}": keyword
    for name, home, keyword in (("EMA", "ema_pytorch", "include_online_model"), ("KarrasEMA", "post_hoc_ema", ""))
    for module in ("ema_pytorch", f"ema_pytorch.{home}")
}
# The attribute of such an object with the copy, of which no parameter requires gradients.
AVERAGED_COPY = "ema_model"
# sentence_transformers/trainer.py::SentenceTransformerTrainer.override_model_in_loss: on several processes, the wrapper
# replaces the model that a loss keeps in this attribute. The loss is passed by this name.
LOSS_TRAINERS = frozenset({"CrossEncoderTrainer", "SentenceTransformerTrainer", "SparseEncoderTrainer"})
LOSS, MODEL_OF_LOSS = "loss", "model"
