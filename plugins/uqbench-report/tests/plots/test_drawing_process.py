"""Figures are drawn in a process of their own, whose death is a sentence."""

import subprocess
import sys

DRAWS = """
import altair as alt
import pandas as pd
from uqbench.contract.errors import UqbenchError
from uqbench.contract.figure import Figure
from uqbench_report.plots.render import render

data = pd.DataFrame({"x": [1, 2], "y": [1, 2]})
figure = Figure("it", "It", "Words.", data, alt.Chart(data).mark_line().encode(x="x", y="y"))
for _ in range(2):
    try:
        print(len(render(figure, "svg")) > 500)
    except UqbenchError as error:
        print(error)
"""


def drawn(limit: str) -> str:
    command = f"ulimit -v {limit}; exec {sys.executable} -c '{DRAWS}'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout


def test_a_limit_on_virtual_memory_costs_the_figure_and_not_the_command():
    assert drawn("unlimited") == "True\nTrue\n"
    said = drawn("9437184").splitlines()
    assert len(said) == 2
    assert all("the process that draws ended with" in line for line in said)
