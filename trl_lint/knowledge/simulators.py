"""Simulators in which a policy plays: `env.step(action)`, as Gym has named them.

Source: gymnasium 1.2, core.py `Env.reset`, `Env.step`; gym 0.21, core.py `Env.seed`. A simulator of a process knows no
other processes, and what it gives depends on its seed and on the actions that it gets.
"""

from __future__ import annotations

# The methods that return what there is to be seen, and what has been won.
PLAYS = frozenset({"reset", "step"})
# Those that give it a seed, the second one in releases of Gym before 0.26.
SEEDS = frozenset({"reset", "seed"})
RESETS, SEED = "reset", "seed"
# Any class of them.
SIMULATOR = "gymnasium.Env"
