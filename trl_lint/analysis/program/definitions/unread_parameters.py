"""What the text of a model's class shows: which parameters its forward never reads, so that they change no output.

For example:

    def forward(self, states, router_input=None):         `router_input`
        return self.weights(torch.ones(1)) * states
    def forward(self, states, **options):                 none: any may be among the options
    def forward(self, states): raise NotImplementedError  none: another class has one that returns something
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import of_class, positional_parameters

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo

# What hands on all names of a function.
_READS_ALL = frozenset({"eval", "exec", "locals", "vars"})


@noted_in_file
def unread_parameters(cls: ClassInfo) -> frozenset[int | str]:
    """The places, without `self`, and the names of the parameters that a model's forward never reads."""
    forward = cls.find("forward")
    if forward is None or not isinstance(forward.node, cst.FunctionDef) or forward.decorators or cls.find("__call__"):
        return frozenset()
    code, given = forward.node.body, forward.node.params
    read = {each.value for each in of_class(code, cst.Name)}
    returns = any(each.value is not None for each in of_class(code, cst.Return))
    if not returns or not read.isdisjoint(_READS_ALL) or isinstance(given.star_arg, cst.Param) or given.star_kwarg:
        return frozenset()
    places = positional_parameters(given)[1:]
    names = {*places, *(each.name.value for each in given.kwonly_params)} - read
    return frozenset({*names, *(place for place, name in enumerate(places) if name in names)})
