"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from uqbench import AgentSpec, EnvironmentSpec, hookimpl

if TYPE_CHECKING:
    from uqbench.boards.stored import StoredBoard
    from uqbench.contract.figure import Figure


SUITES = ("profile", "features", "offline-values", "exploration")


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """A sea to explore, bandits and rings with a known posterior, and bets to be careful in."""
    return [
        EnvironmentSpec(
            name="deep-sea",
            version="1",
            factory="uqbench_profile.deep_sea:DeepSea",
            config="uqbench_profile.config:DeepSeaConfig",
            lanes=True,
            events=("goals", "exploration"),
            exact_truth="uqbench_profile.deep_sea_truth:exact_truth",
        ),
        EnvironmentSpec(
            name="bandit-table",
            version="1",
            factory="uqbench_profile.bandit_table:BanditTable",
            lanes=True,
            exact_truth="uqbench_profile.bandit_scores:exact_truth",
            sizes=("decisions",),
        ),
        EnvironmentSpec(
            name="feature-worlds",
            version="1",
            factory="uqbench_profile.feature_worlds:FeatureLanes",
            config="uqbench_profile.config:FeatureConfig",
            lanes=True,
            exact_truth="uqbench_profile.feature_scores:exact_truth",
            sizes=("score", "decisions", "joint"),
        ),
        EnvironmentSpec(
            name="offline-values",
            version="1",
            factory="uqbench_profile.offline_worlds:OfflineLanes",
            config="uqbench_profile.config:OfflineConfig",
            lanes=True,
            exact_truth="uqbench_profile.offline_scores:exact_truth",
            sizes=("skill",),
        ),
        EnvironmentSpec(
            name="risk-bets",
            version="1",
            factory="uqbench_profile.risk_bets:RiskBets",
            lanes=True,
            exact_truth="uqbench_profile.risk_truth:exact_truth",
        ),
    ]


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """Who knows more than a method may."""
    return [
        AgentSpec(
            name="profile-oracle",
            version="1",
            factory="uqbench_profile.rows:oracle",
            role="oracle",
        ),
        AgentSpec(
            name="profile-climatology",
            version="1",
            factory="uqbench_profile.bandit_agents:Climatology",
            role="trivial",
        ),
        AgentSpec(
            name="replay",
            title="Dithering with a memory",
            version="1",
            factory="uqbench_profile.replay:Replay",
            role="trivial",
            actors=False,
        ),
        AgentSpec(
            name="feature-bayes",
            version="1",
            factory="uqbench_profile.feature_agents:FeatureBayes",
            config="uqbench_profile.config:FeatureBayesConfig",
            role="oracle",
            actors=False,
        ),
        AgentSpec(
            name="offline-bayes",
            version="1",
            factory="uqbench_profile.offline_agents:OfflineBayes",
            config="uqbench_profile.config:OfflineBayesConfig",
            role="oracle",
            actors=False,
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The suites ``profile``, ``features``, ``offline-values`` and ``exploration``."""
    suites = files("uqbench_profile") / "suites"
    return [suites / f"{name}.toml" for name in SUITES]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    last = "the last observation shows where the dive ended, which is how it learns the last cell"
    cut = "each logged transition is an episode of its own, cut after one step whatever the limit"
    return {
        "agent profile-oracle": {"agent-terminal": last},
        "environment offline-values": {"environment-limit": cut},
    }


@hookimpl
def uqbench_figures(board: StoredBoard) -> Iterable[Figure]:
    """The profile of all methods, and of each."""
    if board.suite != "profile":
        return []
    from uqbench_profile.figures import profiles  # imports Altair

    return profiles(board)
