"""What is registered: the emulator's package, and the suite."""

from importlib.metadata import PackageNotFoundError

import uqbench_atari.plugin
from uqbench_atari.normalization import RANDOM_AND_HUMAN

from uqbench.registry import Host
from uqbench.suites import read_suites


def test_without_the_emulators_package_the_plugin_says_which_to_install(monkeypatch):
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("uqbench_atari.plugin.version", absent)
    host = Host()
    named = {"name": "atari", "distribution": "uqbench-atari", "version": "0"}
    left_out = host.register(**named, load=lambda: uqbench_atari.plugin, requires=["uqbench"])
    assert "pip install 'ale-py" in str(left_out.failure)
    assert "atari" not in host.environments


def test_the_suite_has_the_57_games_and_their_constants(monkeypatch):
    monkeypatch.setenv("UQBENCH_PLUGINS", "atari")
    suite = read_suites(Host.load(), check=("atari",)).suite("atari")
    paper = suite.budget("paper")
    assert {task.name for task in suite.tasks_of(paper)} == set(RANDOM_AND_HUMAN)
    constants = suite.normalization_constants(suite.metric("evaluation_return"))
    for game, (random, human) in RANDOM_AND_HUMAN.items():
        assert suite.task(game).config == {"game": game}
        assert (constants[game].zero, constants[game].one) == (random, human)
    assert (paper.steps * 4, paper.seeds) == (200_000_000, 3)
    assert paper.evaluation is not None
    assert paper.evaluation.every is not None
    assert paper.evaluation.every * 4 == 1_000_000
