"""Launch commands of all kinds of files: found, judged and rewritten. Nothing here imports rules or torch.

A parser per kind of file (chosen by `parsers/readers.py`) finds `Command`s. `judge/python_invocation.py` decides which
of them start a script with plain Python, `judge/gpus.py` what the launch says about the number of GPUs, and
`rewrite.py` creates the fix.
"""
