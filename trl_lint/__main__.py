"""`python -m trl_lint` is the `trl-lint` command."""

from trl_lint.cli import main

if __name__ == "__main__":
    main()
