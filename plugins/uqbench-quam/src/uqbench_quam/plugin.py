"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import DatasetSpec, Spec, hookimpl


@hookimpl
def uqbench_datasets() -> Iterable[DatasetSpec]:
    """Two moons."""
    return [
        DatasetSpec(
            name="two-moons",
            version="1",
            factory="uqbench_quam.two_moons:TwoMoons",
            config="uqbench_quam.config:TwoMoonsOptions",
            summary="two interleaving half circles; uncertainty off the data",
            source="Schweighofer et al. 2023, section 4",
            scores=("accuracy", "nll", "off_data_auroc"),
        )
    ]


@hookimpl
def uqbench_estimators() -> Iterable[Spec]:
    """Deep ensembles."""
    return [
        Spec(
            name="deep-ensemble",
            version="2",
            factory="uqbench_quam.ensemble:DeepEnsemble",
            config="uqbench_quam.config:DeepEnsembleConfig",
            summary="independently trained networks",
            source="Lakshminarayanan et al. 2017",
        )
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``two-moons`` suite."""
    return [files("uqbench_quam") / "suites" / "two-moons.toml"]
