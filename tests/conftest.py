"""No test leaves results behind, or is handed those of another: those of the cache say so themselves."""

import os

os.environ["TRL_LINT_NO_CACHE"] = "1"
