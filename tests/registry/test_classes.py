"""Plugins: hooks, entry points and classes; nothing is imported before it is used."""

import importlib
import math
import random
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import commands
import numpy as np
import pytest
import torch

from uqbench import AgentSpec, EnvironmentSpec, Spec, hookimpl
from uqbench.agent import LoopAgent
from uqbench.api.installed import listing
from uqbench.config import as_table, resolve
from uqbench.errors import UqbenchError
from uqbench.estimator import Dataset
from uqbench.registry import Host, Plugin, local, named
from uqbench.registry.classes import spec_of
from uqbench.registry.contents import content_hash, package_of
from uqbench.results.provenance import provenance
from uqbench.risk import CVaR
from uqbench.specs import NoConfig, imported
from uqbench.suites import Selection
from uqbench.testing.templates.render import KINDS, render, write


def install(folder: Path, name: str, kinds: tuple[str, ...]) -> Path:
    """A package as pip leaves it, without pip; returns the folder of its modules."""
    write(folder / name, render(name, kinds))
    project = tomllib.loads((folder / name / "pyproject.toml").read_text())["project"]
    source, lines = folder / name / "src", []
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


def test_a_file_and_its_package_never_clash_and_an_installed_agent_joins_by_name(lab, tmp_path):
    mine, text = tmp_path / "mine.py", (lab / "my_lab" / "agent.py").read_text()
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


class Module:
    """Stands for a plugin's module: an object with hook functions."""

    def __init__(self, **hooks: object) -> None:
        self.__dict__.update(hooks)


def agents(*names: str) -> Module:
    def uqbench_agents() -> list[AgentSpec]:
        return [AgentSpec(name=name, version="1", factory=dict, config=dict) for name in names]

    return Module(uqbench_agents=hookimpl(uqbench_agents))


def register(host: Host, name: str, module: object, distribution: str = "") -> Plugin:
    dist = distribution or f"{name}-dist"
    return host.register(name=name, distribution=dist, version="1.0", load=lambda: module)


@pytest.mark.parametrize(("name", "near"), [("Bad Name!", "bad-name"), ("", "name"), ("-x", "x")])
def test_a_name_that_no_suite_can_write_is_refused_with_the_nearest(name, near):
    host = Host()
    plugin = register(host, "odd", agents("fine", name))
    assert list(host.agents) == []
    assert f"is called {name!r}" in str(plugin.failure)
    assert f"such as {near!r}" in str(plugin.failure)


def test_a_name_that_two_distributions_claim_is_nobodys_and_both_full_forms_work():
    host = Host()
    first = register(host, "first", agents("a"))
    second = register(host, "second", agents("b", "a"))
    assert (host.failures, list(host.agents)) == ([], ["b", "first-dist:a", "second-dist:a"])
    assert "a" not in host.agents
    with pytest.raises(UqbenchError, match="claimed by first-dist") as told:
        host.agents["a"]
    assert "write 'first-dist:a' or 'second-dist:a'" in str(told.value)
    assert host.agents.origin("first-dist:a") == first
    assert host.agents.origin("Second_Dist:a") == second
    assert host.complaints(first) == host.complaints(second) == [str(told.value)]


@pytest.mark.parametrize("order", [("uqbench-x", "aa-y"), ("aa-y", "uqbench-x")])
def test_of_two_claimants_one_of_uqbenchs_own_keeps_the_name(order):
    host = Host()
    for distribution in order:
        register(host, "dqn", agents("dqn"), distribution)
    for name, owner in (("dqn", "uqbench-x"), ("aa-y:dqn", "aa-y"), ("uqbench-x:dqn", "uqbench-x")):
        assert host.agents.origin(name).distribution == owner
    assert list(host.agents) == ["aa-y:dqn", "dqn"]


def test_a_plugin_that_failed_owns_nothing():
    host = Host()

    def load() -> object:
        raise ImportError("broken")

    host.register(name="dqn", distribution="aa-broken", version="1", load=load)
    good = register(host, "dqn", agents("dqn"), "uqbench-dqn")
    assert good.failure is None
    assert host.agents.origin("dqn") == good


def test_versions_of_measures_are_told_but_of_uqbenchs_own_first_ones():
    def versions(version: str) -> dict[str, str]:
        @hookimpl
        def uqbench_risk_measures() -> list[Spec]:
            factory = "uqbench.contract.risk.distortion:CVaR"
            return [Spec(name="tail", version=version, factory=factory, summary="")]

        host = Host.load()
        register(host, "third", Module(uqbench_risk_measures=uqbench_risk_measures))

        @dataclass(frozen=True)
        class Config:
            size: int = 1

        return host.measure_versions(Config(), "tail(0.1) of cvar(0.5)", "expectation")

    assert versions("1") == {"third-dist:tail": "1"}
    assert versions("2") == {"third-dist:tail": "2"}


def test_a_factory_given_as_a_string_is_imported_when_it_is_asked_for():
    held = Spec(name="x", version="1", factory="uqbench.contract.risk:CVaR")
    assert held.load_factory() is CVaR
    assert held.load_config() is CVaR  # a dataclass holds its own values
    with pytest.raises(ModuleNotFoundError):
        Spec(name="x", version="1", factory="nowhere_at_all:X").load_factory()


CHANGES = [
    (lambda: torch.set_default_dtype(torch.float64), "torch's default dtype"),
    (lambda: torch.set_grad_enabled(False), "torch's gradient mode"),
    (torch.seed, "torch's random state"),
    (np.random.seed, "numpy's random state"),
    (random.seed, "Python's random state"),
]


@pytest.mark.parametrize(("change", "name"), CHANGES)
def test_a_plugin_that_changes_a_global_default_is_named_and_arithmetic_is_set_back(change, name):
    host = Host()

    def load():
        change()
        return agents("a")

    plugin = host.register(name="x", distribution="d", version="1", load=load)
    assert plugin.failure is None
    assert plugin.changed == (name,)
    assert f"changed {name}; runs begin as if it had not" in host.complaints(plugin)[0]
    assert (torch.get_default_dtype(), torch.is_grad_enabled()) == (torch.float32, True)


def test_a_config_is_optional():
    spec = AgentSpec(name="plain", version="1", factory=object)
    made = resolve(spec.load_config(), {}, where="x")
    assert isinstance(made, NoConfig)
    assert as_table(made) == {}
    with pytest.raises(UqbenchError, match="x: unknown key 'speed'"):
        resolve(spec.load_config(), {"speed": 1}, where="x")


def test_truths_may_be_strings():
    named = EnvironmentSpec(name="a", version="1", factory=dict, optimal_return="math:sqrt")
    assert imported(named.optimal_return) is math.sqrt
    assert imported(named.optimal_q) is None
    with pytest.raises(TypeError, match="math:pi is not callable"):
        imported("math:pi")


AGENT = """from uqbench import AgentSpec, hookimpl
@hookimpl
def uqbench_agents():
    return [AgentSpec(name='acme-{0}', version='1', factory='acme.{0}:X')]
"""


def test_a_plugin_may_be_in_a_namespace_that_it_shares(tmp_path, monkeypatch):
    """``acme`` has no files: each plugin's package is what is hashed for provenance."""
    for name in ("one", "two"):
        folder = tmp_path / name / "acme" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
        (folder / "plugin.py").write_text(AGENT.format(name))
        points = f"[uqbench]\n{name} = acme.{name}.plugin\n"
        commands.install(tmp_path / name, f"acme-{name}", "1", points)
        monkeypatch.syspath_prepend(str(tmp_path / name))
    monkeypatch.setenv("UQBENCH_PLUGINS", "one,two")
    host = Host.load()
    assert host.failures == []
    found = [p for p in host.plugins if p.name in ("one", "two")]
    assert [p.package for p in found] == ["acme.one", "acme.two"]
    content = provenance(found, "cpu").content
    assert len(set(content.values())) == 2
    content_hash.cache_clear()
    (tmp_path / "one" / "acme" / "one" / "plugin.py").write_text("edited")
    assert provenance(found, "cpu").content["acme.one"] != content["acme.one"]
    assert provenance(found, "cpu").content["acme.two"] == content["acme.two"]


def test_a_library_that_a_plugin_imports_first_has_the_defaults_with_which_it_comes():
    code = """
import sys
from uqbench.registry.side_effects import watched
assert "torch" not in sys.modules
changed = []
with watched(changed):
    import numpy, torch
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.use_deterministic_algorithms(True)
    numpy.seterr(all="raise")
assert torch.zeros(1).dtype == torch.float32 and torch.zeros(1).device.type == "cpu"
assert numpy.geterr()["divide"] == "warn" and not torch.are_deterministic_algorithms_enabled()
print(changed)
"""
    done = commands.python("-c", code)
    for name in ("default dtype", "default device", "deterministic algorithms", "numpy's errors"):
        assert name in done.stdout


class Loop(LoopAgent):
    """Owns its loop, whatever a spec says."""

    train = policy = None


@pytest.mark.parametrize(("factory", "loop"), [(Loop, False), (dict, True)])
def test_what_a_spec_says_of_its_loop_is_held_against_the_class(factory, loop):
    spec = AgentSpec(name="mine", version="1", factory=factory, loop=loop)
    with pytest.raises(UqbenchError, match=f"'mine' says loop={loop} .* say loop={not loop}"):
        spec.load_factory()
    assert replace(spec, loop=not loop).load_factory() is factory


def test_a_spec_of_another_kind_is_refused():
    def uqbench_estimators() -> list[Spec]:
        return [Spec(name="mine", version="1", factory=dict)]

    plugin = register(Host(), "odd", Module(uqbench_estimators=hookimpl(uqbench_estimators)))
    assert plugin.failure.endswith("estimator 'mine' is a Spec; expected a uqbench.EstimatorSpec")
