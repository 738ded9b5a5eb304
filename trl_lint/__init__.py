"""trl-lint: find, rewrite and prove the bugs that only show up on more than one GPU.

`check` is the Python interface; its argument and result types are here, too. They are loaded on first use: importing
`trl_lint` alone imports nothing, not even `typing`.
"""

TYPE_CHECKING = False  # as type checkers read it
if TYPE_CHECKING:
    from trl_lint.api import LintError, check
    from trl_lint.findings import Applicability, Consequence, Finding
    from trl_lint.settings import ConfigError, Settings

__version__ = "0.1.0"
__all__ = ["Applicability", "ConfigError", "Consequence", "Finding", "LintError", "Settings", "__version__", "check"]

_HOMES = {
    "Applicability": "trl_lint.findings",
    "ConfigError": "trl_lint.settings",
    "Consequence": "trl_lint.findings",
    "Finding": "trl_lint.findings",
    "LintError": "trl_lint.api",
    "Settings": "trl_lint.settings",
    "check": "trl_lint.api",
}

if not TYPE_CHECKING:  # type checkers must report unknown names

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)

    def __dir__():
        return sorted({*globals(), *_HOMES})
