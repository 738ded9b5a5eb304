"""Names by which code handles models: their classes, attributes and methods, and engines around them.

Read from torch 2.13.0 (nn/modules/module.py), transformers 5.24.0 (modeling_utils.py) and peft 0.21.2.
"""

from __future__ import annotations

# A subclass of one of these in the linted project is a model.
MODULE_CLASSES = frozenset(
    {
        "diffusers.ModelMixin",
        "diffusers.models.ModelMixin",
        "diffusers.models.modeling_utils.ModelMixin",
        "torch.nn.Module",
        "torch.nn.Sequential",
        "torch.nn.modules.module.Module",
        "transformers.PreTrainedModel",
    }
)
# The module of torch's own layers, and of lists of layers.
LAYERS = "torch.nn."
# What is in that module and is a tensor: nothing wraps one (accelerate/accelerator.py, `_prepare_one`).
TENSORS_BESIDE_LAYERS = frozenset(
    {
        "torch.nn.Buffer",
        "torch.nn.Parameter",
        "torch.nn.UninitializedBuffer",
        "torch.nn.UninitializedParameter",
        "torch.nn.parameter.Parameter",
    }
)
# Of the classes, the ones without a forward of their own. `prepare` does not wrap such a module without parameters.
WITHOUT_FORWARD = frozenset({"torch.nn.Module", "torch.nn.modules.module.Module"})
# Classes by which an `isinstance` tests whether something is a model at all.
MODEL_CLASSES = frozenset({"Module", "PreTrainedModel"})
# `isinstance(model, …)` with one of the first is true of a wrapped model, with the others false.
WRAPPER_CLASSES = frozenset({"DataParallel", "DistributedDataParallel"})
# All classes of wrappers: a wrapped model's class has one of these names, and no other.
WRAPPER_NAMES = WRAPPER_CLASSES | {
    "DeepSpeedEngine",
    "DeepSpeedHybridEngine",
    "FullyShardedDataParallel",
    "OptimizedModule",
    "PipelineEngine",
    "_FabricModule",
}
# What code names that puts a model into a wrapper which works with other ranks: its class, a function, or the library.
WRAP_FOR_RANKS = frozenset(
    {
        *(
            "DDP",
            "DistributedDataParallel",
            "FSDP",
            "FullyShardedDataParallel",
            "colossalai",
            "deepspeed",
            "fully_shard",
        ),
        *("prepare", "prepare_model", "setup", "wrap_model"),
    }
)
PLAIN_CLASSES = ("PreTrainedModel", "PeftModel", "PeftMixedModel", "PeftModelForCausalLM", "LightningModule")
# Packages of other frameworks: no module of torch, and no wrapper, is an object of their classes.
OTHER_FRAMEWORKS = frozenset(
    {"flax", "jax", "jittor", "megengine", "mindspore", "mxnet", "oneflow", "paddle", "tensorflow"}
)
# No model is an object of one of these: code that asks holds its models in a dict or a list elsewhere.
NO_MODELS = frozenset(
    {
        "Dict",
        "List",
        "Mapping",
        "MutableMapping",
        "OrderedDict",
        "Sequence",
        "Tensor",
        "Tuple",
        "dict",
        "list",
        "str",
        "tuple",
    }
)

# The attribute of a wrapper that holds its model.
INNER_MODEL = "module"
# Methods of wrappers that return context managers: in one, gradients are not reduced; in the other, the ranks may run
# different numbers of steps (torch, nn/parallel/distributed.py).
KEEPS_GRADIENTS = "no_sync"
# Fabric's, which is passed the wrapper, and whether to do so (lightning/fabric/fabric.py `Fabric.no_backward_sync`).
KEEPS_GRADIENTS_OF = "no_backward_sync"
KEEPS_IF = "enabled"
JOINS = "join"
# The keyword of the latter that turns it off.
ENABLED = "enable"
# What the former turns off.
REDUCES_GRADIENTS = "require_backward_grad_sync"
# The same as a method of what FSDP 2 shards, and of a `replicate` (torch, distributed/fsdp/_fully_shard/_fully_shard.py
# `FSDPModule.set_requires_gradient_sync`).
SETS_REDUCTION = "set_requires_gradient_sync"
# Attributes that wrappers have and no model has.
ONLY_WRAPPERS_HAVE = frozenset({INNER_MODEL, KEEPS_GRADIENTS, REDUCES_GRADIENTS})

# The module that `torch.compile` returns has it, wrapped or not: code that reads it has compiled the model.
COMPILED = "_orig_mod"

# Fields of a batch that are switches for the model, and not data of its rows: the same in all batches of a loader
# (transformers, trainer.py: `Trainer.prediction_step`).
BATCH_FLAGS = frozenset({"return_loss"})

# A file in which a model is wrapped mentions one of these: a trainer, or what wraps the model.
WRAPPED_BY = (b"DDP", b"DataParallel", b"Trainer", b"auto_model", b"model_wrapped", b"prepare")
# Attributes that only models have, among the objects that are prepared.
ONLY_MODELS_HAVE = frozenset(
    {
        "base_model",
        "config",
        "generate",
        "generation_config",
        "get_input_embeddings",
        "get_output_embeddings",
        "gradient_checkpointing_enable",
        "push_to_hub",
        "resize_token_embeddings",
        "save_pretrained",
    }
)
# The method of transformers, diffusers and PEFT by which a model writes its weights, and the keyword for others that it
# writes instead.
SAVES_ITSELF = "save_pretrained"
GIVEN_WEIGHTS = "state_dict"
# Methods that return the parameters and modules of a model; no optimizer, loader or scheduler has them.
ASKED_FOR_PARAMETERS = frozenset({"modules", "named_modules", "named_parameters", "parameters", "requires_grad_"})
LIST_PARAMETERS = frozenset({"named_parameters", "parameters"})
# Attributes that are plain data; all others may be modules or methods.
DATA = frozenset({"config", "device", "dtype", "generation_config", "name_or_path", "peft_config", "training"})
# Of those, the objects that never change while the model is used, so that they can be read once.
LASTING = frozenset({"config", "generation_config"})
# Attributes that are modules, and attributes that are parameters.
MODULES = frozenset(
    {
        "base_model",
        "classifier",
        "decoder",
        "embed_tokens",
        "encoder",
        "language_model",
        "layers",
        "lm_head",
        "model",
        "pretrained_model",
        "score",
        "transformer",
        "v_head",
        "vision_tower",
        "visual",
    }
)
PARAMETERS = frozenset({"bias", "weight"})
# Names for the embedding layer, and the argument by which a forward is passed its output.
INPUT_EMBEDDINGS = frozenset({"embed_tokens", "get_input_embeddings"})
EMBEDDED_INPUTS = "inputs_embeds"

# Methods that generate. A wrapped model has none of them.
GENERATES = frozenset({"generate"})
# What code does with a model of which Python asks the class for a method; `nn.Sequential` has these, no wrapper has.
AS_SEQUENCE = {"__getitem__": "indexed", "__iter__": "iterated over", "__len__": "asked for its length"}
# The field of the object that it returns, if it is asked for more than the tokens, which holds these.
# Source: transformers, generation/utils.py `GenerateDecoderOnlyOutput`
GENERATED_TOKENS = "sequences"
# Methods that are the forward itself.
FORWARDS = frozenset({"__call__", "forward"})
# Modules of torch.nn that always have parameters, and what freezes a module.
HAVE_PARAMETERS = frozenset(
    {
        *("Bilinear", "Embedding", "EmbeddingBag", "GRU", "GRUCell", "LSTM", "LSTMCell", "Linear", "LazyLinear"),
        *("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "MultiheadAttention"),
        *("RNN", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder"),
        "TransformerEncoderLayer",
    }
)
# The layers of torch.nn that have no buffers, which DDP would broadcast before a forward: none of these calls
# `register_buffer` (torch/nn/modules).
WITHOUT_BUFFERS = HAVE_PARAMETERS | {
    *("AvgPool1d", "AvgPool2d", "Dropout", "Dropout1d", "Dropout2d", "ELU", "Flatten", "GELU", "GroupNorm", "Identity"),
    *("LayerNorm", "LeakyReLU", "LogSoftmax", "MaxPool1d", "MaxPool2d", "RMSNorm", "ReLU", "SiLU", "Sigmoid"),
    *("Softmax", "Softplus", "Tanh"),
}
# What gives a module a buffer.
ADDS_BUFFERS = frozenset({"Buffer", "register_buffer"})
# Modules that are made of a list of layers.
HOLD_LAYERS = frozenset({"ModuleList", "Sequential"})
# What gives a module parameters, or other modules, in another way than by an assignment of one.
ADDS_MODULES = frozenset(
    {
        *("ModuleDict", "ModuleList", "Parameter", "ParameterDict", "ParameterList", "UninitializedParameter"),
        *("__dict__", "__setattr__", "_modules", "_parameters", "add_module", "register_module", "register_parameter"),
        *("setattr", "vars"),
    }
)
FREEZE = frozenset({"requires_grad", "requires_grad_", "no_grad", "eval", "freeze"})
# Methods that run a part of the model: one of the towers of CLIP and similar models (transformers, open_clip).
RUN_A_TOWER = frozenset(
    {
        "encode_image",
        "encode_text",
        "get_audio_features",
        "get_image_features",
        "get_text_features",
        "get_video_features",
    }
)
# Read from a model, it names the submodule without the head.
BASE_PREFIX = "base_model_prefix"
# Context managers of a model inside which it is its own reference: nothing of it is trained there.
REFERENCE_CONTEXTS = frozenset({"disable_adapter"})
# Context managers that prepare a wrapped model for generation, without their module.
FOR_GENERATION = frozenset({"unwrap_model_for_generation"})
# Classes whose instances make a wrapper's forward run another method: `redirect(wrapper, module, method, *args)`.
FORWARD_REDIRECTIONS = frozenset({"ForwardRedirection", "_ForwardRedirection"})

# Functions and methods that inspect a parameter, or store it, and do not compute with its values.
INSPECT_PARAMETERS = frozenset(
    {
        "GatheredParameters",
        "append",
        "extend",
        "getattr",
        "hasattr",
        "id",
        "isinstance",
        "len",
        "print",
        "type",
    }
)

# What every config has, whatever its class (PreTrainedConfig of transformers 4.31.0 to 5.24.0).
EVERY_CONFIG_HAS = frozenset(
    {
        "_name_or_path",
        "architectures",
        "chunk_size_feed_forward",
        "id2label",
        "is_encoder_decoder",
        "label2id",
        "model_type",
        "output_hidden_states",
        "problem_type",
        "return_dict",
    }
)
# What Trainer and TRL's trainers write to the config of a model after they were built: special tokens
# (`Trainer._align_special_tokens`), the cache (`Trainer._inner_training_loop`), attention (paged generation).
CHANGED_CONFIG = frozenset(
    {
        "_attn_implementation",
        "bos_token_id",
        "eos_token_id",
        "pad_token_id",
        "use_cache",
    }
)
# Methods of models that write to its config, and which attribute.
CONFIG_WRITERS = {
    "resize_token_embeddings": "vocab_size",
    "set_attn_implementation": "_attn_implementation",
}

# Moves that the builds of vendors add to every module (torch_npu, torch_mlu, torch_musa, habana_frameworks).
MOVES_OF_VENDORS = frozenset({"hpu", "mlu", "musa", "npu"})
# Methods that return the model itself.
RETURN_THE_MODEL = MOVES_OF_VENDORS | frozenset(
    {
        "bfloat16",
        "cpu",
        "cuda",
        "double",
        "eval",
        "float",
        "half",
        "requires_grad_",
        "to",
        "train",
        "xpu",
    }
)
# Of those, the ones by which tensors, batches of them and models are moved to a device: they return no None.
MOVE = MOVES_OF_VENDORS | {"cpu", "cuda", "to", "xpu"}
# Of those, the ones by which a model is put into training or evaluation mode.
SWITCH_MODES = frozenset({"eval", "train"})
TRAINING_MODE = "train"
# Methods that add a trained part to a model, even if the rest of it is frozen.
ADD_WHAT_IS_TRAINED = frozenset({"add_adapter"})
# Methods that give the model back without its adapter, which is none any more (peft, tuners/tuners_utils.py).
DROP_ADAPTERS = frozenset({"merge_and_unload", "unload"})
# Methods that change weights in place where they are gathered, without a forward (peft, tuners/tuners_utils.py).
MERGE_ADAPTERS = frozenset({"merge_adapter", "unmerge_adapter"})
# Methods that list the parts of the model, which are the same on all ranks.
LIST_PARTS = frozenset(
    {
        "buffers",
        "children",
        "modules",
        "named_modules",
        "named_parameters",
        "parameters",
        "state_dict",
    }
)

# Functions of torch that run the model that is their first argument.
RUN_A_MODEL = frozenset({"torch.jit.trace", "torch.onnx.export"})

# The models of Diffusers' own pipelines, by parameter: the pipelines read the `config` of these, and refuse other
# classes. They read nothing of a component that a project adds to its own pipeline.
# diffusers 0.35.0: pipelines/*/pipeline_*.py::__init__, pipelines/pipeline_loading_utils.py::maybe_raise_or_warn
PIPELINE_MODELS = frozenset({
    "adapter", "controlnet", "decoder", "image_encoder", "image_normalizer", "language_model", "motion_adapter", "movq",
    "prior", "prior_prior", "prior_text_encoder", "projection_model", "text_encoder", "text_encoder_2",
    "text_encoder_3", "text_encoder_4", "transformer", "transformer_2", "unet", "vae", "vocoder", "vqvae",
})  # fmt: skip


def is_layer(name: str) -> bool:
    """Whether a class, by its canonical name, is one of torch's own layers or lists of layers."""
    return name.startswith(LAYERS) and name not in TENSORS_BESIDE_LAYERS


# Functions (or modules of them) and methods that are passed a model and neither wrap it nor keep it for others.
LEAVE_BARE = (
    "copy", "filter", "isinstance", "itertools", "len", "list", "print", "sum", "torch.compile",
    "torch.nn.SyncBatchNorm", "torch.nn.utils", "torch.optim",
)  # fmt: skip
LEAVE_BARE_METHODS = frozenset({"accumulate", "unwrap_model"})
# Functions and methods that are passed parameters or an optimizer, and reduce no gradients.
LEAVE_GRADIENTS = frozenset(
    {
        "clip_grad_norm",
        "clip_grad_norm_",
        "clip_grad_value_",
        "clip_gradients",
        "isinstance",
        "len",
        "list",
        "print",
        "step",
        "unscale_",
        "update",
        "zero_grad",
    }
)
