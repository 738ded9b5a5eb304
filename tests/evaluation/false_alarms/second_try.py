# The error of the process that comes second is expected, unless it is raised again or more is left out because of it.
import argparse
import errno
import os
import shutil
from contextlib import suppress

from accelerate import Accelerator
from mine import loader, model

parser = argparse.ArgumentParser()
args = parser.parse_args()
accelerator = Accelerator()
model, loader = accelerator.prepare(model, loader)
with suppress(FileExistsError):
    os.makedirs(args.output_dir)
try:
    os.mkdir(args.samples)
except OSError as error:
    if error.errno != errno.EEXIST:
        raise
with suppress(FileNotFoundError):
    os.remove(args.log)
try:
    shutil.rmtree(args.cache)
except (ValueError, FileNotFoundError):
    print("nothing there")
try:
    os.remove(args.last)
except Exception as error:
    print(error)
try:
    os.mkdir(args.tables)  # expect: TRL008
    print("made")
except Exception as error:
    print(error)
with suppress(KeyError):
    os.remove(args.first)  # expect: TRL008
try:
    print(args)
finally:
    os.remove(args.rest)  # expect: TRL008
for batch in loader:
    accelerator.backward(model(**batch).loss)
try:
    os.makedirs(args.plots)  # expect: TRL008
except FileExistsError as error:
    raise ValueError("choose another folder") from error
