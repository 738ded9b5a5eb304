"""The code that runs inside each rank. It needs nothing but Python 3.10 and what the script itself imports.

The launcher starts this folder as a program (`torchrun … rank/ job.json`) with the interpreter of the user's training
environment, where the rest of trl-lint may not be installed. `__main__.py` loads the folder as a package, so the
modules here import each other relatively and nothing else of trl-lint.

Nothing is imported that the script does not import: the libraries are patched at the moment the script imports them
(`imports.py`).
"""
