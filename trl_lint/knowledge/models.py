"""Names by which code deals with models: their classes, attributes and methods, and engines around them.

Read from torch 2.13.0 (nn/modules/module.py), transformers 5.23.0 (modeling_utils.py) and peft 0.21.2.
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
# Of these, the ones that have no forward of their own. Without parameters in them `prepare` wraps no such module.
WITHOUT_FORWARD = frozenset({"torch.nn.Module", "torch.nn.modules.module.Module"})
# What an `isinstance` asks for that wants to know whether something is a model at all.
MODEL_CLASSES = frozenset({"Module", "PreTrainedModel"})
# `isinstance(model, …)` with one of the first is true of a wrapped model, with the others false.
WRAPPER_CLASSES = frozenset({"DataParallel", "DistributedDataParallel"})
PLAIN_CLASSES = ("PreTrainedModel", "PeftModel", "PeftMixedModel", "PeftModelForCausalLM")

# The attribute by which a wrapper holds its model.
INNER_MODEL = "module"
# Attributes that wrappers have and no model has.
ONLY_WRAPPERS_HAVE = frozenset({INNER_MODEL, "no_sync", "require_backward_grad_sync"})

# What `torch.compile` puts around a model, wrapped or not, has it: who reads it has compiled the model.
COMPILED = "_orig_mod"

# What a batch holds for the model to do, and not of its rows: the same in all batches of a loader (transformers,
# trainer.py: `Trainer.prediction_step`).
BATCH_FLAGS = frozenset({"return_loss"})

# What a file has to mention where a model in it is wrapped: a trainer, or what wraps it.
WRAPPED_BY = (b"DDP", b"DataParallel", b"Trainer", b"model_wrapped", b"prepare")
# Attributes only models have among the things that are prepared.
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
# Methods by which a model hands out its parameters and modules; no optimizer, loader or scheduler has them.
ASKED_FOR_PARAMETERS = frozenset({"modules", "named_modules", "named_parameters", "parameters", "requires_grad_"})
# Attributes that are plain data; all others may be modules or methods.
DATA = frozenset({"config", "device", "dtype", "generation_config", "name_or_path", "peft_config", "training"})
# Of those, the objects that stay the same however the model is used, so that they can be read once.
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
# What gives the layer that token ids go through first, and the argument by which a forward is handed what that gives.
INPUT_EMBEDDINGS = frozenset({"embed_tokens", "get_input_embeddings"})
EMBEDDED_INPUTS = "inputs_embeds"

# Methods that generate. A wrapped model has none of them.
GENERATES = frozenset({"generate"})
# Methods that are the forward itself.
FORWARDS = frozenset({"__call__", "forward"})
# And those that run a part of it: one of the towers of CLIP and its like (transformers, open_clip).
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
# Context managers of a model under which it works as its own reference: nothing of it is trained there.
REFERENCE_CONTEXTS = frozenset({"disable_adapter"})
# Context managers that prepare the wrapped model they are given for generation, by their own name.
FOR_GENERATION = frozenset({"unwrap_model_for_generation"})
# Classes whose instances have a wrapper's forward run another method: `redirect(wrapper, module, method, *args)`.
FORWARD_REDIRECTIONS = frozenset({"ForwardRedirection", "_ForwardRedirection"})

# Functions and methods that look at a parameter, or keep it, and do not compute with its values.
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

# What every config has, whatever its class (PreTrainedConfig of transformers 4.31.0 to 5.23.0).
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

# Methods that return the model itself.
RETURN_THE_MODEL = frozenset(
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
    }
)
# Of those, the ones by which a model is put into training or evaluation mode.
SWITCH_MODES = frozenset({"eval", "train"})
# Methods that add to a model what is trained, however frozen the rest of it is.
ADD_WHAT_IS_TRAINED = frozenset({"add_adapter"})
# Methods that change weights in place, where they are gathered: no forward is run (peft, tuners/tuners_utils.py).
MERGE_ADAPTERS = frozenset({"merge_adapter", "unmerge_adapter"})
# Methods that list what the model consists of: the same on all ranks.
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

# Functions of torch that run the model that they are given first.
RUN_A_MODEL = frozenset({"torch.jit.trace", "torch.onnx.export"})

# The models that Diffusers' own pipelines are made of, by their parameters: they read the `config` of these, and refuse
# another class. Of a component that a project adds to its own pipeline they ask nothing.
# diffusers 0.35.0: pipelines/*/pipeline_*.py::__init__, pipelines/pipeline_loading_utils.py::maybe_raise_or_warn
PIPELINE_MODELS = frozenset({
    "adapter", "controlnet", "decoder", "image_encoder", "image_normalizer", "language_model", "motion_adapter", "movq",
    "prior", "prior_prior", "prior_text_encoder", "projection_model", "text_encoder", "text_encoder_2",
    "text_encoder_3", "text_encoder_4", "transformer", "transformer_2", "unet", "vae", "vocoder", "vqvae",
})  # fmt: skip
