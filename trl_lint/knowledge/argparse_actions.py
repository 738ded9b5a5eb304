"""What options of argparse are until a command gives them.

Source: https://docs.python.org/3/library/argparse.html#action
"""

from __future__ import annotations

# The value of an option without a default, by its action.
UNSET_BY_ACTION: dict[str, object] = {
    "store": None,
    "store_true": False,
    "store_false": True,
    "append": None,
    "count": None,
}
