import pytest

from uqbench import AgentSpec, Spec, hookimpl
from uqbench.errors import UqbenchError
from uqbench.registry.plugins import Host
from uqbench.registry.registry import Plugin


class Module:
    """Stands for a plugin's module: an object with hook functions."""

    def __init__(self, **hooks: object) -> None:
        self.__dict__.update(hooks)


def agents(*names: str) -> Module:
    def uqbench_agents() -> list[AgentSpec]:
        return [
            AgentSpec(name=name, version="1", factory=dict, config=dict, summary="")
            for name in names
        ]

    return Module(uqbench_agents=hookimpl(uqbench_agents))


def register(host: Host, name: str, module: object) -> Plugin:
    return host.register(name=name, distribution=f"{name}-dist", version="1.0", load=lambda: module)


def test_the_harness_registers_its_own_pieces_through_the_hooks():
    host = Host.load()
    builtin = next(plugin for plugin in host.plugins if plugin.distribution == "uqbench")
    added = set(host.added_by(builtin))
    assert added >= {"risk measure cvar", "risk measure expectation", "risk measure wang"}
    assert added >= {f"claim kind {name}" for name in ("order", "band", "trend", "share")}
    assert host.failures == []


def test_a_name_that_is_taken_names_both_plugins_and_keeps_the_first():
    host = Host()
    first = register(host, "first", agents("a"))
    second = register(host, "second", agents("b", "a"))
    assert first.failure is None
    for word in ("'a'", "first-dist 1.0", "second-dist 1.0"):
        assert word in str(second.failure)
    assert list(host.agents) == ["a"]
    assert host.agents.origin("a") == first


def test_a_plugin_that_cannot_be_imported_is_reported_and_the_rest_goes_on():
    host = Host()

    def load() -> object:
        raise ImportError("no module named oops")

    broken = host.register(name="broken", distribution="broken-dist", version="2.0", load=load)
    register(host, "good", agents("a"))
    assert broken.failure == "ImportError: no module named oops"
    assert host.failures == [broken]
    assert list(host.agents) == ["a"]


def test_a_misspelt_hook_is_a_failure_of_its_plugin_alone():
    host = Host()

    def uqbench_agnets() -> list[AgentSpec]:
        return []

    misspelt = Module(uqbench_agnets=hookimpl(uqbench_agnets))
    assert "uqbench_agnets" in str(register(host, "misspelt", misspelt).failure)
    assert register(host, "good", agents("a")).failure is None


def test_an_unknown_name_gets_the_nearest():
    host = Host()
    register(host, "good", agents("qr-dqn"))
    with pytest.raises(UqbenchError, match=r"no agent 'qrdqn'. Did you mean 'qr-dqn'\?"):
        host.agents["qrdqn"]


def test_a_factory_given_as_a_string_is_imported_when_it_is_asked_for():
    spec = Spec(name="x", version="1", factory="collections:OrderedDict", summary="")
    from collections import OrderedDict

    assert spec.load_factory() is OrderedDict
    assert spec.load_config() is OrderedDict
    missing = Spec(name="x", version="1", factory="nowhere_at_all:X", summary="")
    with pytest.raises(ModuleNotFoundError):
        missing.load_factory()
