"""How the benchmark of growth evaluates its measurements, and the programs that it measures."""

from __future__ import annotations

import ast
import math

import pytest

from bench import growth
from bench.growth import DOUBLED, FAMILIES, exponent, texts_of


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_is_that_of_a_power_law(power):
    sizes = [4, 8, 16, 32]
    assert exponent(sizes, [size**power for size in sizes]) == pytest.approx(power)


def test_what_is_too_fast_to_measure_says_nothing():
    assert math.isnan(exponent([1, 2, 4, 8], [0.01, 0.02, 1, 2]))


@pytest.mark.parametrize(("power", "code"), [(1.0, 0), (1.2, 0), (1.5, 1)])
def test_the_limit(monkeypatch, capsys, power, code):
    monkeypatch.setattr(growth, "seconds", lambda text: (len(text.splitlines()) / 10) ** power)
    assert growth.main(["--only=statements"]) == code
    assert "statements" in capsys.readouterr().out


@pytest.mark.parametrize("name", FAMILIES)
def test_programs_are_python_and_grow(name):
    program, first = FAMILIES[name]
    programs = [texts_of(program(first << step)) for step in range(DOUBLED)]
    code = [[text for name, text in texts.items() if name.endswith(".py")] for texts in programs]
    sizes = [sum(1 for text in texts for _ in ast.walk(ast.parse(text))) for texts in code]
    assert sizes == sorted(set(sizes))
