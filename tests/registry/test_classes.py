"""Entry points that name a class: the spec follows from it, and nothing is imported before use."""

import importlib
import sys
import tomllib
from pathlib import Path

import commands
import pytest

from uqbench.api.installed import listing
from uqbench.errors import UqbenchError
from uqbench.estimator import Dataset
from uqbench.registry import Host, local, named
from uqbench.registry.classes import spec_of
from uqbench.registry.contents import content_hash, package_of
from uqbench.suites import Selection
from uqbench.testing.templates.render import KINDS, render, write


def install(folder: Path, name: str, kinds: tuple[str, ...]) -> Path:
    """A package as pip leaves it, without pip; returns the folder of its modules."""
    write(folder / name, render(name, kinds))
    project = tomllib.loads((folder / name / "pyproject.toml").read_text())["project"]
    source = folder / name / "src"
    lines = []
    for group, own in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in own.items())]
    commands.install(source, name, "0.1.0", "\n".join(lines))
    return source


class Scored(Dataset):
    """A data set with a score of its own."""

    version, scores = "3", ("error",)


class Further(Scored):
    """Another one with the same score."""


def test_what_a_class_states_is_inherited_but_for_its_version():
    one, other = (spec_of("dataset", "points", kind, "1") for kind in (Scored, Further))
    assert (one.scores, one.version) == (("error",), "3")
    assert (other.scores, other.version) == (("error",), "1")


def forget() -> None:
    """Let files be read and imported once more, as another process would."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_lab"]:
        del sys.modules[name]
    for cached in (content_hash, package_of):
        cached.cache_clear()
    importlib.invalidate_caches()


@pytest.fixture
def lab(tmp_path, monkeypatch):
    source = install(tmp_path, "my-lab", tuple(k for k in KINDS if k != "figure"))
    monkeypatch.syspath_prepend(str(source))
    monkeypatch.setenv("UQBENCH_PLUGINS", "my-lab,uqbench-uadqn,uqbench-dqn")
    monkeypatch.setenv(local.VARIABLE, "[]")
    forget()
    yield source
    forget()


def test_a_package_has_what_its_entry_points_name_without_being_imported(lab):
    host = Host.load()
    assert not host.failures
    assert {"my-lab", "my-lab-loop"} <= {*host.agents}
    assert {"my-lab-walk", "my-lab-lanes"} <= {*host.environments}
    assert host.agents.origin("my-lab").distribution == "my-lab"
    assert "my_lab" not in sys.modules
    assert host.environments["my-lab-walk"].events == ("bumps",)
    assert host.datasets["my-lab-line"].scores == ("squared_error",)
    assert [host.agents[name].loop for name in ("my-lab-loop", "my-lab")] == [True, False]
    assert host.agents["my-lab"].load_config().__name__ == "BayesianTDConfig"
    assert [host.environments[f"my-lab-{x}"].makes_lanes for x in ("lanes", "walk")] == [
        True,
        False,
    ]


def test_its_version_is_the_digest_of_its_files_unless_it_states_one(lab):
    path = lab / "my_lab" / "agent.py"
    assert len(Host.load().agents["my-lab"].version) == 12
    path.write_text(path.read_text().replace("class BayesianTD(Agent):\n", STATED))
    forget()
    assert Host.load().agents["my-lab"].version == "7"


STATED = 'class BayesianTD(Agent):\n    version = "7"\n\n'


def test_what_cannot_be_imported_is_named_where_it_is_looked_up_and_costs_nothing_else(lab):
    (lab / "my_lab" / "environment.py").write_text("import no_such_library\n")
    (lab / "my_lab" / "risk.py").write_text("class Other:\n    pass\n")
    forget()
    host = Host.load()
    assert not host.failures
    who = "the environment 'my-lab-walk' of my-lab 0.1.0 cannot be imported: ModuleNotFoundError"
    with pytest.raises(UqbenchError, match=who):
        _ = host.environments["my-lab-walk"]
    with pytest.raises(UqbenchError, match="has no attribute 'SoftWorst'"):
        host.risk_names.measure("my-lab-worst")
    assert host.risk_names.text(host.risk_names.measure("cvar")) == "cvar(0.25)"
    assert host.agents["my-lab"].version
    shown = {entry["name"]: entry["summary"] for entry in listing("environments")["environments"]}
    assert "No module named 'no_such_library'" in shown["my-lab-walk"]
    assert shown["my-lab-lanes"]


def test_a_file_and_its_package_never_clash_and_an_installed_agent_joins_a_suite_by_name(
    lab, tmp_path
):
    mine = tmp_path / "mine.py"
    text = (lab / "my_lab" / "agent.py").read_text()
    mine.write_text(text.replace("class BayesianTD(", "class MyLab(").replace("0.2", "0.3"))
    assert named.add(f"{mine}:MyLab", ["my-lab"]) == ("my-lab", "agent")
    host = Host.load()
    assert [c for plugin in host.plugins for c in host.complaints(plugin)] == []
    said = []
    plan = Selection("my-lab", "smoke", ("my-lab",)).plan(host, "cpu", said.append)
    assert said == []
    identity = plan.runs[0].identity["method"]
    assert identity["agent"] == "local-my-lab:my-lab"
    assert "+local." in identity["version"]
    assert identity["config"]["epsilon"] == 0.3
    assert host.agents["my-lab:my-lab"].version == Host.load().agents["my-lab:my-lab"].version
    assert named.add("my-lab:my-lab", ["windy-cliff"], epsilon=0.4) == ("my-lab", "agent")
    plan = Selection("windy-cliff", "smoke", ("my-lab",)).plan(Host.load(), "cpu")
    joined = plan.runs[0].identity["method"]
    assert (joined["agent"], joined["config"]["epsilon"]) == ("my-lab:my-lab", 0.4)
    assert "+local" not in joined["version"]


def test_beside_an_agent_a_package_has_at_most_fifteen_lines(tmp_path):
    made = render("my-lab", ("agent",))
    project = made["pyproject.toml"]
    others = ("description", "requires-python", "[tool", "packages")
    needed = [line for line in project.splitlines() if line and not line.startswith(others)]
    assert len(needed) + len(made["src/my_lab/__init__.py"].splitlines()) <= 15


def test_a_suite_file_is_found_without_importing_its_package(tmp_path, monkeypatch):
    source = install(tmp_path, "my-lab", ("agent",))
    (source / "my_lab" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    forget()
    monkeypatch.syspath_prepend(str(source))
    monkeypatch.setenv("UQBENCH_PLUGINS", "my-lab,builtin")
    host = Host.load()
    assert not host.failures
    assert [path.name for path, plugin in host.suite_files if plugin.distribution == "my-lab"]
    assert "my_lab" not in sys.modules
