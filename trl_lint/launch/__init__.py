"""Launch commands, wherever they are written: found, judged and rewritten. Nothing here knows of rules or of torch.

A front end per kind of file (`readers.py` picks it) finds `Command`s. `bare.py` says which of them start a script
with a bare interpreter, `gpus.py` what the launch says of the number of GPUs, `rewrite.py` how it is mended.
"""
