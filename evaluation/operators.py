"""The operators of the mutation benchmark: how right code is broken, one place at a time, as data.

An operator names the rule that must report the break, finds its sites, and says for each what the place becomes and in
which statements a finding is due. Sites where the mutant would not be wrong are left out, according to the provable
flow of `flow.py` and the table `EXCLUSIONS` (with reasons).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import libcst as cst
import libcst.matchers as m

from evaluation import operators_shapes
from evaluation.flow import (
    PURE_MODULES,
    Flow,
    collectives,
    is_global,
    reached,
    same_key,
    simple_statements,
    touched,
)
from evaluation.neutral import Place
from evaluation.source import Source, descendants, dotted
from trl_lint.analysis.program.syntax import children

REDUCTIONS = {"sum", "mean", "max", "min", "nansum", "nanmean", "std", "var"}
# Attributes that a wrapper forwards or has itself: reading them from the wrapped model is right.
MODULE_API = frozenset(
    """
    module forward train eval training parameters named_parameters buffers named_buffers children modules
    named_children named_modules state_dict load_state_dict to cuda cpu float half bfloat16 double type apply
    zero_grad requires_grad_ register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_buffer register_parameter register_module get_parameter get_buffer get_submodule add_module
    share_memory compile no_sync join require_backward_grad_sync __class__
    """.split()  # noqa: SIM905
)
# Hooks of Trainer that receive the wrapped model as `model`.
HOOKS = {"training_step", "compute_loss", "prediction_step"}
# Those of them whose gradients are needed.
TRAINED = ("training_step", "compute_loss")
GENERATE = "generate"
# Contexts in which nothing is trained.
WITHOUT_GRADIENTS = r"no_grad|inference_mode|null_ref_context|disable_adapter"
# Values of the configuration that trainers cache in __init__, and their sources.
CACHED = {
    "self.is_encoder_decoder": "{}.config.is_encoder_decoder",
    "self.aux_loss_enabled": "{}.config.output_router_logits",
    "self.aux_loss_coef": "{}.config.router_aux_loss_coef",
}


@dataclass(frozen=True)
class Site:
    """One place that can be broken.

    `due` are the statements in which a finding must start; empty means at the place itself. `fair` returns the
    statements that carry the broken value, where further findings of the rule are legitimate.
    """

    place: Place
    due: tuple[cst.CSTNode, ...] = ()
    fair: Callable[[], list[cst.CSTNode]] = field(default=list, compare=False)


@dataclass(frozen=True)
class Operator:
    """A way to break right code, and the rule that must report it."""

    name: str
    rule: str
    sites: Callable[[Source], Iterator[Site]]
    # Whether the finding moves with the expression when a neutral step moves it.
    follows: bool = True
    # A file that contains none of these has no site.
    needles: tuple[str, ...] = field(default=("gather", ".reduce("))
    # How many places of a file are tried, if it has that many: more than one if few files have any.
    per_file: int = 1
    # The required share of found mutants, and the required share of those in the default set.
    recall: float = 0.6
    by_default: float = 1.0


@dataclass(frozen=True)
class Exclusion:
    """Sites that would not be wrong, for a reason that their function alone does not show (patterns)."""

    operator: str
    file: str
    symbol: str
    code: str
    reason: str

    def holds(self, operator: str, file: str, symbol: str, code: str) -> bool:
        patterns = ((self.operator, operator), (self.file, file), (self.symbol, symbol), (self.code, code))
        return all(re.search(pattern, text) for pattern, text in patterns)


EXCLUSIONS = (
    Exclusion(
        "drop the collective",
        "bco_trainer.py$",
        "get_batch_loss_metrics$",
        r"gather_for_metrics\(delta\)",
        "delta is the mean of RunningMoments, which reduces it over all ranks when it updates",
    ),
    Exclusion(
        "drop the collective",
        "sdpo_trainer.py$",
        "_record_reward_diagnostics$",
        "reward|flat_group_fraction",
        "the rewards were gathered by _calculate_rewards before they are handed over",
    ),
)


def value_of(call: cst.Call) -> cst.BaseExpression:
    """The argument of a collective."""
    return call.args[0].value


def chain(source: Source, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and the attributes and calls made on it: `x`, `x.mean`, `x.mean()`, …"""
    yield node
    while True:
        parent = source.parents[node]
        on_it = (isinstance(parent, cst.Attribute) and parent.value is node) or (
            isinstance(parent, cst.Call) and parent.func is node
        )
        if not on_it:
            return
        node = parent
        yield node


def place_of(source: Source, target: cst.CSTNode, value: cst.CSTNode, whole: cst.CSTNode) -> Place:
    """A place whose `target` becomes `value`; the alias step binds the receiver of the value, or all of it."""
    code = source.code(value)
    if not isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)):
        return Place(target, "{}" if target is value else "({})", code, whole)
    receiver = receiver_of(value)
    if receiver is None:
        return Place(target, "{}", code, whole)
    subject = source.code(receiver)
    return Place(target, "{}" + code[len(subject) :], subject, whole)


def receiver_of(value: cst.CSTNode) -> cst.CSTNode | None:
    """The `x` of `x.detach().mean()`; None if the value has another form."""
    node = value
    while isinstance(node, cst.Call):
        if not isinstance(node.func, cst.Attribute):
            return None
        node = node.func.value
    name = dotted(node)
    if node.lpar or name in PURE_MODULES or name == "self":
        return None
    return node


def drop_collective(source: Source) -> Iterator[Site]:
    """`gather(x).mean()` becomes `x.mean()` if the value surely reaches a log."""
    for call in collectives(source):
        due, names = reached(source, call)
        if due and not is_global(source, value_of(call)):
            *_, whole = chain(source, call)
            fair = partial(carriers, source, call, names, set(), due)
            yield Site(place_of(source, call, value_of(call), whole), tuple(due), fair)


def carriers(
    source: Source, call: cst.Call, names: set[str], functions: set[str], due: Sequence[cst.CSTNode]
) -> list[cst.CSTNode]:
    """The statements that may carry the broken value, or read it back from the store."""
    return [*touched(source, call, names, functions), *same_key(source, due)]


def average_means(source: Source) -> Iterator[Site]:
    """`reduce(stack([x_sum, count]), "sum")` becomes a stack of the average of the ranks' `x_sum / count`, and 1."""
    for call in source.all(cst.Call):
        parts = added_up(call)
        if parts is None:
            continue
        total, count = map(source.code, parts)
        average = f'{source.code(call.func)}({{}} / ({count}), reduction="mean")'
        subject = total if isinstance(parts[0], (cst.Name, cst.Call)) else f"({total})"
        yield Site(Place(call, f"torch.stack([{average}, torch.ones_like({{}})])", subject, call))


def added_up(call: cst.Call) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The sum and the count that a call sums over the ranks together."""
    name = dotted(call.func) or ""
    if not (name.endswith(".reduce") and call.args and isinstance(call.args[0].value, cst.Call)):
        return None
    how = call.args[1].value if len(call.args) > 1 else cst.SimpleString('"sum"')
    stack = call.args[0].value
    if dotted(stack.func) != "torch.stack" or not m.matches(how, m.SimpleString()) or how.raw_value != "sum":
        return None
    items = getattr(stack.args[0].value, "elements", ())
    return tuple(item.value for item in items) if len(items) == 2 else None


def item_inside(source: Source) -> Iterator[Site]:
    """`gather(x.sum())` becomes `gather(x.sum().item())`: the collective receives a number."""
    for call in collectives(source):
        value = value_of(call)
        if reduction(value):
            tail = ".item()"
        elif outer := reduced_outside(source, call):
            tail = f".{outer}().item()"
        else:
            continue
        inner = place_of(source, value, value, value)
        yield Site(Place(value, f"{wrapped(inner, value)}{tail}", inner.subject, value))


def wrapped(inner: Place, value: cst.CSTNode) -> str:
    simple = isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or bool(value.lpar)
    return inner.template if simple else f"({inner.template})"


def reduction(node: cst.CSTNode) -> bool:
    """Whether the expression is `….sum()` or another reduction over all elements."""
    return m.matches(node, m.Call(func=m.Attribute(attr=m.MatchIfTrue(lambda a: a.value in REDUCTIONS)), args=[]))


def reduced_outside(source: Source, call: cst.Call) -> str | None:
    """The reduction in `gather(x).mean().item()`, which shows that x is a tensor and one number is wanted."""
    names = [node.attr.value for node in chain(source, call) if isinstance(node, cst.Attribute)]
    calls = [node for node in chain(source, call) if isinstance(node, cst.Call)][1:]
    plain = all(not node.args for node in calls)
    found = [name for name in names if name in REDUCTIONS]
    return found[0] if plain and found and names[-1] == "item" else None


def helper_returns_local(source: Source) -> Iterator[Site]:
    """A helper that gathers for its callers returns its local value; the callers' logs must be found."""
    for call in collectives(source):
        helper = source.enclosing(call, cst.FunctionDef)
        if helper is None or helper.name.value in HOOKS or not returned(source, helper, call):
            continue
        if is_global(source, value_of(call)):
            continue
        due = tuple(callers(source, helper))
        if due:
            *_, whole = chain(source, call)
            fair = partial(carriers, source, call, set(), {helper.name.value}, due)
            yield Site(place_of(source, call, value_of(call), whole), due, fair)


def returned(source: Source, helper: cst.FunctionDef, call: cst.Call) -> bool:
    """Whether the value of the collective surely is (part of) what the function returns."""
    names: set[str] = set()
    flow = Flow(source, lambda node: node is call or dotted(node) in names)
    for statement in simple_statements(helper):
        for node in statement.body:
            if isinstance(node, cst.Return) and node.value is not None and flow.reaches(node.value):
                return True
        for node in statement.body:
            if isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Name):
                name = node.targets[0].target.value
                (names.add if flow.reaches(node.value) else names.discard)(name)
    return False


def callers(source: Source, helper: cst.FunctionDef) -> Iterator[cst.CSTNode]:
    """The statements that log what the helper returns, called with local arguments."""
    name = helper.name.value
    method = isinstance(source.enclosing(helper, cst.FunctionDef, cst.ClassDef), cst.ClassDef)
    wanted = f"self.{name}" if method else name
    seen: set[int] = set()
    for call in source.all(cst.Call):
        if dotted(call.func) != wanted or any(is_global(source, argument.value) for argument in call.args):
            continue
        for statement in reached(source, call)[0]:
            if id(statement) not in seen:
                seen.add(id(statement))
                yield statement


def wrapped_read(source: Source) -> Iterator[Site]:
    """A cached or unwrapped read in a hook becomes one from the wrapped model."""
    for method in wrapped_methods(source):
        yield from _cached_reads(method)
        yield from _bare_reads(method)
        yield from _unwrapped_reads(method, "model")
    for name, scope in prepared(source):
        yield from _unwrapped_reads(scope, name)


def wrapped_methods(source: Source) -> list[cst.FunctionDef]:
    """The methods of Trainer subclasses that receive the wrapped model as `model` and never rebind it."""
    found = []
    for owner in source.all(cst.ClassDef):
        if any((dotted(base.value) or "").endswith("Trainer") for base in owner.bases):
            found += _wrapped_in(owner)
    return found


def _wrapped_in(owner: cst.ClassDef) -> list[cst.FunctionDef]:
    methods = {node.name.value: node for node in owner.body.body if isinstance(node, cst.FunctionDef)}
    known = [name for name in methods if name in HOOKS and _keeps_model(methods[name])]
    for name in known:
        known += [other for other in _handed_model(methods, methods[name]) if other not in known]
    return [methods[name] for name in known]


def _keeps_model(method: cst.FunctionDef) -> bool:
    """Whether the method has a parameter `model` and never rebinds it."""
    if "model" not in [parameter.name.value for parameter in method.params.params]:
        return False
    stores = m.findall(method, m.AssignTarget() | m.AsName() | m.NamedExpr())
    return not any(m.findall(store, m.Name("model")) for store in stores if _stores_model(store))


def _stores_model(store: cst.CSTNode) -> bool:
    target = store.name if isinstance(store, cst.AsName) else store.target
    elements = target.elements if isinstance(target, cst.Tuple) else ()
    names = [target, *(element.value for element in elements)]
    return any(isinstance(name, cst.Name) and name.value == "model" for name in names)


def _handed_model(
    methods: dict[str, cst.FunctionDef],
    method: cst.FunctionDef,
    counts: Callable[[cst.Call], bool] = lambda call: True,
) -> Iterator[str]:
    """The methods that this one calls as `self.x(model, …)`, if that parameter is `model` too."""
    for call in m.findall(method, m.Call(func=m.Attribute(value=m.Name("self")))):
        name = call.func.attr.value
        if name in methods and _keeps_model(methods[name]) and counts(call):
            position = [p.name.value for p in methods[name].params.params].index("model") - 1
            given = [argument for argument in call.args if argument.keyword is None]
            if position < len(given) and m.matches(given[position].value, m.Name("model")):
                yield name


def _cached_reads(method: cst.FunctionDef) -> Iterator[Site]:
    for node in _own(method):
        if isinstance(node, cst.Attribute) and dotted(node) in CACHED:
            yield _read_site(node, CACHED[dotted(node)], "model")


def _bare_reads(method: cst.FunctionDef) -> Iterator[Site]:
    for node in _own(method):
        if isinstance(node, cst.Attribute) and dotted(node.value) == "self.model" and _custom(node):
            yield _read_site(node, "{}." + node.attr.value, "model")


def _unwrapped_reads(scope: cst.CSTNode, model: str) -> Iterator[Site]:
    """`accelerator.unwrap_model(model).x`, and `x` of a name that was bound to an unwrapped model."""
    names = dict(_unwrapped_names(scope, model))
    for node in _own(scope):
        if not (isinstance(node, cst.Attribute) and _custom(node)):
            continue
        if _unwraps(node.value, model) or names.get(dotted(node.value)) == 1:
            yield _read_site(node, "{}." + node.attr.value, model)


def _unwrapped_names(scope: cst.CSTNode, model: str) -> Iterator[tuple[str, int]]:
    """Names bound to the unwrapped model, and how often each name is bound in the function."""
    bound = [
        (node.targets[0].target, node.value)
        for node in _own(scope)
        if isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Name)
    ]
    bound += [
        (node.asname.name, node.item)
        for node in _own(scope)
        if isinstance(node, cst.WithItem) and node.asname is not None and isinstance(node.asname.name, cst.Name)
    ]
    for target, value in bound:
        if _unwraps(value, model):
            yield target.value, sum(other.value == target.value for other, _ in bound)


def _unwraps(node: cst.CSTNode, model: str) -> bool:
    if not (isinstance(node, cst.Call) and node.args and m.matches(node.args[0].value, m.Name(model))):
        return False
    name = dotted(node.func) or ""
    return name.endswith(("accelerator.unwrap_model", "unwrap_model_for_generation"))


def _custom(node: cst.Attribute) -> bool:
    """Whether a wrapper lacks the attribute, and no other rule covers it."""
    return node.attr.value not in MODULE_API and node.attr.value != GENERATE


def wrapped_generate(source: Source) -> Iterator[Site]:
    """`generate` is called on the wrapped model instead of the unwrapped one."""
    for method in wrapped_methods(source):
        names = dict(_unwrapped_names(method, "model"))
        for node in _own(method):
            if not (isinstance(node, cst.Attribute) and node.attr.value == GENERATE):
                continue
            if _unwraps(node.value, "model") or names.get(dotted(node.value)) == 1:
                yield _read_site(node, "{}." + GENERATE, "model")


def bare_for_generation(source: Source) -> Iterator[Site]:
    """`unwrap_model_for_generation(self.model_wrapped, …)` is given `self.model`."""
    for call in source.all(cst.Call):
        if (dotted(call.func) or "").endswith("unwrap_model_for_generation") and call.args:
            given = call.args[0].value
            if dotted(given) == "self.model_wrapped":
                yield Site(Place(given, "{}", "self.model", given))


def unwrapped_forward(source: Source) -> Iterator[Site]:
    """A training forward of the wrapped model becomes one of the module inside it."""
    for method in _trained_methods(source):
        yield from _forwards(source, method, "model", method)
    for name, scope in prepared(source):
        for loop in m.findall(scope, m.For()):
            if m.findall(loop, m.Call(func=m.Attribute(attr=m.Name("backward")))):
                yield from _forwards(source, scope, name, loop)


def _trained_methods(source: Source) -> list[cst.FunctionDef]:
    """The methods of Trainer subclasses that a training step calls with the wrapped model, with gradients on."""
    found = []
    for owner in source.all(cst.ClassDef):
        if any((dotted(base.value) or "").endswith("Trainer") for base in owner.bases):
            methods = {node.name.value: node for node in owner.body.body if isinstance(node, cst.FunctionDef)}
            known = [name for name in TRAINED if name in methods and _keeps_model(methods[name])]
            for name in known:
                handed = _handed_model(methods, methods[name], lambda call: _has_gradients(source, call))
                known += [other for other in handed if other not in known]
            found += [methods[name] for name in known]
    return found


def _forwards(source: Source, scope: cst.FunctionDef, model: str, inside: cst.CSTNode) -> Iterator[Site]:
    """The calls of a model with gradients on, in a part of a function, whose results are kept."""
    for node in _own(inside):
        is_call = isinstance(node, cst.Call) and m.matches(node.func, m.Name(model))
        if is_call and not isinstance(source.parents[node], cst.Expr) and _has_gradients(source, node):
            yield Site(Place(node.func, "{}.module", model, node.func))


def _has_gradients(source: Source, node: cst.CSTNode) -> bool:
    """Whether nothing around a node turns gradients off."""
    for parent in source.ancestors(node):
        head = [item.item for item in parent.items] if isinstance(parent, cst.With) else []
        head += [each.decorator for each in parent.decorators] if isinstance(parent, cst.FunctionDef) else []
        if any(re.search(WITHOUT_GRADIENTS, source.code(each)) for each in head):
            return False
    return True


def _own(scope: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes of a function, without those of nested functions."""
    for child in children(scope):
        yield child
        if not isinstance(child, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            yield from _own(child)


def _read_site(node: cst.Attribute, template: str, model: str) -> Site:
    return Site(Place(node, template, model, node))


def guarded(source: Source, node: cst.CSTNode, model: str) -> bool:
    """Whether a test around the place checks what kind of model the wrapped one is."""
    for parent in source.ancestors(node):
        test = getattr(parent, "test", None)
        if test is not None and any(
            dotted(call.func) in {"hasattr", "isinstance", "is_peft_model"}
            and m.matches(call.args[0].value, m.Name(model))
            for call in m.findall(test, m.Call(args=[m.AtLeastN(n=1)]))
        ):
            return True
    return False


def prepared(source: Source) -> Iterator[tuple[str, cst.FunctionDef]]:
    """The names that a function assigns from `accelerator.prepare`."""
    for scope in source.all(cst.FunctionDef):
        for node in _own(scope):
            if isinstance(node, cst.Assign) and m.findall(node.value, m.Attribute(attr=m.Name("prepare"))):
                names = {n.value for n in descendants(node.targets[0].target) if isinstance(n, cst.Name)}
                if m.matches(node.targets[0].target, m.Name()):
                    names.add(node.targets[0].target.value)
                yield from ((name, scope) for name in sorted(names) if "model" in name)


GUARD = "self.accelerator.is_main_process"


def collective_on_one_rank(source: Source) -> Iterator[Site]:
    """A barrier that only the main process reaches is added to `self.accelerator.gather(x)`; its value stays."""
    for call in collectives(source):
        if not (dotted(call.func) or "").startswith("self.accelerator.") or len(call.args) != 1:
            continue
        barrier = f"{GUARD} and self.accelerator.wait_for_everyone()"
        yield Site(Place(call, f"({source.code(call)}, {barrier.replace('self', '{}')})[0]", "self", call))


def drop_guard(source: Source) -> Iterator[Site]:
    """`if self.accelerator.is_main_process and …:` becomes `if self.accelerator.sync_gradients and …:`."""
    for branch in source.all(cst.If):
        due = [line for line in m.findall(branch.body, m.SimpleStatementLine()) if _writes_for_all(source, line)]
        for test in m.findall(branch.test, m.Attribute(attr=m.Name("is_main_process"))):
            if due and source.code(test) == GUARD and not _is_guarded_again(source, branch):
                yield Site(Place(test, "{}.accelerator.sync_gradients", "self", test), (due[0],))


def _writes_for_all(source: Source, line: cst.CSTNode) -> bool:
    return source.code(line).startswith("wandb.log(")


def _is_guarded_again(source: Source, branch: cst.If) -> bool:
    """Whether there is another condition on the rank around it, or in it."""
    around = [node for node in source.ancestors(branch) if isinstance(node, cst.If)]
    inner = m.findall(branch.body, m.Attribute(attr=m.Name("is_main_process")))
    return bool(inner) or any("process" in source.code(node.test) for node in around)


def reduced_late(source: Source) -> Iterator[Site]:
    """`gather(mask.sum())` becomes `gather(mask)`."""
    yield from (Site(place) for place in operators_shapes.reduced_late(source))


def unpadded(source: Source) -> Iterator[Site]:
    """`gather(pad_across_processes(x, dim=1))` becomes `gather(x)`."""
    yield from (Site(place, due) for place, due in operators_shapes.unpadded(source))


def cut(source: Source) -> Iterator[Site]:
    """`gather(loss.mean())` becomes `gather_for_metrics(loss.mean())` in a step of the training."""
    yield from (Site(place) for place in operators_shapes.cut(source))


OPERATORS = (
    Operator("drop the collective", "TRL003", drop_collective),
    Operator("item inside the gather", "TRL001", item_inside, follows=False),
    Operator("read from the wrapped model", "TRL002", wrapped_read, needles=("Trainer)", "unwrap_model")),
    # Half of its places return the results of reward functions whose source is unavailable.
    Operator("helper returns local", "TRL003", helper_returns_local, recall=0.4),
    Operator("collective on one rank", "TRL006", collective_on_one_rank),
    # All of its places first check whether the process has its own run (`wandb.run is not None`), which Trainer creates
    # only on the first process: their mutants are found only if the rule is selected.
    Operator("drop the main-process guard", "TRL008", drop_guard, needles=("wandb.log(",), by_default=0.0),
    Operator("reduce after the gather", "TRL005", reduced_late, follows=False),
    Operator("drop the padding", "TRL005", unpadded, needles=("pad_across_processes",), per_file=3),
    Operator("gather for metrics", "TRL014", cut, per_file=3),
    Operator("average means", "TRL007", average_means, needles=("torch.stack(",), per_file=3),
    Operator(
        "forward through the module", "TRL009", unwrapped_forward, needles=("Trainer)", ".prepare("), by_default=0.95
    ),
    Operator("generate on the wrapped model", "TRL010", wrapped_generate, needles=("generate",)),
    Operator("bare model for generation", "TRL010", bare_for_generation, needles=("unwrap_model_for_generation",)),
)


def sites_of(operator: Operator, source: Source, file: str) -> tuple[list[Site], int]:
    """The sites of an operator in a file, and how many were left out by the table of exclusions."""
    if not any(needle in source.text for needle in operator.needles):
        return [], 0
    found = [site for site in operator.sites(source) if operator.rule != "TRL002" or _unguarded(source, site)]
    found.sort(key=lambda site: source.span(site.place.target))
    kept = [site for site in found if excluded(operator, source, file, site) is None]
    return kept, len(found) - len(kept)


def _unguarded(source: Source, site: Site) -> bool:
    return not guarded(source, site.place.target, site.place.subject)


def excluded(operator: Operator, source: Source, file: str, site: Site) -> Exclusion | None:
    """The row that says why this site would not be wrong."""
    target = site.place.target
    arguments = (operator.name, file, source.symbol(target), source.code(target))
    return next((row for row in EXCLUSIONS if row.holds(*arguments)), None)
