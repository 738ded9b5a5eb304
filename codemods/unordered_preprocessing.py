"""Let one rank compute a data set first: `with PartialState().main_process_first(): dataset = dataset.map(…)`."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class UnorderedPreprocessingCommand(FindingCommand):
    DESCRIPTION = "Let the main process compute and cache a data set before the others read it (TRL012)."
    CODE = "TRL012"
