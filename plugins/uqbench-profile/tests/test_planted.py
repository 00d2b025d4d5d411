"""Planted widths × scores, before and after: the table that README shows is made here."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor
from uqbench_profile import bandit_scores
from uqbench_profile.bandit_table import CELLS, Table
from uqbench_profile.config import FeatureConfig
from uqbench_profile.feature_agents import exact_samples
from uqbench_profile.feature_posterior import Known, posterior
from uqbench_profile.feature_scores import scores
from uqbench_profile.feature_worlds import ASKED, FeatureWorld
from uqbench_profile.widths import utility

from uqbench.agent import Uncertainty

README = Path(__file__).parents[1] / "README.md"
BANDITS, WORLDS = range(100), range(500, 520)
NAMES = {
    "exact": "the exact posterior",
    "counts": "counts, 1/√(1 + n)",
    "s/√n": "s/√n",
    "common": "one common factor × s/√n, ten samples",
    "constant": "a constant of the right size",
    "× 3": "the exact shape × 3",
    "silent": "nothing",
}


def widths(exact: Tensor, count: Tensor, deviation: Tensor) -> Mapping[str, Tensor]:
    """Standard deviations by name, like ``exact``."""
    pairs = exact.flatten(1)
    constant = pairs.log().mean(1).exp().view(-1, *[1] * (exact.dim() - 1)).expand_as(exact)
    by_sample = torch.where(count > 0, deviation / count.clamp(min=1).sqrt(), 1.0)
    return {
        "exact": exact,
        "counts": 1 / (1 + count).sqrt(),
        "s/√n": by_sample,
        "common": by_sample,
        "constant": constant,
        "× 3": 3 * exact,
    }


def before(mean: Tensor, std: Tensor, exact: Tensor) -> tuple[float, float]:
    """Epistemic calibration and decisions of the first version, ``[L, K]`` each."""
    stated, known = (x.clamp(min=1e-4).log() for x in (std, exact))
    around = (known - known.mean(-1, keepdim=True)).square().sum(-1)
    calibration = 1 - (stated - known).square().sum(-1) / around
    worth = utility(mean, exact)
    taken = (worth * (utility(mean, std) > 0)).sum(-1)
    by_mean, best = (worth * (mean > 0)).sum(-1), worth.clamp(min=0).sum(-1)
    decided = torch.where(best > by_mean, (taken - by_mean) / (best - by_mean), torch.nan)
    return float(calibration.clamp(min=-1).mean()), float(decided.clamp(min=-1).nanmean())


def of_bandits() -> Mapping[str, list[float]]:
    """On one-hot bandits: both scores of the first version, then shape, scale and decisions."""
    table = Table.drawn(BANDITS)
    mean, std = bandit_scores.posterior(table)
    count = table.of_kind("data").expand_as(std)
    seen = torch.arange(table.rewards.shape[-1]) < count[..., None]
    around = (table.rewards * seen).sum(-1) / count.clamp(min=1)
    squares = ((table.rewards - around[..., None]) * seen).square().sum(-1)
    deviation = (squares / (count - 1).clamp(min=1)).sqrt()
    cell = table.kind < len(CELLS)
    found = {}
    typical = std[cell].reshape(len(BANDITS), -1).log().mean(1).exp()[:, None, None]
    of = {**widths(std, count, deviation), "constant": typical.expand_as(std)}
    for name, own in of.items():
        parts = [x[cell].reshape(len(BANDITS), -1) for x in (mean, own, std)]
        new = bandit_scores.scores(table, Uncertainty(mean=mean, epistemic_var=own.square()))
        after = [float(new[n].mean()) for n in ("epistemic_shape", "epistemic_scale", "decisions")]
        found[name] = [*before(*parts), *after]
    return found


def of_features(family: str, discount: float) -> Mapping[str, list[float]]:
    """Shape, unseen, decisions, joint and scale."""
    config = FeatureConfig(family=family)  # type: ignore[arg-type]
    world = FeatureWorld.drawn(config, WORLDS)
    exact = posterior(config, world, discount, WORLDS)
    same = torch.cdist(world.asked, world.obs) < 1e-6
    own = torch.nn.functional.one_hot(world.action, 2).double()
    total, squares = (same.double() @ (own * world.reward[..., None] ** p) for p in (1, 2))
    deviation = (squares - total**2 / 2).clamp(min=0).sqrt()  # of two rewards
    found = {}
    shape = (ASKED, 2)
    generator = torch.Generator().manual_seed(0)
    of = widths(exact.std.unflatten(1, shape), world.count, deviation)
    for name, std in of.items():
        samples = {"exact": exact_samples(exact), "× 3": three_times(exact)}.get(name)
        if name == "common":
            z = torch.randn(len(WORLDS), 1, 10, generator=generator, dtype=torch.float64)
            std = std / (1 - discount**2) ** 0.5
            samples = exact.mean[..., None] + std.flatten(1)[..., None] * z
        stated = Uncertainty(
            mean=exact.mean.unflatten(1, shape),
            epistemic_var=std.square(),
            value_samples=None if samples is None else samples.unflatten(1, shape),
        )
        scored = scores(stated, exact, world.count == 0)
        names = ("shape", "unseen", "decisions", "joint", "scale")
        found[name] = [float(scored[n].mean()) for n in names]
    return found


def three_times(exact: Known) -> Tensor:
    away = exact_samples(exact) - exact.mean[..., None]
    return exact.mean[..., None] + 3 * away


def cell(value: float) -> str:
    text = f"{value:.2f}".replace("0.", ".")
    return {"-.00": "0", ".00": "0", "1.00": "1", "-1.00": "−1"}.get(text, text.replace("-", "−"))


def test_the_readme_s_table_of_planted_widths_is_what_the_scores_say():
    """All state exact means; before: the first version of the scores on the one-hot bandits."""
    bandits, linear, ring = of_bandits(), of_features("linear", 0.0), of_features("ring", 0.7)
    rows = []
    for key, name in NAMES.items():
        cells = [
            ", ".join(cell(x) for x in part) if part else "–"
            for part in (
                bandits[key][:2] if key != "silent" else [0.0, 0.0],
                bandits.get(key, [])[2:],
                linear.get(key, []),
                ring.get(key, []),
            )
        ]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    missing = [row for row in rows if row not in README.read_text("utf-8")]
    assert not missing, "\n".join(rows)
