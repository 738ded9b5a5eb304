"""The command `trl-lint server`."""

from __future__ import annotations

from importlib.util import find_spec

import click

from trl_lint.frontends.terminal import fail


@click.command(short_help="Run the language server, for editors.")
@click.option("--stdio", is_flag=True, help="Use standard input and output; always on.")
def server(stdio: bool) -> None:
    """Run the language server: diagnostics while typing, quick fixes, and facts about names on hover.

    An editor starts it and communicates over standard input and output. It needs `pip install 'trl-lint[lsp]'`.
    """
    if find_spec("pygls") is None:
        fail("the language server needs `pip install 'trl-lint[lsp]'`")
    from trl_lint.frontends.server.app import TrlLintServer

    TrlLintServer().start_io()
