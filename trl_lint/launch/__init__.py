"""Launch commands, wherever they are written: found, judged and rewritten. Nothing here knows of rules or of torch.

A parser per kind of file (`parsers/readers.py` picks it) finds `Command`s. `judge/python_invocation.py` says which of
them start a script with a bare interpreter, `judge/gpus.py` what the launch says of the number of GPUs, `rewrite.py`
how it is mended.
"""
