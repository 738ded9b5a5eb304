"""What the harness does on a machine with GPUs, where the tests of this repository have none."""
