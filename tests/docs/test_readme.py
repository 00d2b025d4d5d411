"""The README: three screens before what is folded, and nothing in it that is not so.

Its boards are held by ``tests/test_leaderboards.py``, its pictures by ``tests/test_site.py``.
"""

import math
import re
import textwrap
import tomllib
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
FIRST, *_ = README.partition("<details>")
SCREEN = 45
"""Lines of 80 columns."""
LINE_PX = 18


def project(folder: Path) -> dict[str, str]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]


def lines(text: str) -> int:
    """Lines that it takes, pictures included, links without their addresses."""
    taken = 0
    for line in text.splitlines():
        if picture := re.search(r"!\[.*?\]\((.+?\.svg)\)", line):
            height = re.search(r' height="([\d.]+)"', (ROOT / picture[1]).read_text("utf-8"))
            taken += math.ceil(float(height[1]) / LINE_PX)
        else:
            taken += max(1, len(textwrap.wrap(re.sub(r"\[(.*?)\]\(.*?\)", r"\1", line), 80)))
    return taken


def test_it_takes_three_screens_and_the_first_has_the_picture():
    assert lines(FIRST) <= 3 * SCREEN
    above, demo, after = FIRST.partition("uqbench demo")
    assert "git clone ADDRESS" in above  # a release has the address
    picture, _, _ = after.partition("\n\nPSRL (0.48) or BQL (0.42) is best")
    assert "drawn-worlds-demo.svg" in picture
    assert lines(above + demo + picture) <= SCREEN


def test_the_agent_is_twenty_lines():
    own = FIRST.partition("```python\n# mine.py\n")[2].partition("```")[0]
    assert sum(bool(line.strip()) for line in own.splitlines()) <= 20


def test_the_rows_beside_the_agents_are_the_stored_boards():
    table = pd.read_csv(ROOT / "leaderboards/deepsea/paper/leaderboard.csv").set_index("method")
    shown = re.findall(r"^ +(\d)  (\S+) \(stored\) +(\S+) \[(.+?), (.+?)\] +(\S.*)$", FIRST, re.M)
    assert len(shown) == 2
    for rank, method, *numbers, word in shown:
        row = table.loc[method]
        assert int(rank) == row["rank_low"]
        assert word.startswith(f"{row['calibration']} {100 * row['coverage_90_mean']:.0f} % [")
        assert numbers == [f"{row[name]:.3f}" for name in ("mean", "mean_low", "mean_high")]


def test_its_first_sixty_lines_have_the_commands_that_set_up_and_the_papers():
    top = "\n".join(README.splitlines()[:60])
    assert "python -m pip install -r requirements.txt && uqbench demo" in top
    assert "python -m pip install tox && tox" in top
    assert len(re.findall(r"^\| `uqbench ", top, re.M)) == 9
    assert len(re.findall(r"\[[^\]]+\]\(https://arxiv\.org", top)) == 4  # the fifth has no address
    assert "Markou & Rasmussen 2019" in top


def test_licences_and_citation_are_those_of_the_packages():
    own, citation = project(ROOT), (ROOT / "CITATION.cff").read_text()
    cited = dict(re.findall(r"^(version|license): (.+)$", citation, re.M))
    assert cited == {"version": own["version"], "license": own["license"]}
    entry = (ROOT / "uqbench" / "papers.bib").read_text().partition("@software{uqbench,")[2]
    fields = dict(re.findall(r"^  (\w+) = \{(.+)\},?$", entry, re.M))
    assert f'title: "{re.sub("[{}]", "", fields["title"])}"' in citation
    assert re.findall(r"- name: (.+)", citation) == [fields["author"].strip("{}")]
    assert fields["version"] == own["version"]
    said = " ".join(README.partition("Licence: ")[2].split())
    assert said.startswith(f"{own['license']}, except the plugins")
    folders = ROOT.glob("plugins/uqbench-*/")
    plugins = {folder.name: project(folder)["license"] for folder in folders}
    others = {name: text for name, text in plugins.items() if text != own["license"]}
    assert dict(re.findall(r"`(uqbench-\w+)` \((\S+?),", said)) == others
