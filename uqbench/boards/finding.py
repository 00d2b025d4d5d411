"""The finding of a board in a sentence or two: who is first, and whose intervals can be trusted."""

from collections.abc import Sequence

import pandas as pd

from uqbench.boards.calibration import WORDS, coverage_column, kind
from uqbench.boards.controls import above_controls
from uqbench.boards.tuned import UNTUNED

MOST_NAMES = 3
"""Methods that a sentence names; of more it says how many."""


def finding(leaderboard: pd.DataFrame, ranking: str, *, ranks: bool) -> str:
    """The finding of a board.

    Args:
        leaderboard: ``leaderboard.csv``.
        ranking: the statistic that the board is ranked by.
        ranks: whether its budget can rank methods.
    """
    methods = leaderboard[leaderboard["role"] == "method"]
    if methods.empty:
        return "The board has no methods, only baselines."
    told = _tuning(methods) if ranks and "imported" not in methods else ""
    against = _against_trivial(leaderboard, ranking)
    if ranks and (methods["beats_trivial"] == "no").all():  # of the task, not of the methods
        sentences = [against, told]
    else:
        sentences = [told, _ranking(methods, ranks), against]
    sentences += [_trust(methods), _skills(methods)]
    return " ".join(sentence for sentence in sentences if sentence)


def _ranking(methods: pd.DataFrame, ranks: bool) -> str:
    ranked = methods[methods["rank_low"].notna()]
    if not ranks:
        return f"{_differences(methods)}The budget does not rank methods."
    if len(ranked) < 2:
        return "" if len(methods) < 2 else "Fewer than two methods have all of their runs."
    ranked = ranked.sort_values("rank")
    if (ranked["rank_low"] == 1).all() and (ranked["rank_high"] == len(ranked)).all():
        return f"No two of the {len(ranked)} methods differ significantly."
    first = list(ranked.loc[ranked["rank_low"] == 1, "method"])
    if len(first) == 1:
        return f"{first[0]} is first of {len(ranked)} methods."
    if len(first) == len(ranked):
        return f"Any of the {len(ranked)} methods may be first."
    if len(first) > MOST_NAMES:
        return f"{len(first)} of {len(ranked)} methods may be first."
    return f"Of {len(ranked)} methods, {_names(first)} may be first."


def _tuning(methods: pd.DataFrame) -> str:
    """Which methods were not tuned; empty where all were, or there is nothing to rank."""
    if len(methods) < 2:
        return ""
    untuned = methods if "tuned" not in methods else methods[methods["tuned"] == UNTUNED]
    if len(untuned) == len(methods):
        return "No method of this board was tuned."
    return "" if untuned.empty else f"Untuned: {', '.join(untuned['method'])}."


def _differences(methods: pd.DataFrame) -> str:
    """The means whose 95 % intervals do not all overlap, among methods that learn."""
    means = [name for name in methods if f"{name}_low" in methods and name.endswith("_mean")]
    apart = []
    for name in means:
        own = methods[methods["beats_trivial"] != "no"].dropna(subset=[name, f"{name}_low"])
        low, high = own[f"{name}_low"], own[f"{name}_high"]
        if low.max() > high.min():
            most = _names(list(own.loc[high >= low[own[name].idxmax()], "method"]))
            apart.append(f"{name.removesuffix('_mean').replace('_', ' ')} (highest: {most})")
    found = f"In {len(apart)} of {len(means)} numbers not all 95 % intervals overlap: "
    return f"{found}{', '.join(apart)}. " if apart else ""


def _against_trivial(leaderboard: pd.DataFrame, ranking: str) -> str:
    methods = leaderboard[leaderboard["role"] == "method"]
    behind = list(methods.loc[methods["beats_trivial"] == "no", "method"])
    if not behind:
        return ""
    trivial = leaderboard[leaderboard["role"] == "trivial"]
    best = trivial.loc[trivial[ranking].idxmax(), "method"]
    if len(behind) == len(methods):
        value = trivial[ranking].max()
        told = f"{best}, which learns nothing: its {ranking} is {value:.3f}"
        return f"The board measures its task, since no method beats {told}."
    verb = "does" if len(behind) == 1 else "do"
    return f"{_names(behind)} {verb} not beat {best}, which learns nothing."


def _trust(methods: pd.DataFrame) -> str:
    column = coverage_column(map(str, methods))
    if column is None or "calibration" not in methods:
        return ""
    name, level = column
    stated = methods[methods[name].notna()]
    if stated.empty:
        return f"No method states {100 * level:.0f} % intervals."
    parts = [
        f"{_names(list(own['method']))} {_held(100 * own[name])} % ({word})"
        for word in sorted({*stated["calibration"]}, key=lambda said: WORDS.index(kind(said)))
        if not (own := stated[stated["calibration"] == word]).empty
    ]
    for control, said in (("zero", "width zero"), ("constant", "the best constant width")):
        beside = name.replace("_mean", f"_{control}_mean")
        if beside in stated and stated[beside].notna().any():
            parts.append(f"of {said} {_held(100 * stated[beside])} %")
    return f"Share of true values inside stated {100 * level:.0f} % intervals: {'; '.join(parts)}."


def _skills(methods: pd.DataFrame) -> str:
    """Skills of stated widths that no control explains, in a sentence.

    One in which every method is above its controls tells none from another, and is left out.
    """
    above = {name: of for name, of in above_controls(methods).items() if len(of) < len(methods)}
    known = [f"{name} of {_names(of)}" for name, of in above.items() if of]
    if len(known) > MOST_NAMES:
        reached = ", ".join(name for name, of in above.items() if not of) or "none"
        return f"Of {len(above)} skills, those in which no method is above its controls: {reached}."
    if not above or known:
        return f"Above their controls: {'; '.join(known)}." if known else ""
    return f"Controls reach what stated widths are worth ({', '.join(above)})."


def _held(shares: pd.Series) -> str:
    least, most = (f"{share:.0f}" for share in (shares.min(), shares.max()))
    return least if least == most else f"{least} to {most}"


def _names(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMES:
        return f"{len(names)} methods"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
