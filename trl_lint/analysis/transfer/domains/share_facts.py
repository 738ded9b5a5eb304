"""Which loaders and data sets of libraries give each rank data of its own.

    create_loader(rows, distributed=args.distributed)       a loader with this rank's own batches
    WebDataset(urls, nodesplitter=split_by_node).decode()   the same
    CacheDataset(rows[rank::size])                          a data set with this rank's own rows
    rows.shard(10, 0)                                       rows that all ranks have
    self.get_eval_dataloader()                              of a Trainer that is told that it is alone: all rows

The tables are in `trl_lint/knowledge/sharing_loaders.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.state.refining import Domain
from trl_lint.analysis.transfer.data import lone_loaders, shared_loaders

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Function as FunctionRow


class ShareDomain(Domain["Frame"]):
    def library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
        return shared_loaders.called(frame, name, args, node)

    def method(
        self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        value = shared_loaders.with_step(receiver, name, value)
        return lone_loaders.of_trainer(frame, receiver, name, node, value)

    def library_function(
        self, frame: Frame, row: FunctionRow, args: Arguments, node: cst.CSTNode, receiver: Value | None, value: Value
    ) -> Value:
        return shared_loaders.divided(row, args, receiver, value)


DOMAIN = ShareDomain()
