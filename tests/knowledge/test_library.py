"""The index of the knowledge tables, without the package index."""

import importlib
import inspect
from collections import Counter

import pytest

from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.transfer.processes.groups import groups_of
from trl_lint.domain import ranks
from trl_lint.domain.values import Kind, Wrapping
from trl_lint.knowledge import library
from trl_lint.knowledge.schema import NOTHING, SAME, Class, Collective, Function, Hook, OpaqueCall, Row, Sink, instance
from trl_lint.releases import Releases


def test_every_row_has_a_source():
    assert [row.name for row in library.ROWS if not row.source] == []


def test_no_row_is_there_twice():
    seen = Counter((row.name, type(row), row.since) for row in library.ROWS)
    assert [key for key, count in seen.items() if count > 1] == []


def test_spans_of_one_name_do_not_overlap():
    spans: dict[tuple[str, type], list[Row]] = {}
    for row in library.ROWS:
        spans.setdefault((row.name, type(row)), []).append(row)
    for rows in spans.values():
        for one in rows:
            others = [row for row in rows if row is not one and library.in_span(row, one.since or "0")]
            assert others == [], f"{one.name} since {one.since or 'ever'}"


def test_bases_are_rows_themselves():
    known = {row.name for row in library.ROWS if isinstance(row, Class)}
    assert {base for row in library.ROWS if isinstance(row, Class) for base in row.bases} <= known


def test_names_are_canonical():
    assert [row.name for row in library.ROWS if library.canonical(row.name) != row.name] == []


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("accelerate.accelerator.Accelerator", "accelerate.Accelerator"),
        ("accelerate.accelerator.Accelerator.gather", "accelerate.Accelerator.gather"),
        ("accelerate.state.PartialState", "accelerate.PartialState"),
        ("accelerate.utils.operations.gather", "accelerate.utils.gather"),
        ("accelerate.utils.set_seed", "accelerate.utils.set_seed"),
        ("batchgenerators.utilities.file_and_folder_operations.join", "os.path.join"),
        ("batchgenerators.utilities.file_and_folder_operations.load_json", "json.load"),
        ("deepspeed.comm.all_reduce", "torch.distributed.all_reduce"),
        ("mlflow.tracking.MlflowClient", "mlflow.MlflowClient"),
        ("numpy.mean", "numpy.mean"),
        ("my.own.Trainer", "my.own.Trainer"),
        ("torch.distributed.deprecated.all_reduce", "torch.distributed.all_reduce"),
        ("torch.distributed.distributed_c10d.all_reduce", "torch.distributed.all_reduce"),
        ("torch.distributed.nn.all_reduce", "torch.distributed.nn.functional.all_reduce"),
        ("torch.distributed.nn.functional.all_reduce", "torch.distributed.nn.functional.all_reduce"),
        ("torch.nn.parallel.DataParallel", "torch.nn.DataParallel"),
        (
            "torch.nn.parallel.deprecated.DistributedDataParallel",
            "torch.nn.parallel.DistributedDataParallel",
        ),
        (
            "torch.nn.parallel.distributed.DistributedDataParallel",
            "torch.nn.parallel.DistributedDataParallel",
        ),
        ("torch.utils.data.distributed.DistributedSampler", "torch.utils.data.DistributedSampler"),
        ("transformers.Trainer", "transformers.Trainer"),
        ("transformers.set_seed", "transformers.trainer_utils.set_seed"),
        ("transformers.trainer.Trainer", "transformers.Trainer"),
        ("transformers.trainer_callback.TrainerCallback", "transformers.TrainerCallback"),
        ("trl.experimental.online_dpo.OnlineDPOTrainer", "trl.OnlineDPOTrainer"),
        ("trl.models.unwrap_model_for_generation", "trl.models.utils.unwrap_model_for_generation"),
        ("trl.trainer.base_trainer._BaseTrainer", "trl._BaseTrainer"),
        ("trl.trainer.dpo_trainer.DPOTrainer", "trl.DPOTrainer"),
        ("wandb.sdk.wandb_run.Run", "wandb.Run"),
    ],
)
def test_canonical(spelling, name):
    assert library.canonical(spelling) == name
    assert library.canonical(name) == name


@pytest.mark.parametrize(
    ("version", "holds"),
    [
        ("0.13.0", False),
        ("0.14", True),
        ("0.14.0", True),
        ("0.14.0.dev0", True),
        ("0.28.9", True),
        ("0.29rc1", False),
        ("0.29.0", False),
        ("1.0", False),
        ("", None),
        (None, None),
    ],
)
def test_in_span(version, holds):
    row = Function(name="trl.x", source="here", since="0.14", until="0.29")
    assert library.in_span(row, version) is holds


def test_a_row_without_a_span_always_holds():
    assert library.in_span(Function(name="trl.x", source="here"), None) is True


def test_trailing_zeros_of_a_version_do_not_count():
    row = Function(name="transformers.x", source="here", until="5.0")
    assert library.in_span(row, "5") is False
    assert library.in_span(row, "4.99") is True


# --- methods, attributes and hooks along the bases -------------------------------------------------------


def test_a_method_is_found_in_a_base():
    owner, rows = library.method("trl.GRPOTrainer", "log", {"trl": "1.16.0", "transformers": "5.24.0"})
    assert owner == "transformers.Trainer"
    assert {type(row) for row in rows} == {Hook, Sink}


def test_a_collective_of_the_accelerator():
    owner, (row,) = library.method("accelerate.Accelerator", "reduce")
    assert owner == "accelerate.Accelerator"
    assert isinstance(row, Collective)
    assert row.reduction == (1, "reduction", "sum")


def test_an_unknown_method():
    assert library.method("accelerate.Accelerator", "levitate") is None


def test_an_attribute_is_found_in_a_base():
    assert library.attribute("trl.SFTTrainer", "model").value.wrapping is Wrapping.UNWRAPPED
    assert library.attribute("trl.SFTTrainer", "model_wrapped").value.wrapping is Wrapping.WRAPPED


def test_the_model_of_a_trainer_with_its_own_loop_is_wrapped():
    def wrapping(name, version):
        return library.attribute(name, "model", {"trl": version}).value.wrapping

    assert wrapping("trl.PPOTrainer", "0.11.4") is Wrapping.WRAPPED
    assert wrapping("trl.RLOOTrainer", "0.21.0") is Wrapping.WRAPPED
    assert wrapping("trl.RLOOTrainer", "0.22.0") is Wrapping.UNWRAPPED


def test_arguments_are_the_same_on_all_ranks_but_for_what_says_which_rank_it_is():
    assert library.attribute("trl.GRPOConfig", "beta").value.rank is ranks.SAME
    assert library.attribute("trl.GRPOConfig", "process_index").value.rank is ranks.RANK_LOCAL
    assert library.attribute("transformers.TrainerState", "is_world_process_zero").value.rank.differs
    assert library.attribute("transformers.TrainerState", "global_step").value.rank is ranks.SAME
    assert library.attribute("transformers.TrainingArguments", "main_process_first") is None


def test_members_are_those_of_the_bases_as_well():
    found = library.members("trl.SFTTrainer")
    assert {"_metrics", "model", "training_step"} <= found
    assert not {"SFTTrainer", "stats", "gather"} & found


def test_a_class_that_says_nothing_of_other_attributes():
    assert library.attribute("accelerate.Accelerator", "my_own") is None
    assert library.method("accelerate.Accelerator", "my_own") is None


def test_what_the_metrics_of_a_hook_are_depends_on_the_release():
    def metrics(version):
        (row,) = library.hook("trl.DPOTrainer", "get_batch_loss_metrics", {"trl": version})
        assert row.stored == 1
        return row.returns.items[1].rank

    assert metrics("0.13.0").differs
    assert metrics("0.14.0") == ranks.REDUCED
    assert len(library.hook("trl.DPOTrainer", "get_batch_loss_metrics")) == 2
    assert library.hook("trl.DPOTrainer", "get_batch_loss_metrics", {"trl": "0.29.0"}) == ()


def test_hooks_get_the_wrapped_model_and_callbacks_the_bare_one():
    hooks = library.hooks_of("trl.SFTTrainer", {"trl": "1.16.0", "transformers": "5.24.0"})
    (step,) = hooks["training_step"]
    assert list(step.parameters) == ["model", "inputs", "num_items_in_batch"]
    assert step.parameters["model"].wrapping is Wrapping.WRAPPED
    (saved,) = library.hooks_of("transformers.TrainerCallback")["on_save"]
    assert saved.parameters["model"].wrapping.is_bare


def test_a_trainer_of_two_natures():
    assert not library.is_subclass("trl.PPOTrainer", "transformers.Trainer", {"trl": "0.11.4"})
    assert library.is_subclass("trl.PPOTrainer", "transformers.Trainer", {"trl": "0.12.0"})
    assert library.is_subclass("trl.GKDTrainer", "trl.SFTTrainer")
    assert not library.is_subclass("trl.SFTTrainer", "trl.GKDTrainer")


def test_stores():
    assert library.store("trl.GRPOTrainer", "_metrics", {"trl": "0.15.2"}).depth == 1
    assert library.store("trl.GRPOTrainer", "_metrics", {"trl": "0.16.0"}).depth == 2
    assert library.store("trl.XPOTrainer", "stats").depth == 1
    assert set(library.stores("trl.DPOTrainer", {"trl": "1.16.0"})) == {"_metrics"}
    assert set(library.stores("trl.DPOTrainer")) == {"_metrics", "_stored_metrics"}


@pytest.mark.parametrize(
    "name",
    [
        "_nested_gather",
        "gather_for_metrics",
        "is_local_main_process",
        "is_main_process",
        "pad_across_processes",
        "sync_gradients",
        "unwrap_model",
        "wait_for_everyone",
    ],
)
def test_names_that_only_one_class_has(name):
    owner = library.unique_method(name)
    assert library.method(owner, name) is not None or library.attribute(owner, name) is not None


@pytest.mark.parametrize("name", ["gather", "reduce", "log", "prepare", "to", "print"])
def test_names_that_many_classes_have(name):
    assert library.unique_method(name) is None


# --- classes and functions by name -----------------------------------------------------------------------


def test_model_classes():
    for name in (
        "AutoModel",
        "AutoModelForCausalLM",
        "BertForMaskedLM",
        "GPT2LMHeadModel",
        "T5ForConditionalGeneration",
    ):
        assert library.is_model_class(f"transformers.{name}"), name
    assert library.is_model_class("trl.AutoModelForCausalLMWithValueHead")
    for name in (
        "AutoTokenizer",
        "AutoConfig",
        "Trainer",
        "DataCollatorForSeq2Seq",
        "GenerationConfig",
        "CLIPProcessor",
    ):
        assert not library.is_model_class(f"transformers.{name}"), name
    assert not library.is_model_class("my.package.AutoModel")


def test_what_is_loaded():
    assert library.maker("transformers.AutoModelForCausalLM.from_pretrained").wrapping is Wrapping.BARE
    assert library.maker("transformers.AutoTokenizer.from_pretrained").rank is ranks.SAME
    assert library.maker("transformers.AutoTokenizer.register") is None


def test_constructors():
    assert library.constructor("accelerate.Accelerator").name == "accelerate.Accelerator"
    assert library.constructor("torch.optim.AdamW").name == "torch.optim.Optimizer"
    assert library.constructor("torch.nn.parallel.DistributedDataParallel").wrapping is Wrapping.WRAPPED
    assert library.constructor("torch.utils.data.DataLoader").kind is Kind.LOADER
    assert library.constructor("collections.Something") is None


def test_pure_roots():
    assert library.is_pure("torch.nn.functional.softmax")
    assert library.is_pure("numpy.linalg.norm")
    assert library.is_pure("float")
    assert not library.is_pure("torch.distributed.all_reduce")
    assert not library.is_pure("torch.save")
    assert not library.is_pure("my_function")


def test_origins():
    assert library.origin("time.perf_counter") is ranks.CLOCK_LOCAL
    assert library.origin("time.sleep") is ranks.SAME
    assert library.origin("numpy.random.rand") is ranks.RNG_LOCAL
    assert library.origin("torch.cuda.max_memory_allocated") is ranks.MEMORY_LOCAL
    assert library.origin("torch.cuda.is_available") is ranks.SAME
    assert library.origin("torch.sum") is None


@pytest.mark.parametrize(
    "name",
    [
        "__class__",
        "__dict__",
        "device",
        "device_ids",
        "eval",
        "forward",
        "join",
        "module",
        "named_parameters",
        "no_sync",
        "parameters",
        "register_comm_hook",
        "register_forward_hook",
        "state_dict",
        "to",
        "train",
        "training",
        "zero_grad",
    ],
)
def test_a_wrapper_has(name):
    assert name in library.WRAPPER_ATTRIBUTES


@pytest.mark.parametrize(
    "name",
    [
        "active_adapter",
        "base_model",
        "config",
        "disable_adapter",
        "dtype",
        "generate",
        "generation_config",
        "get_input_embeddings",
        "gradient_checkpointing_enable",
        "lm_head",
        "model",
        "peft_config",
        "pretrained_model",
        "save_pretrained",
        "v_head",
    ],
)
def test_a_wrapper_does_not_have(name):
    assert name not in library.WRAPPER_ATTRIBUTES


@pytest.mark.torch
def test_wrapper_attributes_are_those_of_torch():
    nn = pytest.importorskip("torch").nn
    own = set(dir(nn.Module)) | set(dir(nn.parallel.DistributedDataParallel)) | set(dir(nn.DataParallel))
    own |= set(vars(nn.DataParallel(nn.Linear(1, 1)))) | set(vars(nn.DataParallel(nn.Linear(1, 1)))["_modules"])
    public = {name for name in own if not name.startswith("_")}
    assert public - library.WRAPPER_ATTRIBUTES == set()
    methods = {name for name in vars(nn.parallel.DistributedDataParallel) if not name.startswith(("__", "_abc_"))}
    assert methods - library.WRAPPER_ATTRIBUTES == set()


def test_what_a_prepared_object_has_tells_optimizers_and_loaders_from_models():
    assert {
        "step",
        "param_groups",
        "dataset",
        "get_last_lr",
        "zero_grad",
    } <= library.OPTIMIZER_LOADER_ATTRIBUTES
    assert not {"config", "generate", "module", "forward"} & library.OPTIMIZER_LOADER_ATTRIBUTES


def test_rows_of_the_user_hold_for_those_who_bring_them():
    row = Collective(name="my_package.reduce_mean", source="pyproject.toml", result="reduced")
    base = Class(name="my_package.Base", source="pyproject.toml", bases=("trl.DPOTrainer",))
    mine = library.Extended({"trl": "0.17.0"}, [row, base])
    assert library.function("my_package.reduce_mean", mine) is row
    assert library.function("my_package.reduce_mean") is None
    assert library.hooks_of("my_package.Base", mine) == library.hooks_of("trl.DPOTrainer", {"trl": "0.17.0"}) != {}
    assert library.hooks_of("my_package.Base") == {}
    assert library.is_subclass("my_package.Base", "transformers.Trainer", mine)


def test_rows_of_the_user_stand_in_place_of_those_of_the_tables():
    mine = Function(name="accelerate.utils.gather", source="pyproject.toml", returns=instance("my_package.Result"))
    assert library.function("accelerate.utils.gather", library.Extended({}, [mine])) is mine
    assert isinstance(library.function("accelerate.utils.gather"), Collective)


def test_releases_are_known_beside_rows_of_the_user_unless_any_is_asked_for():
    mine = library.Extended({"trl": "0.17.0"}, [Class(name="my_package.Base", source="pyproject.toml")])
    assert (mine.get("trl"), mine["trl"], list(mine), len(mine)) == ("0.17.0", "0.17.0", ["trl"], 1)
    anywhere = library.of_any_release(mine)
    assert dict(anywhere) == {}
    assert library.rows("my_package.Base", anywhere)
    assert library.of_any_release({"trl": "0.17.0"}) == {}


def test_whether_a_package_is_installed_is_the_same_on_all_ranks():
    assert library.function("transformers.utils.is_peft_available").returns.rank is ranks.SAME


def test_values_of_rows():
    assert library.function("torch.distributed.get_rank").returns.rank is ranks.RANK_LOCAL
    assert library.function("wandb.init").returns.name == instance("wandb.Run").name


GROUPED = [row for row in library.ROWS if isinstance(row, Collective) and row.groups and row.name.startswith("torch.")]


@pytest.mark.torch
@pytest.mark.parametrize("row", GROUPED, ids=lambda row: row.name)
def test_a_process_group_is_where_torch_takes_it(row):
    pytest.importorskip("torch")
    module, _, own = row.name.rpartition(".")
    home = "torch.distributed.distributed_c10d" if module == "torch.distributed" else module
    parameters = list(inspect.signature(getattr(importlib.import_module(home), own)).parameters)
    assert [parameters[position] for position, _ in row.groups] == [name for _, name in row.groups]


def test_a_process_group_may_be_given_by_its_position_or_its_name():
    row = library.function("torch.distributed.nn.functional.all_gather")
    assert isinstance(row, Collective)
    assert groups_of(row, Arguments([NOTHING, SAME])) == [SAME]
    assert groups_of(row, Arguments([NOTHING], {"group": SAME})) == [SAME]
    assert groups_of(row, Arguments([NOTHING])) == []


def test_what_ranks_do_together_in_a_collective_is_its_result():
    assert [row.name for row in library.ROWS if isinstance(row, Collective) and row.synchronises is not None] == []


def test_a_row_that_says_nothing_of_a_result_says_something_else():
    bare = [row for row in library.ROWS if isinstance(row, OpaqueCall)]
    assert bare != []
    assert [row.name for row in bare if row.synchronises is None and row.effect is None] == []


def test_spans_of_one_call_do_the_same_together():
    found: dict[str, set[object]] = {}
    for row in library.ROWS:
        found.setdefault(row.name, set()).add(row.synchronises)
    assert [name for name, each in found.items() if len(each) > 1] == []


def test_a_side_effect_is_one_of_the_releases_that_have_the_call():
    name = "trl.trainer.utils.print_rich_table"
    assert isinstance(library.function(name, {"trl": "1.12.0"}), OpaqueCall)
    assert library.function(name, {"trl": "1.13.0"}) is None


@pytest.mark.parametrize(("release", "is_known"), [("0.11.4", True), ("1.16.0", True), ("0.4.0", False)])
def test_a_method_that_a_later_release_has_removed_is_known_to_code_that_calls_it(release, is_known):
    """A project that allows any later release may still call it."""
    found = library.method("trl.DPOTrainer", "get_batch_logps", {"trl": release})
    assert (found is not None) is is_known


def test_an_object_of_an_unknown_class_has_no_release_to_ask_for():
    assert library.method("", "__enter__", Releases({})) is None
