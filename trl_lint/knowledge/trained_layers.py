"""Modules with trained parameters, and what code does with them that uses none of these in a forward.

Read from torch 2.13.0: nn/modules, nn/parallel/distributed.py, csrc/distributed/c10d/reducer.cpp.
"""

from __future__ import annotations

import re

from trl_lint.knowledge.models import HAVE_PARAMETERS, LAYERS

# Layers with parameters unless one of these is off; `InstanceNorm2d` has none by default.
NORMALISE = frozenset(
    {
        *("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "LayerNorm", "RMSNorm", "SyncBatchNorm"),
        *("LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d"),
    }
)
AFFINE = frozenset({"affine", "elementwise_affine"})
# The place of that argument: LayerNorm(shape, eps, elementwise_affine), GroupNorm(groups, channels, eps, affine).
PLACE_OF_ELEMENTWISE, PLACE_OF_AFFINE = 2, 3
ELEMENTWISE = frozenset(f"{LAYERS}{name}" for name in ("LayerNorm", "RMSNorm"))
_OTHERS = ("LazyConv1d", "LazyConv2d", "LazyConv3d", "PReLU", "RNNCell", "TransformerDecoder", "TransformerEncoder")
ALWAYS_TRAINED = frozenset(f"{LAYERS}{name}" for name in (*HAVE_PARAMETERS, *_OTHERS))
TRAINED_IF_AFFINE = frozenset(f"{LAYERS}{name}" for name in NORMALISE)
PARAMETER = frozenset({f"{LAYERS}Parameter", f"{LAYERS}parameter.Parameter"})
# Modules of those that they are made of: their arguments, the items of a list, the values of a dict.
HOLD_MODULES = frozenset(f"{LAYERS}{name}" for name in ("ModuleDict", "ModuleList", "Sequential"))
# By an argument of a layer of that name its parameters are frozen (`Embedding(…, _freeze=True)`).
FROZEN_BY = "_freeze"

# Bases of a class that call no method of it but those that a module has itself.
CALL_NO_METHODS = frozenset(
    {"abc.ABC", "object", "torch.nn.Module", "torch.nn.modules.module.Module", "typing.Generic"}
)
# And those that read no part of it by a name that the code does not mention.
READ_NO_PARTS = CALL_NO_METHODS | frozenset(
    {
        *("huggingface_hub.PyTorchModelHubMixin", "huggingface_hub.hub_mixin.PyTorchModelHubMixin"),
        *("lightning.LightningModule", "lightning.pytorch.LightningModule"),
        "lightning.pytorch.core.module.LightningModule",
        *("pytorch_lightning.LightningModule", "pytorch_lightning.core.module.LightningModule"),
    }
)
# By these a class may read parts of itself whose names it does not write.
READ_ANY_PART = frozenset(
    {
        *("__dict__", "__getattr__", "__getattribute__", "__setattr__", "_modules", "_parameters", "add_module"),
        *("attrgetter", "delattr", "eval", "exec", "functional_call", "get_parameter", "get_submodule", "locals"),
        *("register_module", "register_parameter", "setattr", "vars"),
    }
)
# These list all parts of a module: to set them up, or to run them.
LIST_ALL_PARTS = frozenset({"children", "modules", "named_children", "named_modules"})
# These list all parameters of a module: in a forward, to compute with them.
LIST_ALL_PARAMETERS = frozenset({"named_parameters", "parameters", "state_dict"})
# These give parts of a module, or the module itself, to code that may run them.
GIVE_PARTS = (
    LIST_ALL_PARTS | LIST_ALL_PARAMETERS | frozenset({"apply", "get_parameter", "get_submodule", "requires_grad_"})
)
# Words of the names of methods that set a module up: `init_weights`, `_initialize_parameters`.
SETS_UP, BEGINS_SETTING_UP = frozenset({"init", "inits", "reset", "weights"}), ("initiali",)
# Functions of `torch.nn.init`, by which code sets parameters, end so, as do methods that change a tensor in place.
IN_PLACE = "_"
FREEZES_IN_PLACE = "requires_grad_"
# The last names of what wraps a model in DistributedDataParallel.
WRAP_IN_DDP = frozenset({"DDP", "DistributedDataParallel", "prepare"})
# Methods by which a module is set up.
SET_UP = frozenset({"apply", "bfloat16", "cpu", "cuda", "double", "float", "half", "reset_parameters", "to"})
TENSOR_OF_PARAMETER = "data"

# Models of transformers that have a pooler with parameters, unless they are told not to, and the names of weights that
# `AutoModel` loads into one. What it gives is in `pooler_output`, or comes second where the model returns a tuple.
# Source: transformers 4.51.3 and 5.24.0, models/*/modeling_*.py
HAVE_POOLER = frozenset(
    f"transformers.{name}Model"
    for name in (
        *("Albert", "Bert", "BigBird", "Bros", "Camembert", "Canine", "Data2VecText", "DeiT", "Ernie", "Esm", "IBert"),
        *("Lilt", "Longformer", "Luke", "MPNet", "MarkupLM", "MegatronBert", "RemBert", "Roberta"),
        *("RobertaPreLayerNorm", "Tapas", "ViT", "Vilt", "VisualBert", "XLMRoberta", "XLMRobertaXL"),
    )
)
LOADS_ANY, LOADS, POOLER_OPTION, POOLER = "transformers.AutoModel", "from_pretrained", "add_pooling_layer", rb"pooler"
WEIGHTS_WITH_POOLER = re.compile(
    r"(?:(?:google-bert|FacebookAI|albert|google)/)?(?:bert-(?:base|large)-[\w-]+|(?:xlm-)?roberta-(?:base|large)"
    r"|albert-(?:base|large|xlarge|xxlarge)-v\d|vit-(?:base|large)-patch\d+-\d+(?:-in21k)?)"
)
# What an output has besides, and what such a model has that is no use of its pooler.
WITHOUT_POOLED = frozenset({"attentions", "cross_attentions", "hidden_states", "last_hidden_state", "past_key_values"})
PARTS_BEFORE_POOLER = frozenset(
    {
        *(
            "config",
            "device",
            "dtype",
            "embeddings",
            "encoder",
            "get_input_embeddings",
            "gradient_checkpointing_disable",
        ),
        *("gradient_checkpointing_enable", "resize_token_embeddings", "set_input_embeddings", "to", "train"),
    }
)
PLAIN_BASES_OF = ("transformers.", "PreTrainedModel")

# DDP does without the gradients of some parameters if it is told so, by an argument or otherwise.
FINDS_UNUSED = "find_unused_parameters"
# By its place it is at least the eighth.
PLACES_BEFORE_IT = 7
ALLOWS_UNUSED = frozenset({"delay_all_reduce_named_params", "skip_all_reduce_unused_params", "static_graph"})
ALLOWED_OTHERWISE = (
    rb"_set_static_graph|_ddp_params_and_buffers_to_ignore|_set_params_and_buffers_to_ignore_for_model|static_graph"
)
# How code says so for a wrapper that a library makes.
TOLD_TO_FIND = (
    rb"find_unused_parameters(?!_false|[\"']?\s*[=:]\s*False\b)|\bDistributedDataParallelKwargs\(\s*\*\*\s*\w*[.\[(]"
)
# A backward pass, or the step before it of a module of Lightning.
TRAINS = rb"\bbackward\(|\bdef training_step\("
# What is done with a model that is never trained.
NO_TRAINING_OF = frozenset({"eval", "load_state_dict", "to"})
# What a program that trains mentions, besides, and what a program is told by.
OPTIMISES, IS_PROGRAM = rb"(?i)optim|\bdef training_step\(", rb"__main__"
# Parameters may be frozen: by their flags, by a function, or by adapters, beside which nothing of a model is trained.
FREEZES = (
    rb"\.requires_grad\s*=(?!=|\s*True\b)|\brequires_grad_\((?!\s*True\b|\s*\))|\bfreeze\w*\("
    rb"|[\"']requires_grad[\"']\s*,(?!\s*True\b)|\bget_peft_model\(|\bmark_only_lora_as_trainable\("
    rb"|\binject_adapter_in_model\(|\bprepare_model_for_kbit_training\(|\b(?:Lora|Peft)Model\w*\("
)
# Attributes that may hold the whole of a model, in an object that trains it.
WHOLE_MODELS = frozenset({b"model", b"module", b"net", b"network", b"policy"})
# All parameters may be part of a loss: a sum of their squares, or a multiple of them by zero.
COMPUTES = (
    rb"\b(?:abs|dot|einsum|flatten|mean|pow|ravel|reshape|square|sum|trace|view)\(|norm\(|loss\(|\*\*"
    rb"|\b(\w+) ?[*@] ?\1\b|\* ?0(?:\.0*)?(?![\w.])|(?<![\w.])0(?:\.0*)? ?\*"
)
NOT_THEIR_VALUES = (
    rb"\b(?:data|detach|element_size|item|nelement|numel|prod|shape|size)\b|clip|(?<!requires_)grad|\bsum\(\[?\s*1\b"
)
LISTS_EACH_PARAMETER = rb"\bin\b.*parameters\(\)"
GETS_ALL_AT_ONCE = (
    rb"\bmap\(.{0,80}?\b(?:norm|square|sum)\b.{0,80}?\bparameters\(\)|\bparameters_to_vector\("
    rb"|\b_foreach_norm\(.{0,40}?\bparameters\(\)"
)
# What replaces a method of an object, which then has code of another place, or deletes any part of it.
REPLACES_METHODS = (
    rb"\.forward\s*=(?!=)|\bsetattr\(.*[\"']forward[\"']|\bMethodType\b|\.__get__\("
    rb"|\bIntermediateLayerGetter\b|\bcreate_feature_extractor\b|\bdelattr\([^,\n]+,(?!\s*[\"'])"
)
# All parts of another object are run in turn, `for part in net.children(): x = part(x)`, or given to what may run them.
_CHILDREN = rb"(?<!self\.)(?<!self\.named_)\b(?:named_)?children\(\)"
RUNS_ALL_PARTS = (
    rb"\bfor\b.{0,40}?\b(\w+) in .{0,40}?%b.{0,9}:[ \t]*(?:\n(?:.{0,120}\n)?[ \t]+)?.{0,80}?[=(] *\1\("
    rb"|\b(\w+)\(.{0,40}?\bfor\b.{0,20}?\b\2\b.{0,9}? in .{0,40}?%b"
    rb"|\b(?:ModuleList|Sequential|dict|reduce)\(.{0,60}?%b|\blist\([\w.]+(?<!self)\.children\(\)\)\["
) % ((_CHILDREN,) * 3)
# A part is asked for by a name that is not in the code, of what may be the model: `getattr(model, args.part)`.
READS_ANY_PART = (
    rb"\b(?:attrgetter|get_(?:parameter|submodule))\((?!\s*[frbFRB]?[\"'])|\b_modules\[(?!\s*[frbFRB]?[\"'])"
    rb"|\b_modules\.(?:items|pop|values)\(|\bdict\([\w.]*\bnamed_(?:children|modules)\(\)\)"
    rb"|\b(?:get|set)attr\(\s*(?:\w+\.)*(?:model|module|net|network)\s*,(?!\s*[frbFRB]?[\"'])"
)
# By these, code asks for parts by texts, which it may compose: `getattr(net, f"head_{number}")`.
ASKS_BY_TEXT = (
    rb"\b(?:attrgetter|getattr|get_parameter|get_submodule|__getattr__|__getattribute__)\(|\b_modules\["
    rb"|\bnamed_(?:children|modules)\("
)
# A method may be called whose name is not in the code, of what is no module of torch: `getattr(net, args.mode)(x)`.
CALLS_ANY_METHOD = (
    rb"\bgetattr\(\s*(?!(?:torch|nn|optim|transformers|importlib|sys)\b)[^,()]{1,80}(?:\([^()]{0,80}\))?[^,()]{0,80}"
    rb",(?!\s*[\"'][^\"'\n]*[\"']\s*[,)])|\b(?:methodcaller|getmembers)\b|\b__getattribute__\("
)
# By these, gradients are on again where they were off.
GRADIENTS_AGAIN = frozenset({"enable_grad", "set_grad_enabled"})
# A file is imported whose name is not in the code.
IMPORTS_ANY = rb"\b(?:import_module|__import__)\((?!\s*[\"'])"
# Names of modules whose functions are no parts of a model: `torch.norm`.
NO_MODELS_THESE = frozenset({b"F", b"functional", b"linalg", b"math", b"nn", b"np", b"numpy", b"torch"})
