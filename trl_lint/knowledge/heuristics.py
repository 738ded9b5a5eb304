"""Guesses from names: each with what it says, the code that needs it, and a test.

A name that is resolved is no guess: it has a row in the table of its library. Guesses are used if nothing better is
known: for functions whose source is not available, objects of unknown class, fields, files and command lines. A guess
has to be removed when the fact itself is known where it is used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import PurePosixPath

from trl_lint.knowledge.launcher_variables import RANK_VARIABLES, WORLD_VARIABLES

_compiled = cache(re.compile)


# The same names are tested again and again.
@lru_cache(maxsize=1 << 16)
def _is_found(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Guess:
    """What a name suggests: one of `words`, or a name in which the regular expression `pattern` is found.

    says: what is assumed then, as a sentence for users. because: the code that needs it.
    """

    group: str
    says: str
    because: str
    pattern: str = ""
    words: frozenset[str] = frozenset()

    def fits(self, text: str) -> bool:
        """Whether the guess applies to this name."""
        return text in self.words or (bool(self.pattern) and _is_found(self.pattern, text))

    def found_in(self, source: bytes) -> bool:
        """Whether the pattern is found anywhere in a text."""
        return _compiled(self.pattern.encode()).search(source) is not None

    def values(self, text: str) -> tuple[str | None, ...] | None:
        """The groups of the pattern in a name that it matches, else None."""
        found = _compiled(self.pattern).search(text)
        return None if found is None else found.groups()

    def blanked(self, source: bytes) -> bytes:
        """A text with a blank instead of each match of the pattern."""
        return _compiled(self.pattern.encode()).sub(b" ", source)


def is_rank_name(name: str) -> bool:
    """Whether a name refers to the rank of a process."""
    return MAIN_PROCESS.fits(name) or RANK_NUMBER.fits(name)


def folder_of_copy(path: PurePosixPath) -> str:
    """The folder of somebody else's code that a path leads into, as `third_party/own/`; "" if there is none."""
    parts = path.parts
    ends = (end for end in range(1, len(parts) - 1) if FOLDER_OF_COPIES.fits(parts[end - 1]))
    return next(("/".join(parts[: end + 1]) + "/" for end in ends), "")


def all_guesses() -> dict[str, Guess]:
    """The guesses by their names, in the order of the module."""
    return {name: each for name, each in globals().items() if isinstance(each, Guess)}


def _one_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# --- synchronisation --------------------------------------------------------------------------------------

SYNCHRONISATION = "Synchronisation"

MAY_SYNCHRONISE = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)all_?gather|all_?reduce|barrier|broadcast|collective|dummy|forward|backward|gather|sync|wait",
    says="A function outside the project with such a word in its name may synchronise the ranks.",
    because="tests/rules/test_divergent_collective.py: the other arm of a branch calls `dummy_gather()`, so that "
    "the ranks synchronise",
)
MAY_REDUCE = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)across|aggregat|averag|gather|global|reduc|sync|world",
    says="A function outside the project with such a word in its name may reduce the loss that it returns over the "
    "ranks.",
    because="tests/knowledge/test_heuristics.py: `loss = reduced(batch)`, which each rank tests and trains with",
)
EXCHANGES = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)^(?!.*(?:grad|model|network|param|weight|(?:index|log|scatter|segment)_?reduce))(?:.*_)?(?:all_?|dist_?|sync_?)?(?:reduce|gather)(?:d|_|$)"
    r"|(?:average|avg|mean|sum|sync)_(?:across|all|between|dict|dist|gpus|metrics|over|ranks|tensors?|values)(?:_|$)"
    r"|across_(?:devices|gpus|proc|ranks|workers)|synchroni[sz]e_(?:across|between)"
    r"|(?:ddp|dist|distributed|world)_(?:average|avg|concat|mean|sum)(?:_|$)|^sync$",
    says="A function with such a name exchanges values between the ranks: a value that is passed to it, or comes from "
    "it, may be reduced, whatever else is known.",
    because="PolymathicAI/multiple_physics_pretraining, train_basic.py: `dist.all_reduce(logs[key].detach())`; "
    "ADiko1997/ReViT, epoch.py: `loss = du.all_reduce([loss])` under a setting; "
    "tests/evaluation/false_alarms/near_reductions.py",
)
GATHERS = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)(?:^|_)(?:all_?)?gather(?:ed|s)?(?:_|$)",
    says="A function with such a name returns what all ranks have passed to it: the least of these numbers is zero if "
    "one of the ranks has nothing.",
    because="tests/evaluation/false_alarms/all_have_some.py: `gather_fn(count).min()`",
)
MAY_WAIT = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)barrier|sync|wait",
    says="A function outside the project with such a word in its name may be a barrier.",
    because="tatsu-lab/alpaca_farm, src/alpaca_farm/common.py:83: some ranks wait in `__enter__`, the others in "
    "`__exit__`",
)
ENDS_GROUP = Guess(
    group=SYNCHRONISATION,
    words=_one_of("cleanup destroy_process_group"),
    says="A function with such a name ends the process group: after it, the fix does not ask for the rank at once.",
    because="The tutorials of torch for DDP end with `cleanup()`; tests/rules/test_guards_of_torch.py",
)
MAIN_PROCESS = Guess(
    group=SYNCHRONISATION,
    words=_one_of(
        "is_global_zero is_local_main_process is_local_process_zero is_main_process is_main_rank "
        "is_local_master is_master is_master_ordinal is_master_process is_primary is_rank0 is_rank_0 is_rank_zero "
        "is_world_master is_world_process_zero"
    ),
    says="A function or attribute with this name, wherever it is defined, is true on one rank only.",
    because="Names of transformers `Trainer` (of old, too) and `TrainerState`, lightning `Trainer` and `Fabric`, "
    "fairseq, open_clip, timm, mmengine and detectron2 `comm`, torch_xla; tests/analysis/reveal/names_of_ranks.py",
)
RANK_NUMBER = Guess(
    group=SYNCHRONISATION,
    words=_one_of(
        "GLOBAL_RANK LOCAL_RANK get_global_rank get_local_ordinal get_local_rank get_ordinal get_rank global_rank "
        "local_rank"
    ),
    says="A function or attribute with this name, wherever it is defined, is the rank. So is a parameter that nothing "
    "in sight passes, and an item with this key of the program's arguments: `config['local_rank']`. A bare `rank` is "
    "not: LoRA's is the same everywhere.",
    because="Names of lightning `Trainer`, ignite `idist`, detectron2 `comm`, torch_xla `xla_model`, scripts of "
    "torchvision and timm; open-mmlab/OpenPCDet, tools/train.py: `cfg.LOCAL_RANK`; WenmuZhou/DBNet.pytorch, "
    "base/base_trainer.py: `config['local_rank'] == 0` before a writer is made; "
    "lamalab-org/MatText, src/mattext/models/finetune.py: `local_rank=None`; tests/analysis/reveal/names_of_ranks.py",
)
RANK_FIELD = Guess(
    group=SYNCHRONISATION,
    words=_one_of("gpu gpu_id rank"),
    says="An attribute with this name that is compared with 0 is the rank: `args.rank == 0`, `gpu in {0, 'cpu'}`. "
    "Elsewhere it may be: a line of a log with it tells which rank wrote it, and a method with this name of something "
    "unknown, which may be a process group. So is a parameter with this name that is passed 0.",
    because="timm, utils/distributed.py: `init_distributed_device(args)` sets `args.rank`, and `is_primary(args)` "
    "asks for it; pytorch/examples, distributed/ddp-tutorial-series: `if self.gpu_id == 0` before the checkpoint; "
    "tests/evaluation/false_alarms/first_gpu_among_devices.py",
)
RANK_OF_MATRICES = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)^(?!.*(?:callback|engine|group|manager|mesh|runner|strategy|trainer|worker))(?:.*(?<!exp))?"
    r"(?:lora|lokr|loha|peft|svd|low_?rank|tucker|galore|(?-i:adapter))",
    says="An object, or a class, with such a name has matrices of some rank, a setting that is no number of a process: "
    "`config.lora.rank > 0`.",
    because="NovaSky-AI/SkyRL, skyrl_train/distributed/fsdp_strategy.py: `self.model_config.lora.rank > 0` says "
    "whether adapters are trained; tests/evaluation/false_alarms/ranks_of_matrices.py",
)
WORLD_FIELD = Guess(
    group=SYNCHRONISATION,
    words=_one_of("ngpu ngpus ngpus_per_node nprocs num_gpu num_gpus num_procs world_size"),
    says="An otherwise unknown attribute or parameter with this name is the number of processes. So is a setting with "
    "this name that is compared, if it is 1 by default. A parameter with this name that is passed a number below 1 is "
    "for a run without ranks.",
    because="microsoft/SimXNS, MASTER/finetune/MS: a helper that reduces where `opt.world_size > 1`; "
    "autonomousvision/stylegan-xl, training/training_loop.py: a flag is broadcast where `num_gpus > 1`; "
    "ADiko1997/ReViT, epoch.py: `cfg.DEVICE.num_gpu`; Yiming-M/CLIP-EBC, train.py: `ddp = nprocs > 1`; "
    "tests/evaluation/false_alarms/sizes_in_settings.py; tests/evaluation/false_alarms/made_for_no_ranks.py",
)
COUNTS_PROCESSES = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)world_?size|(?:^|_)n(?:um|umber_of)?_?(?:acc|card|dev|gpu|node|proc|rank|replica)|device_count"
    r"|(?:^|_)dp_size|data_parallel",
    says="A number of steps that is computed from a value with such a name counts the processes.",
    because="justinlovelace/latent-diffusion-for-language, diffusion/text_denoising_diffusion.py: "
    "`num_training_steps=train_num_steps*self.num_devices`; tests/rules/test_unscaled_scheduler_steps.py",
)
RANK_OF_GROUP = Guess(
    group=SYNCHRONISATION,
    pattern=r"^(?:get_|is_)?((?!get_|is_)\w+?)(?:_first)?_rank(?:_0|_zero)?$",
    says="A value or function with such a name gives the rank in the group that the rest of the name refers to: "
    "`tensor_parallel_rank`.",
    because="IBM/dolomite-engine, lm_engine/data/__init__.py: ranks leave that are not the first of their group, and "
    "then it is asserted to have one rank; tests/evaluation/false_alarms/asserted_group_of_one.py",
)
SIZE_OF_GROUP = Guess(
    group=SYNCHRONISATION,
    pattern=r"^(?:get_)?((?!get_)\w+?)(?:_world)?_size$",
    says="A value or function with such a name gives the size of the group that the rest of the name refers to: "
    "`tensor_parallel_world_size`.",
    because="IBM/dolomite-engine, lm_engine/data/__init__.py: the assertion that this is 1",
)
ONE_PROCESS_FIELD = Guess(
    group=SYNCHRONISATION,
    pattern=r"^(?:is_|on_|run_|use_)?(?:single|one)_?(?:card|device|gpu|process)(?:_mode|_only|_run|_training)?$",
    says="A setting with this name of which nothing else is known is false where there are several processes: "
    "`args.single_gpu`.",
    because="Setsuna111/FragLLM, eval/evaluate_reference.py: the results are written at once if `args.single_gpu`; "
    "tests/evaluation/false_alarms/settings_of_one_process.py",
)
LAUNCHER_CONSTANT = Guess(
    group=SYNCHRONISATION,
    words=RANK_VARIABLES | WORLD_VARIABLES,
    says="A constant named like a launcher's variable holds that variable.",
    because="tests/analysis/reveal/names_of_ranks.py: `from somewhere.distributed import RANK, WORLD_SIZE`",
)
JOB_SETTING = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)^(?:[a-z0-9]*_)*(?:ddp|distributed|main|master|rank|world_size)(?:_[a-z0-9]*)*$",
    says="A value from another file with such a word in its name describes how the job runs, and is looked up.",
    because='tests/analysis/reveal/world_size_guards.py: `DISTRIBUTED = int(os.environ.get("WORLD_SIZE", "1")) > 1`',
)
DISTRIBUTED_SETTING = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)^_*(?:(?:do|enable|is|run|use|with)_)*(?:ddp|dist|distributed)(?:_(?:mode|run|test|train|training))?$",
    says="A setting with this name is off where one process trains, if the code for which it is on shards the data, "
    "wraps the model or asks for the rank, and the other branch does not.",
    because="BIT-Vision/EventPretrain, main_pretrain.py: `if args.distributed:` with a `DistributedSampler`, `else:` "
    "with a `SummaryWriter`",
)
MAY_ASK_FOR_RANK = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)(?:^|(?<!lora)_)(?:rank(?!_loss|_weight)"
    r"|is_(?:chief|first|leader|main|master|primary|root)(?!_(?:batch|epoch|iter|step))"
    r"|(?:main|master|primary|root)_(?:device|gpu|node|proc|process|worker)|proc(?:ess)?_(?:id|index))(?:_|\d|$)",
    says="A condition with such a word may be true on some ranks only, whatever else is known about it.",
    because="NVlabs/DoRA, CLIP-ViL/src/tasks/gqa.py: `if args.local_rank <= 0:`, with `args` from a file out of sight; "
    "facebookresearch/atlas, src/util.py: `if opt.is_main:`",
)
SETTINGS_CLASS = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?:Args|Arguments|Config|Configuration|Options|Settings)$",
    says="The plain fields of a record with this class hold the program's settings, which are the same on all ranks.",
    because="saschagobel/tlmtc, src/tlmtc/finetune_pipeline.py: `if not self.workflow.transfer_learning:` with a "
    "`WorkflowSettings`, before every process saves the model",
)
SETTINGS_OBJECT = Guess(
    group=SYNCHRONISATION,
    pattern=r"^(?:.*_)?(?:args|cfg|conf|config|configuration|hparams|opt|options)$",
    says="An object with this name holds the program's arguments, which are the same on all ranks.",
    because="meta-llama/llama-recipes, utils/train_utils.py: `if train_config.enable_fsdp:` before every process "
    "writes the parameters",
)
ACCELERATOR = Guess(
    group=SYNCHRONISATION,
    words=_one_of("_accelerator accelerator"),
    says="An otherwise unknown parameter with such a name is an Accelerator if the file calls one of its "
    "methods on it.",
    because="Akisameee/llm-adamtl, modules/dpo.py: `def __init__(self, …, accelerator=None)`, which prepares models",
)
ARGUMENTS_WITH_RANK = Guess(
    group=SYNCHRONISATION,
    pattern=r"^(?:.*_)?train(?:ing)?_arg(?:ument)?s$",
    says="An object with this name is a `TrainingArguments`, which knows its process and device.",
    because="taishan1994/Reward-Model-Finetuning, finetune_reward.py: `map(lambda x: ... training_args ...)` has a "
    "cache file of its own on each rank",
)
SETTING_OF_RANK = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)rank|(?<!do)(?<!re)main(?!tain)|master|primary|chief|leader|(?<!pre)(?<!post)proc(?!essing|essor)|node|gpu"
    r"|device|local|dist(?!il|ance)|world|first(?!_stage)|zero|should"
    r"|is_(?!comet|continu|debug|eval|infer|mlflow|resum|tensorboard|test|train|val|wandb)"
    r"|pid|host|shard|part|split(?!s|_(?!id|no_?|num))|index|idx",
    says="A setting with such a word in its name may be the rank, or a test for it. Names about preprocessing, "
    "processors, how a data set is split (`split_type`), domains, and what the program does (`is_train`) or where it "
    "logs (`is_wandb`) are not.",
    because="hiyouga/LLaMA-Factory: `training_args.should_save`; timm: `args.local_rank`; not so in "
    "huggingface/distil-whisper: `data_args.preprocessing_only`, `data_args.data_split_name`; "
    "mingyuan-zhang/MotionDiffuse, text2motion/datasets/dataset.py: `if opt.is_train:`; som-shahlab/hf_ehr, "
    "scripts/run.py: `if config.logging.wandb.is_wandb: wandb.init()`",
)
SHARED_PATH = Guess(
    group=SYNCHRONISATION,
    pattern=r"^(?:\w+_)?(?:output|out|save|saved?_models?|(?:checkpoints?|ckpts?)(?:_root)?|logs?|logging|results?|exp|experiment|model|work"
    r"|run|serialization|project|target|tensorboard|tb|wandb|hub|dump|export|sample|samples|image|images|video)_?"
    r"(?:dir|directory|folder|path|root)$|^(?:directory|dirpath|logdir|outdir|workdir)$",
    says="A parameter or attribute with such a name that nothing in the project sets is a path that all ranks share.",
    because="salesforce/LAVIS, runners/runner_base.py: every process writes the checkpoint into `self.output_dir`",
)
RANK_LOCAL_PATH = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)rank|host|node|worker|local|pid|uuid|rand|temp|tmp|cache|shard|time|date|now\(|process|proc_|main|index"
    r"|device|gpu|world|dist\.",
    says="A path with such a word in its name or value may be different on each rank.",
    because='tests/rules/test_unguarded_side_effect.py: `self.output_dir = os.path.join(root, f"rank_{me}")`',
)
GROUP_OF_RANKS = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)^(?:ddp|distributed)$",
    says="A group of runs of a tracker with such a name is one of the runs of all ranks, also if these have one name.",
    because='thu-ml/CRM, libs/base_utils.py: `wandb.init(name=config.wandb_run_name, group="DDP")` on every rank, as '
    "the tracker's own guide to distributed training has it",
)
PICTURE_FILE = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)\.(?:bmp|gif|jpe?g|png|tiff?|webp)\Z",
    says="A file name with such an ending is a picture.",
    because="adobe-research/custom-diffusion, PixArt-alpha/PixArt-sigma: `image.save(f'{folder}/{step}.png')`",
)
SAVED_TOKENIZER = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?:^|_)(?:config|tokenizer|processor|feature_extractor)$",
    says="What is called so, is of no known class and has `save_pretrained` or `push_to_hub` is a tokenizer, a "
    "processor or a config, which each rank has alike.",
    because="MervinPraison/PraisonAI, train/llm/trainer.py: every process saves `self.hf_tokenizer` to one folder",
)
COUNTER = Guess(
    group=SYNCHRONISATION,
    pattern=r"^(?:(?:actual|completed|cur|curr|current|global|optim|optimizer|param|train|training|update)_){0,2}"
    r"(?:epoch|step|iteration)s?$|^batch_(?:idx|index|nb)$|^(?:global|num)_updates?$"
    r"|^(?:(?:cur|curr|current|global|inner|next)_)?iter$|^iter_num$|^n_iter$|^milestone$"
    r"|^(?:epochs|steps|iterations|iters)_trained(?:_in_current_epoch)?$",
    says="An otherwise unknown parameter, item or number with such a name counts what all ranks do together.",
    because="vita-epfl/UniTraj, models/base_model/base_model.py: every process logs an image where `batch_idx == 0`",
)
LAST_COUNT = Guess(
    group=SYNCHRONISATION,
    pattern=r"^(?:total|max|num|n)_(?:(?:train|training|update|optim|optimization|optimizer)_)?(?:epoch|step|iter|iteration)s$"
    r"|^max_(?:epoch|iter|step)$"
    r"|^(?:eval|evaluation|save|saving|log|logging|validation|checkpoint|checkpointing|sample|print|test)_(?:steps|epochs)$"
    r"|_(?:every|freq|frequency|interval)$|_(?:every|per)_(?:n_)?(?:step|epoch|iter|iteration|update)s?$"
    r"|^(?:steps|iters|iterations)_per_epoch$"
    r"|^(?:begin|first|init|initial|last|resume|resumed|start|starting)_(?:global_)?(?:epoch|step|iter|iteration)s?$",
    says="An otherwise unknown number with such a name, compared with a count, says when all ranks do something.",
    because="huggingface/distil-whisper, training/run_distillation.py: every process saves a tokenizer where "
    "`(cur_step % training_args.save_steps == 0) or cur_step == total_train_steps`",
)
KEPT_COUNT = Guess(
    group=SYNCHRONISATION,
    pattern=r"^(?:save_total_limit|keep_(?:last|last_n|n_last|n)(?:_(?:ckpt|checkpoint)s?)?"
    r"|(?:max|num|n)_(?:(?:ckpt|checkpoint)s?_)?to_keep|(?:max|keep)_(?:ckpt|checkpoint)s)$",
    says="An otherwise unknown parameter with such a name says how many checkpoints of a run are kept.",
    because="Eclectic-Sheep/sheeprl, utils/callback.py: `if self.keep_last:` before every process deletes the old ones",
)
SHOWS_PATH = Guess(
    group=SYNCHRONISATION,
    pattern=r"print|^(?:critical|debug|echo|error|exception|format|info|log|warn|warning)$",
    says="A function with such a name shows a path and does not touch the file.",
    because="FlagAI-Open/FlagAI, checkpointing.py: `print_rank_0` says that there is no such file, before a `return`",
)
READS_FILE = Guess(
    group=SYNCHRONISATION,
    pattern=r"^(?:imread|load|open|read)(?:[_A-Z]|$)|^(?:from_(?:file|json|pretrained)|fromfile|loadtxt)$",
    says="A function with such a name reads the file passed to it.",
    because="PixArt-alpha/PixArt-sigma, train_scripts/train_pixart_dmd.py:460: all processes load what one would save;"
    " `COCO.loadRes` of pycocotools",
)
NOT_A_NUMBER = Guess(
    group=SYNCHRONISATION,
    pattern=r"^is_?(?:nan|inf|finite|neginf|posinf)$",
    says="A function with such a name tests for values that are not a number.",
    because="torch.isnan, math.isfinite",
)
TRAINED_NUMBER = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)^(?!.*(?:args|cfg|config|name|type)s?$).*(?:loss|grad|norm)",
    says="Such a number may become NaN on one rank whose training goes wrong; data usually do not, on any rank. One "
    "that ends like `loss_kwargs` or `loss_type` is a setting.",
    because="dixiyao/CopyRight-via-DreamBooth, train_dreambooth_continue.py:880 (pixels); Hippogriff/lladav2, "
    "train_llada_pretrained.py:196 (token ids); not bytedance/video-SALMONN-2, trainer.py:276 (`loss_kwargs`)",
)
NAMES_ENGINE = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)deep_?speed|fsdp|fullyshard|zero3|zero_stage|is_zero|megatron|tensor_parallel|sagemaker",
    says="A condition or setting with such a word asks for an engine other than DDP, which may shard the "
    "model; a file with such a name runs under it.",
    because="trl 0.11.4, models/utils.py:131 (`zero_stage`) and 0.17.0, trainer/gkd_trainer.py:303: without it 12 "
    "and 10 false findings",
)
MAY_ASK_FOR_WRAPPER = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)accelerat|apex|avail|backend|comm|cpu|cuda|ddp|deepspeed|device|dist|engine|fabric|fsdp|gpu|hook|horovod"
    r"|hvd|(?<![a-z])init(?!ial(?:_|$))|launch|local|modul|multi|nccl|node|parallel|plugin|proc|rank|shard|single|slurm"
    r"|strategy|sync|tpu|wrap|worker|world|xla|zero|^d?dp$|[hnx]pu",
    says="A condition with such a word may test whether the model is wrapped. One without it, in another "
    "function than the one that wraps the model, does not.",
    because="tests/rules/test_divergent_collective.py: a function evaluates a model that DDP wraps on one way, and "
    "asks for the epoch",
)
TEST_FOLDER = Guess(
    group=SYNCHRONISATION,
    words=_one_of("test tests"),
    says="Files in a folder with such a name do not show which engine a project uses.",
    because="peft: tests/training/fsdp_config.yaml is for tests of its own, not for the examples",
)
SOURCE_FOLDER = Guess(
    group=SYNCHRONISATION,
    words=_one_of("src source"),
    says="A folder with such a name is part of the project around it, even if it has a `setup.py` of its own.",
    because="yzhang511/NEDS, src/setup.py: script/eval.sh starts src/eval.py, as one process",
)
TORCH_DISTRIBUTED = Guess(
    group=SYNCHRONISATION,
    pattern=r"torch\.distributed|from torch import distributed|\b(?:Distributed)?DataParallel|\bDistributedSampler",
    says="In a file with this and no Accelerator, help uses torch.distributed. If a file has none of this, those that "
    "call it, or whose values it uses, are asked, and then all linted files.",
    because="tests/rules/test_wording.py: scripts that wrap a model in torch's own wrappers have no accelerator to "
    "be told of",
)
BEFORE_ACCELERATE = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?s)\A(?!.*accelerator|.*(?:import|from) accelerate).*(?:\b(?:_use_apex|_use_native_amp|load_metric"
    r"|as_target_(?:processor|tokenizer))\b"
    r"|\bis_main_process\(training_args\.local_rank\)|check_min_version\(.4\.(?:1?\d|2[0-8])\.)",
    says="A file with such a name and no Accelerator is for a release of Transformers whose Trainer has none.",
    because="princeton-nlp/MeZO, medium_models/src/trainer.py: a copy of the loop of Transformers 3.4.0, in which "
    "`self.accelerator` would fail; microsoft/LoRA, examples/NLU: scripts of Transformers 4.4",
)
HARMLESS = Guess(
    group=SYNCHRONISATION,
    pattern=r"ctrl|is_accelerate_\w+|force_accelerate_hooks|_preprocess_accelerate|integrations\.accelerate"
    r"|accelerate\.hooks",
    says="A file that mentions TRL, Accelerate and torch.distributed only in these words is skipped.",
    because="transformers 4.51.3: `is_accelerate_available` and `integrations.accelerate` stand in quantizers and "
    "models that never gather; `trl` is a part of `ctrl`",
)
PACKAGE_CHECK = Guess(
    group=SYNCHRONISATION,
    pattern=r"^(?=is_).*_available$",
    says="A function with such a name tests whether a package is installed, which is the same on all ranks.",
    because="trl 0.11.4, trainer/dpo_trainer.py:1464: what stands under `is_peft_available()` is reached by all ranks",
)

# --- seeds ------------------------------------------------------------------------------------------------

SEEDS = "Seeds"

SEEDS_ALL = Guess(
    group=SEEDS,
    pattern=r"(?i)seed|determin|reproduc|rng_state",
    says="A function with such a word in its name seeds all generators, or may.",
    because="tests/rules/test_unseeded_split.py: `pl.seed_everything(1)`, `fix_seeds()`, `make_reproducible()` "
    "before a draw",
)
SETS_UP = Guess(
    group=SEEDS,
    pattern=r"(?i)^_?(init|initialize|setup|set_?up|(get|parse)_(args|arguments|opt|options)$)(_|$)",
    says="A function with such a name, outside the project and not from a known library, may also seed.",
    because="tests/rules/test_unseeded_split.py: `setup_environment()` before a draw; NVlabs/DoRA, VL-T5/src/param.py: "
    "`parse_args` seeds",
)
SEED_ARGUMENT = Guess(
    group=SEEDS,
    words=_one_of("random_seed random_state seed"),
    says="A function outside the project that takes such an argument may seed with it.",
    because="tests/rules/test_unseeded_split.py: `begin(seed=3)` before a draw",
)
SEEDS_APART = Guess(
    group=SEEDS,
    pattern=r"(?i)rank|worker|process_index|pid|time",
    says="A call that seeds, with such a word in its line, seeds each process or each worker of a loader in its own "
    "way.",
    because="zeliu98/Group-Free-3D, train_dist.py: `np.random.seed(… + worker_id)` above a folder's name that is drawn",
)
ASKS_FOR_SEED = Guess(
    group=SEEDS,
    pattern=r"(?i)seed|generator|rng|random_state",
    says="A draw under a condition with such a word is unseeded on purpose.",
    because="tests/rules/test_unseeded_split.py: `rows.shuffle() if seed is None else rows.shuffle(seed=seed)`",
)
SEED_VARIABLE = Guess(
    group=SEEDS,
    pattern=r"(?i)^(?:random_)?seed$",
    says="A variable with this name that is the same on all ranks is a seed for the fix.",
    because="fixtures/unseeded_split/broken_loop.py: the fix hands on the script's own seed",
)
SPLIT = Guess(
    group=SEEDS,
    pattern=r"(?i)(^|_)split$",
    says="What a data set has under a key with such a name (`dataset[args.train_split]`) is a data set too, not a row.",
    because="aqweteddy/TRL-SPIN, script/spin/run_dpo.py: `ds[args.dataset_train_split]` of an unseeded split",
)

# --- shares of the rows -----------------------------------------------------------------------------------

SHARES = "Shares of the rows"

KNOWS_SHARES = Guess(
    group=SHARES,
    pattern=r"(?i)(?<![a-z])(?:local_?|global_?|world_?)?rank(?![a-z])|world_?size|shard|num_(?:replicas|processes)"
    r"|worker_info|process_index|(?<![a-z])dist\.",
    says="A class of a data set with such a word in its code may give each rank its share.",
    because="tests/rules/test_unsharded_data.py: `Rows(path, rank, world_size)`",
)
SHARES_ROWS = Guess(
    group=SHARES,
    # Samplers and data sets that share; groups of ranks; rows that are counted by rank; seeds by rank. A device is none
    # of that (`rank % n_gpus`, `gpus[rank]`, `CPU_map[rank]`), nor is the rank over all nodes (`rank * n_gpus + gpu`).
    pattern=r"(?i)distributed_?\w*sampler|(?<![a-z])dist_?sampler|sampler_?dist|set_epoch|split_dataset_by_node"
    r"|split_by_(?:node|rank)|\.shard\(|num_shards|shard_(?:id|index)|num_replicas|webdataset|(?<![a-z])wds\."
    r"|nvidia\.dali|setup_dataloaders|prepare_data_?loader"
    r"|(?:tensor|sequence|context|pipeline|model)_parallel|(?<![a-z])(?:cp|pp|sp|tp)_(?:degree|group|rank|size)"
    r"|(?<![a-z])mpu\.|device_?mesh|new_group"
    r"|rank(?:\(\))?\s*::|::\s*[\w.]*(?:world_?size|num_?gpus|n_?gpus|nprocs|num_(?:processes|replicas))"
    r"|(?<!rank|_gpu|.gpu)(?<!rank |_gpu |.gpu )(?<!rank\(\))(?<!rank\(\) )%\s*[\w.()]*"
    r"(?:world_?size|num_?gpus|n_?gpus|nprocs|num_processes)"
    r"|(?:(?<!\w)(?!(?:(?:all|available|cuda|free|local|my|node|rank|selected|the|to|train|used?|visible)_?)*"
    r"(?:[cg]pu|device)s?(?:_?(?:ids?|list|map))?\[)\w+|[)\]])\[[\w.]*rank(?:\(\))?\]"
    r"|rank(?:\(\))?\s*\*(?!\s*[\w.]*gpu)"
    r"|(?<!gpus)(?<!gpus )(?<!node)(?<!node )\*\s*[\w.]*rank(?![a-z])"
    r"|seed\w*\(?\s*[\w.\[\]\"']*\s*\+\s*[\w.]*(?:rank|process_index)|rank(?:\(\))?\s*\+\s*[\w.]*seed"
    r"|seed\w*\(\s*[\w.]*rank",
    says="A program with such words in the files of its loop, its loader or its data set may give each rank its share "
    "of the rows, draw them by the rank, or divide the ranks into groups with the same rows.",
    because="tests/rules/test_unsharded_data.py: `batch[rank::size]`",
)

# --- models -----------------------------------------------------------------------------------------------

MODELS = "Models"

MODEL_CLASS = Guess(
    group=MODELS,
    pattern=r"^(?!DataCollator)(?:(?:TF|Flax)?AutoModel|.*Model(?:With[A-Z]\w*)?$|(?:(?!For).)*For[A-Z]"
    r"|.*WithValueHead$|\w*Autoencoder[A-Z])",
    says="A class of Transformers, TRL, PEFT, Diffusers or Sentence Transformers with such a name is a model.",
    because="trl 0.11.4, trainer/cpo_trainer.py:784; fixtures/bypassed_wrapper/broken_loop.py: models of whatever "
    "task are loaded",
)
SAYS_DISTRIBUTED = Guess(
    group=SHARES,
    pattern=r"(?i)distributed|(?<![a-z])(?:ddp|dist)(?![a-z])|multi_?(?:gpu|proc)",
    says="A setting with such a name that a library's loader is passed, as that by which it shares rows out, is true "
    "on several processes.",
    because="timm, train.py: `create_loader(…, distributed=args.distributed)`; "
    "tests/analysis/reveal/loaders_that_share.py",
)
IS_LOADER = Guess(
    group=SHARES,
    pattern=r"(?i)loader",
    says="A name with such a word holds the loader from which an object, or a function, may have its batches; code "
    "out of sight that is given a sampler makes one, if it is called or kept under such a name.",
    because="EmYassir/gpt2_compression, distillation/modified_distiller.py: `self.dataloader = DataLoader(dataset, "
    "shuffle=True)`, and a method that is passed the batches",
)
NAMES_DEVICE = Guess(
    group=SHARES,
    pattern=r"(?i)device|gpu|cuda",
    says="An attribute of a data set with such a name says where its tensors go, not which rows it has.",
    because="denglabpku/SMLDM, step1_UNet_segmentation/train_multiGPU_parallel_latest.py: `device=local_rank` of a "
    "data set that each rank has all of",
)
NOISE_SCHEDULER = Guess(
    group=MODELS,
    pattern=r"Scheduler$",
    says="An object of a Diffusers class with such a name only computes.",
    because="diffusers, examples/text_to_image/train_text_to_image.py: `noise_scheduler.add_noise(latents, noise, "
    "timesteps)` is as much this rank's own as the latents",
)
SCHEDULER_OBJECT = Guess(
    group=MODELS,
    pattern=r"(?i)(?:^|_)scheduler\d*$",
    says="A prepared object with such a name is not a model, whatever is read from it: `prepare` returns a "
    "noise scheduler unchanged.",
    because="Felix-012/generate_to_ground, util_scripts/utils_train.py: `noise_scheduler.config` of what a pipeline "
    "holds",
)
LOSS_MODULE = Guess(
    group=MODELS,
    pattern=r"(?i)(?:^|_)(?:criterion|loss(?:_?fn|_?func(?:tion)?)?)\d*$|(?:Criterion|Loss)$",
    says="A prepared object with such a name, or of such a class if that creates no layers or parameters, has none to "
    "train: `prepare` returns it unchanged.",
    because="naba89/EDM-TTS bf7c22df, edm_tts/trainers/gan_trainer.py:236: `self.reconstruction_loss."
    "mel_spectrogram_loss` of a loss that computes spectrograms",
)
PREPARED_WITH_MODEL = Guess(
    group=MODELS,
    pattern=r"(?i)optim|sched|load|data",
    says="An argument of `prepare` with such a name is not a model.",
    because="SimpleTuner 8def2afec5, train_sdxl.py:880: `prepare(primary_model, lr_scheduler, optimizer, "
    "train_dataloaders[0])`, of a U-Net that is frozen where another model is prepared",
)
PREPARED_MODEL = Guess(
    group=MODELS,
    pattern=r"(?i)model|net$|encoder|decoder",
    says="A single argument of `prepare` with such a name is a model, and so is a result of it that has such a name "
    "under a test for an engine.",
    because="PRIV-Creation/UniDiffusion 3d81cc88f2, pipelines/unidiffusion_pipeline.py: `for model in self.models: "
    "model = self.accelerator.prepare(model)`, of models from a configuration",
)
PIPELINE = Guess(
    group=MODELS,
    pattern=r"^diffusers\.(?:\w+\.)*\w+Pipeline(?:For\w+)?(?:\.from_pretrained)?$",
    says="A Diffusers class with such a name reads attributes of the models it is created with.",
    because="diffusers 0c72006e3a, examples/instruct_pix2pix/train_instruct_pix2pix.py: `from_pretrained(…, "
    "unet=unet)` with what `prepare` returned fails on two GPUs",
)
PIPELINE_HELPER = Guess(
    group=MODELS,
    pattern=r"^diffusers\.(?:\w+\.)*\w+Pipeline\._\w+$",
    says="A private function called on a Diffusers pipeline class only computes.",
    because="diffusers, examples/dreambooth/train_dreambooth_flux.py: `FluxPipeline._pack_latents(…)` reshapes "
    "what goes into the model",
)
LOADED_ALIKE = Guess(
    group=MODELS,
    pattern=r"(?:Config|FeatureExtractor|ImageProcessor|Processor|Tokenizer|TokenizerFast)$",
    says="A class of these libraries with such a name is not a model, and is the same on all ranks.",
    because="trl 1.16.0, experimental/sdft/sdft_trainer.py:842: what follows from a `GenerationConfig` is the "
    "same on all ranks",
)
MAKES_INPUTS = Guess(
    group=MODELS,
    pattern=r"(?:^|_)(?:tokenizer|processor|feature_extractor)$",
    says="An attribute of a model with such a name makes its inputs, and has no parameters.",
    because="jxmorris12/vec2text, vec2text/trainers/corrector.py:61: `self.model.embedder_tokenizer`, called in a step",
)
PART_OF_MODEL = Guess(
    group=MODELS,
    pattern=r"^get_",
    says="A model's method with such a name, with the same arguments on all ranks, returns a part of the model.",
    because="fixtures/bypassed_wrapper/broken_decoder.py: `get_decoder()` and `get_output_embeddings()` of the "
    "bare model are called",
)
LOSS_CLASS = Guess(
    group=MODELS,
    pattern=r"Loss$",
    says="A torch.nn module with such a name averages over its batch.",
    because="trl 0.17.0, trainer/cpo_trainer.py:849: `nn.CrossEntropyLoss()` gives the loss that is gathered and cut",
)
LOSS_FUNCTION = Guess(
    group=MODELS,
    pattern=r"(?:_loss|cross_entropy|kl_div)$",
    says="A function of torch.nn.functional with such a name averages over its batch.",
    because="trl 0.17.0, trainer/dpo_trainer.py:1334: `F.cross_entropy(…)` gives the loss that is gathered and cut",
)
GATHERS_PARAMETERS = Guess(
    group=MODELS,
    pattern=r"(?i)gather|summon|full_param|for_generation",
    says="Under a context manager with such a word in its name, sharded parameters are whole.",
    because="trl 0.17.0: `unwrap_model_for_generation`, `gather_if_zero3`, `deepspeed.zero.GatheredParameters`",
)
LEARNED_SCALE = Guess(
    group=MODELS,
    pattern=r"^logits?_(?:scale|bias)(?:_(?:[a-z]|audio|image|text|exp))?$|^(?:log_)?temperature$",
    says="A part of a model's output with such a name is a parameter, which is the same on all ranks.",
    because="open-mmlab/Amphion, models/tta/picoaudio/picoaudio/audioldm/clap/training/train.py:189: "
    "`audio_features, text_features, …, logit_scale_a, logit_scale_t = model(…)`, and its `item()` is logged",
)
GENERATES_TEXT = Guess(
    group=MODELS,
    words=_one_of("chat generate"),
    says="A method with this name, of an object of unknown class, returns this rank's own data if it receives "
    "such data.",
    because="trl 0.14.0, trainer/online_dpo_trainer.py: `self.llm.generate(prompts, …)` of vLLM, from whose texts all "
    "metrics of a step are computed",
)
GENERATION_SETTING = Guess(
    group=MODELS,
    words=_one_of("attention_mask do_sample eos_token_id generation_config num_beams pad_token_id synced_gpus"),
    says="An object whose `generate` is called with this argument is a model of transformers, and returns token ids.",
    because="FlagOpen/FlagEmbedding, longllm_qlora/main/eval_passkey.py: `model.generate(…, do_sample=False, "
    "synced_gpus=…)`, of a model that a package out of sight has loaded",
)
CALLED_MODEL = Guess(
    group=MODELS,
    pattern=r"(?i)(?:^|_)(?:model|net|network|backbone|unet|transformer|denoiser|encoder|decoder|actor|critic|inferer)$",
    says="A function outside the project with such a name that gets this rank's own tensors is a model, or calls one: "
    "what it returns is computed from them.",
    because="ZetangForward/MyRLHF, openllama2/trainer/dpo_trainer.py: `model(input_ids, attention_mask=att_masks, "
    "return_output=True)`, of a model that the caller passes; Project-MONAI/tutorials, generative/2d_ldm/"
    "train_diffusion.py: `inferer(inputs=images, diffusion_model=unet)`, of a class of MONAI's",
)
SIMULATOR = Guess(
    group=MODELS,
    pattern=r"(?i)(?:^|_)(?:v?envs?|environments?|vec_?envs?|simulator)$",
    says="`step` and `reset` of an object outside the project with such a name simulate the actions, or begin with the "
    "seed, that they are passed: if these are a rank's own, what they return is, and all that follows such a seed.",
    because="vwxyzjn/cleanrl, cleanrl/ppo_atari_multigpu.py: `envs.step(action.cpu().numpy())`; huggingface/lerobot, "
    "scripts/lerobot_eval.py: `env.step(action_numpy)`",
)
PART_OF_FORWARD = Guess(
    group=MODELS,
    words=_one_of("decode encode"),
    says="A method with this name of something outside the project that is named like a model returns what it computes "
    "from this rank's own tensors.",
    because="Tencent-Hunyuan/Hunyuan3D-2.1, hy3dshape: `self.first_stage_model.encode(batch[key], …)`, whose latents "
    "the loss is computed from",
)
CALLED_LOSS = Guess(
    group=MODELS,
    pattern=r"(?i)(?:^|_)(?:criterion|loss(?:_?(?:fn|func|function))?|(?:compute|get|train|training)_losses)$",
    says="A function outside the project with such a name that gets this rank's own tensors is a loss of them.",
    because="soCromp/geodes, train_2d.py:212: early stopping by `loss_fn(noise_pred, noise)`, which a setting selects; "
    "arcee-ai/DistillKit, trainer.py:117; Tencent-Hunyuan/Hunyuan3D-2.1, hy3dshape: "
    "`self.transport.training_losses(self.model, latents, …)`, of a class that a configuration names",
)
CONTRASTED = Guess(
    group=MODELS,
    pattern=r"(?i)feat(?:ure)?s?(?:_|$)|emb(?:ed(?:ding)?)?s?(?:_|$)|repr|anchor|positive|negative|quer(?:y|ies)|passage",
    says="A loss that gets something with such a name may be contrastive, and gather it from all ranks itself.",
    because="LAION-AI/CLAP, training/train.py:110: `loss(audio_features=…, text_features=…)` gathers both",
)
RETURNS_TENSORS = Guess(
    group=MODELS,
    words=_one_of("return_tensors"),
    says="An object of unknown class that is called with this argument is a tokenizer or a processor.",
    because="Liuziyu77/Visual-RFT, grpo_trainer.py: `reward_processing_class(texts, return_tensors='pt', …)`, of a "
    "list that is handed over",
)
PICKS_ROWS = Guess(
    group=MODELS,
    words=_one_of("Subset shard"),
    says="A call with this name outside the project returns the rows that its arguments pick: this rank's own if the "
    "number of the rank is among them.",
    because="tests/evaluation/missed_models/shares_by_hand.py: `rows.shard(size, rank)` of rows of unknown class",
)
PADS_ROWS = Guess(
    group=MODELS,
    pattern=r"(?i)(align|balance|divisible|equal|even|multiple|pad|trim|trunc)",
    says="A call with this in its name makes rows as many as all ranks can share evenly.",
    because="tests/evaluation/false_alarms/rows_left_over.py: `pad_rows(rows)[rank::size]`, of which each has as many",
)
REWARDED = Guess(
    group=MODELS,
    words=_one_of("completions"),
    says="A function outside the project that is called with this rank's samples as `prompts` and as this "
    "argument is a TRL reward function: it returns one reward per sample.",
    because="xiaohangt/wd1, diffu_grpo_trainer.py: `reward_func(prompts=prompts, completions=completions, …)`, from "
    "whose rewards most metrics of a step are computed",
)

# --- batches ----------------------------------------------------------------------------------------------

BATCHES = "Batches"

PADDED_FIELD = Guess(
    group=BATCHES,
    pattern=r"(?:^|_)(?:input_ids|attention_mask|token_type_ids|position_ids|completion_ids|completion_mask|prompt_ids"
    r"|prompt_mask|decoder_attention_mask|loss_mask|assistant_masks)(?:_(?:chosen|rejected|j|k))?$",
    says="A batch field whose name ends in this, or in this and the answer of a pair, is padded to this rank's longest "
    "sequence.",
    because="fixtures/ragged_gather/broken.py; trl 0.17.0: `prompt_input_ids`, `completion_attention_mask`, "
    "`input_ids_chosen` of RewardTrainer; trl 0.4.7, examples: `input_ids_j`",
)
PADDED_LABELS = Guess(
    group=BATCHES,
    words=_one_of("KL_labels chosen_labels completion_labels concatenated_labels lm_labels rejected_labels"),
    says="A batch field with this name holds one label per token, padded in the same way.",
    because="trl 0.11.4, trainer/bco_trainer.py and kto_trainer.py: `completion_labels`, `KL_completion_labels`",
)
PADS_LABELS = Guess(
    group=BATCHES,
    pattern=r"DataCollatorFor(?:Seq2Seq|TokenClassification)\b",
    says="In a file with one of these that loads a model of tokens, and none of samples, the labels of a batch are "
    "padded in the same way.",
    because="transformers, examples/pytorch: `run_summarization_no_trainer.py` and `run_ner_no_trainer.py` pad "
    "`batch['labels']` across processes before they gather them; tests/evaluation/missed_models/labels_of_tokens.py",
)
FIXED_LENGTHS = Guess(
    group=BATCHES,
    pattern=r"""padding["']?\s*[=:]\s*["']max_length["']|PaddingStrategy\.MAX_LENGTH|pad_to_max_length"""
    r"""|\bgroup_texts\b|\bblock_size\b|default_data_collator|DefaultDataCollator|ConstantLengthDataset\(""",
    says="A file with one of these may pad all batches, or cut all samples, to one length: the batches it "
    "reads, those of loaders and trainers created in it, and those made by its functions and classes.",
    because='tests/rules/test_ragged_gather.py: `tokenizer(rows, padding="max_length")`; accelerate 1.15.0, '
    "examples: `block_size`, `group_texts`",
)
RANK_LOCAL_LENGTHS = Guess(
    group=BATCHES,
    pattern=r"""padding["']?\s*[=:]\s*(?:True\b|["'](?:longest|True)["'])|PaddingStrategy\.LONGEST|\bpad_sequence\b"""
    r"""|tokenizer\.pad\(|DataCollatorWithPadding|pad_to_multiple_of"""
    r"""|DataCollatorFor(?:LanguageModeling|Seq2Seq|TokenClassification|WholeWordMask|MultipleChoice)\b"""
    r"""|DataCollatorFor(?:CompletionOnlyLM|Preference|ChatML|UnpairedPreference|VisionLanguageModeling)\b""",
    says="A file with one of these pads batches to their longest sample: the batches it reads, those of "
    "loaders created in it, and those made by its functions and classes. Without one, a loop's batches "
    "are not known to be ragged.",
    because="tests/rules/test_ragged_gather.py: `pad_sequence(rows)`; not in "
    "justinlovelace/latent-diffusion-for-language, where another file pads to `max_length`",
)
TOKEN_MODELS = Guess(
    group=BATCHES,
    pattern=r"For(?:CausalLM|Seq2SeqLM|ConditionalGeneration|TokenClassification|MaskedLM|Vision2Seq|ImageTextToText)\b"
    r"|LMHeadModel|WithValueHead",
    says="In a file that names such a class, and none of the next row, a model's logits have one row per token.",
    because="trl 0.17.0: files that load `AutoModelForCausalLM`",
)
SAMPLE_MODELS = Guess(
    group=BATCHES,
    pattern=r"For(?:SequenceClassification|MultipleChoice|ImageClassification|AudioClassification)\b",
    says="In a file that names such a class, and none of the row above, they have one row per sample.",
    because="trl 0.17.0: files that load `AutoModelForSequenceClassification`, for rewards",
)

# --- gradients --------------------------------------------------------------------------------------------

GRADIENTS = "Gradients"

COMPUTES_GRADIENTS = Guess(
    group=GRADIENTS,
    words=_one_of("backward"),
    says="A loop over a prepared loader that calls a method with this name trains; other loops evaluate. So does a "
    "statement that calls it, or a function that does.",
    because="fixtures/truncated_gather/broken_loop.py: batches that are trained with are no evaluation, whose "
    "last one may be cut",
)
MAY_FREEZE = Guess(
    group=GRADIENTS,
    pattern=r"freeze",
    says="A function with such a name may freeze parameters, or train them again.",
    because="tests/rules/test_unused_parameter.py: `unfreeze(inner)` right behind `inner.body.requires_grad_(False)`",
)
MAY_WRAP = Guess(
    group=GRADIENTS,
    pattern=r"(?i)wrap|ddp|distrib|prepare|reduce|gather|broadcast|sync(?!batchnorm)|rank|world|shard|^dist$",
    says="A function that is passed a model, or the class of the model, may wrap it, reduce its gradients, or give "
    "each rank a part of it if its code has such a name.",
    because="deepinsight/insightface, partial_fc_v2.py: a head whose classes are dealt to the ranks, beside a backbone "
    "in DistributedDataParallel",
)
AVERAGES_WEIGHTS = Guess(
    group=GRADIENTS,
    pattern=r"(?i)local_?sgd|diloco|gossip|(?:all_?)?reduce\((?:p|param|parameter)\b|reduce\(\w+\.(?:data|grad)\b"
    r"|(?:averag(?:e|ing)|reduce|synchronize)_(?:all_)?(?:grad|model|param|weight)|sync_(?:model|param|weight)"
    r"|(?:grad|model|param|weight)\w*_averag",
    says="A file with such a name averages gradients or weights over the ranks itself, which `no_sync()` leaves to it.",
    because="torch, distributed/algorithms/model_averaging: `PeriodicModelAverager.average_parameters` after steps "
    "whose gradients stay local",
)
NAMES_GRADIENTS = Guess(
    group=GRADIENTS,
    pattern=r"(?i)grad|param|weight",
    says="A function outside the project that is passed something with such a name, after a backward pass under "
    "`no_sync()`, may reduce the gradients over the ranks.",
    because="tests/evaluation/false_alarms/kept_and_exchanged.py: `exchange(params)`, the list of a model's parameters",
)
SCALES_A_LOSS = Guess(
    group=GRADIENTS,
    words=_one_of("scale"),
    says="A method with this name outside the project returns the loss that it is passed, times a factor: "
    "`scaler.scale(loss).backward()`.",
    because="tests/evaluation/missed_models/refused_losses.py: a function gets the scaler as an argument",
)
KEEPS_NONE_OF_IT = Guess(
    group=GRADIENTS,
    words=_one_of("add_scalar add_scalars debug info log log_dict print set_description set_postfix warning write"),
    says="A method with this name shows or logs what it gets, and its object keeps none of it: what follows from the "
    "object is no training loss.",
    because="Pints-AI/1.5-Pints, pretrain/main.py: `fabric.print(…)` shows the training loss, and "
    "`validate(fabric, model, val_dataloader, …)` gives another one",
)
KEEPS_ITS_ARGUMENT = Guess(
    group=GRADIENTS,
    words=_one_of("append backward manual_backward"),
    says="A method with this name outside the project does not change its tensor argument: "
    "`engine.backward(loss)` reduces gradients, if anything. Other methods may reduce their argument in "
    "place.",
    because="cybertronai/transformer-xl, train.py:725: the loss is logged behind `optimizer.backward(loss)`",
)

# --- what a fix may leave as it is --------------------------------------------------------------------------

FIXES = "Fixes"

SHOWS = Guess(
    group=FIXES,
    words=_one_of("add_scalar add_scalars debug info log log_metric log_metrics print report_scalar set_postfix"),
    says="A call with this name shows its arguments and changes nothing.",
    because="tests/rules/test_unreduced_metric.py: a value that is printed and logged is gathered once, where it "
    "is bound",
)
KEEPS = Guess(
    group=FIXES,
    words=_one_of("append extend record setdefault track update write"),
    says="A call with this name stores its arguments for later.",
    because="tests/rules/test_unreduced_metric.py: a number that is appended to a list and logged is gathered once",
)
RECORDS = Guess(
    group=FIXES,
    words=_one_of("add"),
    says="A call with this name that is its own statement stores the number passed to it.",
    because="tests/rules/test_unreduced_metric.py: a number that a recorder is given, and that is logged, is gathered "
    "once",
)
SWITCHES_MODE = Guess(
    group=FIXES,
    words=_one_of("eval train"),
    says="A method with this name before a collective sets up a model, in the same way on all ranks.",
    because="not traced",
)
COMPUTES_ONLY = Guess(
    group=FIXES,
    words=_one_of("F math np numpy torch"),
    says="Functions after one of these names only compute.",
    because="tests/rules/test_divergent_collective.py: `both = torch.stack([loss])` is moved along with the collective",
)
CHANGES_IN_PLACE = Guess(
    group=FIXES,
    pattern=r"_$",
    says="A method whose name ends in an underscore changes its object.",
    because="torch calls its methods that work in place so; `loss.mul_(2)` in tests/rules/test_divergent_collective.py",
)
CONFIG_OBJECT = Guess(
    group=FIXES,
    pattern=r"config$",
    says="Writing to an object with such a name writes to the config of a model.",
    because="tests/rules/test_wrapped_model_attribute.py: `model_config.depth = 2` makes a kept copy of the depth "
    "wrong",
)
MODEL_OBJECT = Guess(
    group=FIXES,
    pattern=r"model",
    says="An object with this in its name whose `config` is replaced is a model.",
    because="tests/rules/test_wrapped_model_attribute.py: `self.model.config = self.args.config`",
)

# --- metrics ----------------------------------------------------------------------------------------------

METRICS = "Metrics of runs"

CLOCK_METRIC = Guess(
    group=METRICS,
    pattern=r"(?i)(^|[/_ ])((run|wall)?time|timing|timestamp|wall_?clock|elapsed|duration|latency|[mun]?s|secs?"
    r"|seconds?|throughput|speed|flops?|memory|mem|allocated|reserved|mfu|tps)($|[/_ :])|per_sec(ond)?|/s(ec)?$",
    says="`trl-lint verify` ignores metrics with such a name: clocks and memory differ in correct code.",
    because="trainers log `train_runtime`, `train_samples_per_second` and step times, which no two ranks share",
)
METRIC_OF_ONE_RANK = Guess(
    group=METRICS,
    pattern=r"(?i)(rank|gpu|device|process|worker)[_\-/ ]?\d"
    r"|(^|[_\-/ ])(per[_\-/ ](rank|gpu|device|process|worker)|(1|one|single)[_\-/ ]?(rank|gpu|device|process)"
    r"|main[_\-/ ](rank|process)|local[_\-/ ](bs|batch[_\-/ ]?size))($|[_\-/ ])",
    says="A metric with such a name is meant for one rank, for TRL003 and for `trl-lint verify`.",
    because="tests/verify/test_oracles.py: `loss/rank0`, `gpu_1/accuracy`; jh5117-debug/Video_inpainting_DPO, "
    "training/dpo/train_stage1.py: `rank0/dpo_loss` beside `global/implicit_acc`; IDEA-Research/V-Reflection, "
    "src/trainer/lvr_trainer.py: `tokens_per_device`; lzy37ld/attack_sql, run_tst.py: `rewards_main_process`; "
    "CompVis/zigma, train_acc.py: `bs_1gpu`",
)
COST_OF_MODEL = Guess(
    group=METRICS,
    pattern=r"(?i)^(?!.*(?:loss|penalty|(?<![a-z])reg))(?:.*[_\-/. ])?"
    r"(?:(?:[kmgtp]|giga|tera|peta)?(?:flops?|macs)(?:$|[_\-/. (])"
    r"|(?:n|nb|no|num|number|total|trainable)[_\- ](?:of[_\- ])?(?:trainable[_\- ])?param(?:eter)?s$"
    r"|param(?:eter)?s?[_\- ]count$)",
    says="A metric with such a name is counted from the shapes of a model and its inputs, which are the same on all "
    "ranks.",
    because="tidiane-camaret/ic_segmentation, scripts/eval.py: `gflops_per_sample`, counted on the first batch of the "
    "loader; a FLOPS regularizer, `flops_loss`, is computed from the data",
)

# --- launch commands --------------------------------------------------------------------------------------

LAUNCH = "Launch commands"

TRAINER_CLASS = Guess(
    group=LAUNCH,
    pattern=r"Trainer$",
    says="A class of Transformers, TRL, Sentence Transformers or Adapters with such a name is a Trainer.",
    because="trl 0.17.0, scripts: `SFTTrainer`, `DPOTrainer`, `KTOTrainer`; trainers come with each release",
)
TRAINER_OBJECT = Guess(
    group=LAUNCH,
    pattern=r"(?i)trainer",
    says="An object with this in its name whose `train` is called is a trainer.",
    because="trl 0.17.0, scripts: `trainer.train()`",
)
ACCELERATOR_OBJECT = Guess(
    group=LAUNCH,
    pattern=r"(?i)accelerator",
    says="An object with this in its name whose `backward` or `prepare` is called is an Accelerator.",
    because="not traced",
)
OPTIMIZER_OBJECT = Guess(
    group=LAUNCH,
    pattern=r"optim",
    says="A model prepared together with an object with such a name is trained. A call that is passed one may end a "
    "training step.",
    because="tests/rules/test_bare_python_launch.py: `a.prepare(model, optimizer)`, and another loss goes back; "
    "tests/evaluation/missed_models/frozen_models.py: the one model with an optimizer is wrapped",
)
RESUMES = Guess(
    group=SYNCHRONISATION,
    pattern=r"(?i)^(?:\w+_)?resum(?:e|ed|ing)(?:_\w+)?$",
    says="A file with such a name, from which weights are loaded, is one that the same program has saved.",
    because="mindee/doctr, references/recognition/train_pytorch_ddp.py: `--resume` loads before the model is wrapped "
    "what was saved from the wrapper",
)
TRL_SCRIPT = Guess(
    group=LAUNCH,
    pattern=r"(?:^|/)(?:trl|examples)/scripts/(?:\w+/)?(?:sft|dpo|kto|cpo|orpo|ppo|rloo|grpo|gkd|gold|xpo|nash_md"
    r"|online_dpo|bco|distillation|reward_modeling|prm|alignprop|gspo|ddpo|ppo_tldr|rloo_tldr|dpo_online|dpo_vlm"
    r"|(?:sft|dpo|grpo|rloo|gspo|mpo|online_dpo|grpo_2048|grpo_agent)_\w+)\.py\Z"
    r"|(?:^|/)(?:trl/scripts|examples/scripts)/reward\.py\Z",
    says="A script with such a path is TRL's own, and trains.",
    because="trl/scripts/*.py, examples/scripts/*.py of trl 0.16.1 and 1.16.0, trl/scripts/reward.py of trl 0.24",
)
TRANSFORMERS_SCRIPT = Guess(
    group=LAUNCH,
    pattern=r"(?:^|/)examples/(?:legacy/|pytorch/)?[\w-]+/run_(?:glue|clm|mlm|plm|fim|qa|qa_beam_search|seq2seq_qa"
    r"|summarization|translation|swag|ner|xnli|mae|mim|image_classification|audio_classification"
    r"|semantic_segmentation|instance_segmentation|object_detection|speech_recognition_\w+|clip"
    r"|wav2vec2_pretraining|classification|language_modeling)\.py\Z",
    says="A script with such a path is one of Transformers' examples, and trains.",
    because="transformers/examples/pytorch/*/run_*.py: transformers.Trainer",
)
LOOP_SCRIPT = Guess(
    group=LAUNCH,
    pattern=r"(?:^|/)(?:ppo|ppo_tldr|ddpo|alignprop)\.py\Z",
    says="Of those scripts, one with this name has a loop with an Accelerator, and does not use DataParallel.",
    because="trl 0.11.4, examples/scripts/ppo.py, ddpo.py, alignprop.py",
)
TOOL_SCRIPT = Guess(
    group=LAUNCH,
    words=_one_of("collect_env.py conftest.py get-pip.py manage.py setup.py"),
    says="A script with this name is a tool and does not train.",
    because="tests/launch/test_bare.py: `python setup.py install`",
)
INTERPRETER_VARIABLE = Guess(
    group=LAUNCH,
    pattern=r"(?i)^\"?\$[{(]?(?:PY|PYTHON|PYTHON3|[A-Z_]*PYTHON_?(?:BIN|EXE|CMD|PATH|EXEC|EXECUTABLE)?)[})]?\"?\Z",
    says="A variable with such a name that nothing sets holds the interpreter: `$PYTHON`, `${PYTHON_BIN}`, `$(PY)`.",
    because="tests/launch/test_bare.py: `$PYTHON`, `${PYTHON_BIN}`, `$(PY)`",
)
LAUNCHER_ARGUMENT = Guess(
    group=LAUNCH,
    pattern=r"^--?(?:nproc[_-]per[_-]node|num[_-]processes|local[_-]rank|node[_-]rank|world[_-]size|(?:num|n)[_-]?gpus?"
    r"|gpus?|gpu[_-](?:ids?|index|num|number|device|devices|list)|devices|(?:cuda|visible)[_-]devices?"
    r"|cuda[_-]visible[_-]devices?)(?![\w-])",
    says="A script with such an argument is itself a launcher, gets its rank from one, or spreads itself over GPUs.",
    because="tests/launch/test_gpus.py: scripts that take `--nproc_per_node`, `--local_rank`, `--gpus`",
)
FILE_TO_BE_CHOSEN = Guess(
    group=LAUNCH,
    pattern=r"(?i)(?:^|/)path[/_-]to[/_-]|(?:^|[/_-])your[/_-]",
    says="A document with such a path leaves it to the reader which file it is: one of those that the project has.",
    because="Gen-Verse/MMaDA, README.md: `accelerate launch --config_file path/to/your/accelerate_config`",
)
GPU_INDEX_ARGUMENT = Guess(
    group=LAUNCH,
    pattern=r"^--?(?:gpu|cuda[_-]device|gpu[_-](?:id|index|number|device))\Z",
    says="A script with this argument and one number uses one GPU and starts no other processes.",
    because="halflearned/rlvr-experiments, scripts/sft_hf_minimal.py: `--gpu 0`, which sets CUDA_VISIBLE_DEVICES",
)
GPU_COUNT_ARGUMENT = Guess(
    group=LAUNCH,
    pattern=r"^(?:--?|\+{0,2})(?:[\w-]+\.)*(?:(?:num|n)[_-]?(?:gpus?|devices)|gpus|devices|gpu[_-](?:ids|num|number|devices))\Z",
    says="A program with this argument takes as many GPUs as it says, or those that it lists.",
    because='zjunlp/Relphormer, scripts/wn18rr/wn18rr.sh: `--gpus "3,"`, for Lightning\'s Trainer',
)
NODE_COUNT_ARGUMENT = Guess(
    group=LAUNCH,
    pattern=r"^(?:--?|\+{0,2})(?:[\w-]+\.)*(?:nnodes|nodes|(?:num|n)[_-]?nodes)\Z",
    says="A program with this argument is started on as many machines, on each of them anew.",
    because="tests/launch/test_one_gpu.py: `--gpus 1 --num_nodes 2`",
)
PLACEMENT_ARGUMENT = Guess(
    group=LAUNCH,
    pattern=r"^--(?:device[_-]map|load[_-]in[_-]8bit)\b",
    says="A script with such an argument loads a model that Trainer does not wrap.",
    because="transformers, trainer.py: a model in 8 bits (`is_loaded_in_8bit`) or over several devices is not wrapped",
)
CPU_ARGUMENT = Guess(
    group=LAUNCH,
    pattern=r"(?i)^--(?:use[_-]cpu|no[_-]cuda|cpu|use_mps_device)(?:=(?:true|1|yes))?\Z",
    says="A script with such an argument does not train on CUDA GPUs.",
    because="transformers, training_args.py: `use_cpu`, `no_cuda`; fixtures/bare_python_launch: `--use_cpu`",
)
TRAIN_ARGUMENT = Guess(
    group=LAUNCH,
    pattern=r"(?s)^--?(?:do[_-])?train(?:=(.*))?\Z",
    says="A script with this argument trains, unless it is false.",
    because="transformers/training_args.py: `do_train`; sorryhyun/anima_lora: a script's own `--train`",
)
NO_TRAIN_ARGUMENT = Guess(
    group=LAUNCH,
    pattern=r"(?s)^--?(?:do[_-](?:eval|predict|test)|eval(?:uate)?|(?:eval(?:uate)?|test|predict|inference)[_-]only"
    r"|(?:do[_-])?(?:data[_-]?)?(?:pre)?process(?:ing)?[_-]only)(?:=(.*))?\Z",
    says="A script with such an argument, and none that requests training, does not train.",
    because="transformers, training_args.py: `do_eval`, `do_predict`; scripts of their own take `--eval_only` or "
    "`--eval`; foundation-model-stack/fms-hf-tuning: `--do_dataprocessing_only`",
)
TRIAL_RUN = Guess(
    group=LAUNCH,
    pattern=r"(?i)^(?:(?:do|is|run|use)_)?(?:debug(?:ging)?|dry_run|smoke_test)(?:_(?:mode|run))?\Z",
    says="An option with this name, off by default, turns on a run that tries the code out: what such a run learns is "
    "not kept.",
    because="airbert-vln/airbert, train.py: `if args.debug:`, in which it trains on a few rows that are drawn",
)
SETTINGS_OPTION = Guess(
    group=LAUNCH,
    pattern=r"(?i)^--?(?:\w+[_-])*(?:args?|arguments|cfg|conf(?:ig)?s?|hparams|json|params?|recipe|setting|settings|yaml)"
    r"(?:[_-](?:file|path))?\Z",
    says="A file of this kind after such an option holds settings, which may request training; after other "
    "options it is data.",
    because="luyug/COIL, uniCOIL/README.md: `--encode_in_path queries.dev.small.json` is what is encoded",
)
HOSTED_RUNNER = Guess(
    group=LAUNCH,
    pattern=r"^(?:ubuntu|windows|macos)-(?:latest|slim|\d[\w.-]*)\Z",
    says="A machine with such a name is a hosted runner without a GPU.",
    because="GitHub's and GitLab's lists of runner images; fixtures/bare_python_launch: `ubuntu-latest`",
)
ASKS_FOR_GPUS = Guess(
    group=LAUNCH,
    pattern=r"(?i)gpu|cuda|device|nproc|num_?proc|world_?size",
    says="A condition with such a word checks the number of GPUs, so several were considered.",
    because="tests/launch/test_gpus.py: `case $NUM_GPUS in 1) python x.py`",
)
ONE_GPU_NOTE = Guess(
    group=LAUNCH,
    pattern=r"(?i)\b(?:single|one|1)[ -]?(?:x[ -]?)?(?:\w+ )?(?:[ghnx]pu|accelerator)s?\b(?!s)"
    r"|\b(?:single|one)[ -]?(?:device|card)\b|\bnon[- ]distributed|\bapple silicon\b"
    r"|\b(?:single|one) ?(?:\w+ ){0,2}(?:rtx|gtx|titan|[ahvptkl]\d{1,3}|[2345]0[6789]0)\b|\bcolab\b"
    r"|\b(?:on|with|using) (?:a|the) (?:\w+ )?cpu\b|\bsingle cpu\b|\bcpu[- ]only\b|\bwithout (?:a )?gpu"
    r"|\u5355\u5361|\u5355\u5f20|\u5355(?:\u4e2a)?\s?gpu",
    says="A command next to such words is meant for one GPU or none (in Chinese, too).",
    because="fixtures/bare_python_launch: `On a single GPU:`, `from a server without GPU`; "
    "tests/launch/test_gpus.py: Colab, `one RTX 3060`; charent/ChatLM-mini-Chinese, README.md: one card above, several "
    "below; huggingface/optimum-habana, examples: `Single-HPU`, `single-card`",
)
NAMES_LAUNCHER = Guess(
    group=LAUNCH,
    pattern=r"(?i)(?<![a-z-])(?:accelerate launch|torchrun|torch\.distributed\.(?:run|launch))(?![a-z-])",
    says="A command next to a note that names a launcher is the one for a single GPU.",
    because="charent/ChatLM-mini-Chinese, README.md: a comment says how to launch on several GPUs, above bare python",
)
SEVERAL_GPUS_NOTE = Guess(
    group=LAUNCH,
    pattern=r"(?i)\bmulti(?:ple\b|[- ]?(?:gpu|node|device|process|card|worker))|\bor multi\b|\bdistributed"
    r"|\bgpus\b",
    says="Words for one GPU do not count next to such words.",
    because="tests/launch/test_gpus.py: `# single GPU or multi-GPU`",
)


# --- code that never runs ---------------------------------------------------------------------------------

NOT_RUN = "Code that never runs"

MADE_IN_BUILDS = Guess(
    group=NOT_RUN,
    pattern=r"^_?(?:\w+_)?version(?:_\w+)?\Z|_pb2(?:_grpc)?\Z|^_C\Z|_ext\Z",
    says="A missing module with such a name is generated when the project is built.",
    because="setuptools_scm and versioneer write `_version.py`, protoc `_pb2.py`; torch's extensions are `_C`, `_ext`; "
    "that `..utils.versions` of a copied file is missing says that the file was not copied whole "
    "(declare-lab/tango, mustango/diffusers)",
)
OWN_FOLDER = Guess(
    group=NOT_RUN,
    words=_one_of("dataloader dataloaders helper helpers util utils"),
    says="A folder with such a name, of which a module is imported, is one of the project's own.",
    because="LiuZH-19/SongGen, main_launch_vqdp.py: `from utils.utils import save_checkpoint`, of the code base from "
    "which the file was copied",
)
COPIED_LIBRARY = Guess(
    group=NOT_RUN,
    words=_one_of(
        "accelerate CLAP clap clap_modules detectron2 diffusers dinov2 fairseq laion_clap openpoints parallel_wavegan "
        "peft transformers trl"
    ),
    says="A package with such a name, in a project with another name that has its own programs, is a copy of "
    "the library.",
    because="TUe-Ray/VLM-3R, NVlabs/VILA and RifleZhang/LLaVA-Hound-DPO have a copy of trl, and use parts of it; "
    "X-LANCE/VoiceFlow-TTS starts the decoding of its copy of parallel_wavegan alone; XiandaGuo/OpenStereo takes the "
    "backbone of its copy of dinov2, and starts none of its trainings; Bai-YT/ConsistencyTTA, sony/soundctm and "
    "NakataKoo/music-text-multimodal-diffusion embed sound with their copies of LAION-CLAP, and train none",
)
FOLDER_OF_COPIES = Guess(
    group=NOT_RUN,
    pattern=r"(?i)^(?:third|3rd)[-_]?part(?:y|ies)$|^externals?$|^(?:submodules|vendor|vendored|vendors)$",
    says="A folder in one with such a name is a copy of somebody else's code, in a project that has programs outside "
    "of it.",
    because="lishiqianhugh/NeuralGaussianForceField, videogen/externals/OSEDiff: only its inference is used",
)
