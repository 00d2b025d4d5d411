"""The headline of a board and the note below it, from the frames that its tables and files are.

The headline says who is best, or that nobody beats a trivial baseline; whose intervals to trust,
with a number; and, where there is room, one surprise: of a control or an oracle. Tuning and
controls are for the note.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from uqbench.boards.calibration import (
    CALIBRATED,
    NARROW,
    NO_WORD,
    OPEN,
    WIDE,
    WORDS,
    coverage_column,
    words,
)
from uqbench.boards.controls import above_controls
from uqbench.boards.tuned import UNTUNED
from uqbench.contract.wording import count

MOST_NAMES = 3
"""Methods that a sentence names; of more it says how many."""
MOST_WORDS = 35
"""In a headline, which has at most three sentences."""
ALIKE = {
    NARROW: "Trust no method's {}",
    OPEN: "Whether to trust stated {} is open",
    CALIBRATED: "Stated {} are calibrated",
    WIDE: "Stated {} are too wide",
}
"""Openings of the sentence on intervals that all have one word."""
NO_BETTER = 0.05
"""Shares of true values that differ by less are as good as those of intervals of width zero."""


@dataclass(frozen=True)
class Told:
    """The frames that the sentences about a board are made of.

    Attributes:
        leaderboard: its ``leaderboard.csv``.
        ranking: the statistic that it is ranked by.
        ranks: whether its budget can rank methods.
    """

    leaderboard: pd.DataFrame
    ranking: str
    ranks: bool

    @property
    def headline(self) -> str:
        """The best methods, the ones to trust, and the first surprise that there is room for."""
        told = [sentence for sentence in (self._best, self._trust) if sentence]
        for surprise in self._surprises():
            whole = " ".join([*told, surprise])
            if words_of(whole) <= MOST_WORDS:
                return whole
        return " ".join(told)

    @property
    def note(self) -> str:
        """Sentences on tuning, and on the worth of stated widths beyond their controls."""
        return " ".join(filter(None, [self._tuning, self._widths, self._skills]))

    @cached_property
    def methods(self) -> pd.DataFrame:
        """The rows of methods by name, the best first where the budget ranks."""
        own = self.leaderboard[self.leaderboard["role"] == "method"].set_index("method", drop=False)
        by = ["rank", "method"] if self.ranks and "rank" in own else ["method"]
        return own.rename_axis(None).sort_values(by, kind="stable", na_position="last")

    @cached_property
    def scores(self) -> pd.Series:
        """The score of each method; NaN where runs are missing."""
        return self.methods[self.ranking]

    @cached_property
    def ranked(self) -> pd.DataFrame:
        """The methods that have a rank."""
        return self.methods[self.methods["rank_low"].notna()]

    @cached_property
    def first(self) -> list[str]:
        """The methods whose rank set begins at 1."""
        return list(self.ranked.index[self.ranked["rank_low"] == 1])

    @cached_property
    def baseline(self) -> tuple[str, float]:
        """The best trivial row and its score; an empty name where there is none."""
        known = self.leaderboard[self.leaderboard["role"] == "trivial"].set_index("method")
        scores = known[self.ranking].dropna().astype(float)
        return ("", 0.0) if scores.empty else (str(scores.idxmax()), float(scores.max()))

    @cached_property
    def beaten(self) -> list[str]:
        """The methods that do not beat the best trivial row."""
        return list(self.methods.index[self.methods["beats_trivial"] == "no"])

    @cached_property
    def nobody(self) -> bool:
        """Whether no method that has a score beats the best trivial row."""
        return bool(0 < len(self.beaten) == self.scores.notna().sum())

    @property
    def _best(self) -> str:
        if self.methods.empty:
            return "The board has no methods, only baselines."
        if not self.ranks:
            return self._leaders
        if self.nobody:
            name, best = self.baseline[0], str(self.scores.idxmax())
            beats = f"No method beats {name} ({number(self.baseline[1])})"
            return f"{beats}: the highest mean is {number(self.scores[best])}, of {best}."
        known = self.scores.dropna()
        if len(self.methods) == 1 and len(known):
            return f"{known.index[0]}, the only method, scores {number(known.iloc[0])}."
        if len(self.ranked) < 2:
            return "Fewer than two methods have all of their runs."
        of = f"of {len(self.ranked)} methods"
        if self.methods.get(f"{self.ranking}_low", self.scores).isna().all():
            which = f"{len(self.ranked)} methods apart ({_span(known, number)})"
            return f"Runs tell none of the {which}: they are too few, or all equal."
        if (self.ranked["rank_high"] - self.ranked["rank_low"] == len(self.ranked) - 1).all():
            two = f"No two {of}" if len(self.ranked) > 2 else "The two methods do not"
            return f"{two} differ significantly: they score {_span(known, number)}."
        if len(self.first) > MOST_NAMES:
            top = str(known[self.first].idxmax())
            return f"{len(self.first)} {of} may be best; {top} leads with {number(known[top])}."
        names = [f"{name} ({number(known[name])})" for name in self.first]
        sure = len(names) > 1 or self.ranked["rank_high"][self.first[0]] == 1
        return f"{_names(names, 'or')} {'is' if sure else 'alone may be'} best {of}."

    @property
    def _leaders(self) -> str:
        """A sentence on the leaders by skill of a board that does not rank.

        Nobody leads where another's interval reaches the leader's, nor above an oracle: there more
        is not better, as of a scale.
        """
        own, leads = self.methods[self.methods["beats_trivial"] != "no"], dict[str, list[str]]()
        oracles = self.leaderboard[self.leaderboard["role"] == "oracle"]
        for name in (n for n in own if n.endswith("_mean") and f"{n}_low" in own):
            known = own.dropna(subset=[name, f"{name}_low"])
            if known.empty:
                continue
            leader = known[name].idxmax()
            low, others = known.loc[leader, f"{name}_low"], known.drop(index=leader)
            if low > others[f"{name}_high"].max() and not oracles[name].max() < low:
                skill = name.removesuffix("_mean").replace("_", " ")
                leads.setdefault(str(leader), []).append(skill)
        if not leads:
            return "The budget does not rank methods."
        most = max(leads, key=lambda name: len(leads[name]))
        rest = sum(map(len, leads.values())) - len(leads[most])
        of = len(leads[most]) if len(leads[most]) > MOST_NAMES else _names(leads[most], "and")
        others = f", {count(len(leads) - 1, 'other method')} in {rest}" * (rest > 0)
        return f"No overall rank: {most} leads in {of}{others}."

    @cached_property
    def words(self) -> dict[str, str]:
        """The word for the intervals of each method that states any."""
        return {name: word for name, word in words(self.methods).items() if word != NO_WORD}

    @cached_property
    def shares(self) -> pd.Series:
        """Percent of true values inside the stated intervals of each method that states any."""
        column, _ = coverage_column(map(str, self.methods)) or ("", 0.0)
        return 100 * self.methods.loc[list(self.words), column]

    @property
    def _trust(self) -> str:
        column, level = coverage_column(map(str, self.methods)) or ("", 0.0)
        if not column or self.methods.empty:
            return ""
        intervals = f"{100 * level:.0f} % intervals"
        if not self.words:
            return f"No method states {intervals}."
        those = {word: [n for n, of in self.words.items() if of == word] for word in WORDS}
        told = [n for n in self.first or self.methods.index if n in self.words]
        if self.nobody or len(self.first) > MOST_NAMES or len(told) > MOST_NAMES:
            told = []
        if len({*self.words.values()}) == 1 and (len(self.words) > 1 or not told):
            held = f"they hold {_span(self.shares)} % of true values"
            return f"{ALIKE[next(iter(self.words.values()))].format(intervals)}: {held}."
        right = [] if any(self.words[n] == CALIBRATED for n in told) else those[CALIBRATED]
        wrong = [n for n in those[NARROW] if n not in told]
        parts = []
        if told:
            inside = [f"{self.shares[n]:.0f} % ({self.words[n]})" for n in told]
            whose = ("Its " if len(told) == 1 else "Their ") + intervals
            if len(told) < len(self.first):
                whose = f"{intervals} of {_names(told, 'and')}"
            parts.append(f"{whose} hold {_names(inside, 'and')} of true values")
        of = "those" if told else f"the {intervals}"
        if right:
            but = f", not those of {self._shown(wrong)}" if wrong else ""
            parts.append(f"trust {of} of {self._shown(right)}{but}")
        elif wrong:
            shown = self._shown(wrong, "" if told else " of true values inside")
            parts.append(f"do not trust {of} of {shown}")
        elif not told:
            parts.append(f"{intervals} of {self._shown(those[WIDE])} are too wide, others open")
        said = "; ".join(parts)
        return f"{said[0].upper()}{said[1:]}."

    def _shown(self, names: Sequence[str], said: str = "") -> str:
        return f"{_names(names, 'or')} ({_span(self.shares[names])} %{said})"

    def _surprises(self) -> Iterator[str]:
        if not self.ranks:
            return
        rest = self.leaderboard[self.leaderboard["role"] == "unranked"].set_index("method")
        above = rest[self.ranking].dropna().astype(float)
        if len(above) and above.max() > self.scores.max():
            yield f"The unranked {above.idxmax()} has {number(above.max())}."
        if len(self._point):
            yield f"Those of width zero would hold {_span(self._point)} %."
        if self.nobody:
            oracles = self.leaderboard[self.leaderboard["role"] == "oracle"][self.ranking].dropna()
            yield from [f"An oracle has {number(oracles.max())}."] * (len(oracles) > 0)
            return
        beat = f"beat {self.baseline[0]} ({number(self.baseline[1])})."
        winners = [of for of in self.ranked.index if of not in self.beaten]
        if few := len(winners) < min(len(self.beaten), MOST_NAMES + 1):
            beats = beat.replace("beat", "beats", 1) if len(winners) == 1 else beat
            yield f"Only {_names(winners, 'and')} {beats}"
        if self.beaten and not few:
            do = "does" if len(self.beaten) == 1 else "do"
            yield f"{_names(self.beaten, 'and')} {do} not {beat}"
        if not self.words and len(self.first) == 1 and len(self.ranked) > 1:
            second = str(self.ranked.index[1])
            yield f"Next is {second} ({number(self.scores[second])})."

    @property
    def _point(self) -> pd.Series:
        """Percent that width zero would hold, where no method's stated intervals hold more."""
        column, _ = coverage_column(map(str, self.methods)) or ("", 0.0)
        zero = column.replace("_mean", "_zero_mean")
        if {*self.words.values()} != {NARROW} or len(self.words) < 2 or zero not in self.methods:
            return self.scores[:0]
        point = 100 * self.methods.loc[list(self.words), zero]
        return point if (self.shares - point < 100 * NO_BETTER).all() else point[:0]

    @property
    def _tuning(self) -> str:
        """A sentence on methods that were not tuned; empty where all were, or nothing is ranked."""
        own = self.methods
        if len(own) < 2 or "imported" in own or not self.ranks:
            return ""
        untuned = own if "tuned" not in own else own[own["tuned"] == UNTUNED]
        if len(untuned) == len(own):
            return "No method was tuned: all have their default settings."
        return "" if untuned.empty else f"Not tuned: {', '.join(untuned.index)}."

    @property
    def _widths(self) -> str:
        """Shares of true values that intervals of the two controls of width would hold."""
        column, _ = coverage_column(map(str, self.methods)) or ("", 0.0)
        parts = []
        for control, said in (("zero", "width zero"), ("constant", "the best constant width")):
            beside = column.replace("_mean", f"_{control}_mean")
            if column and beside in self.methods and self.methods[beside].notna().any():
                of = list(self.words) or list(self.methods.index)
                parts.append(f"of {said} would hold {_span(100 * self.methods.loc[of, beside])} %")
        return f"Intervals {', those '.join(parts)} of true values." if parts else ""

    @property
    def _skills(self) -> str:
        """Skills of stated widths that no control explains, in a sentence.

        One in which every method is above its controls tells none from another, and is left out.
        """
        above = above_controls(self.methods)
        above = {name: of for name, of in above.items() if len(of) < len(self.methods)}
        known = [f"{name} of {_names(of, 'and')}" for name, of in above.items() if of]
        reached = ", ".join(name for name, of in above.items() if not of)
        if known and len(known) <= MOST_NAMES:
            return f"Above their controls: {'; '.join(known)}."
        if not reached:
            return ""
        return f"Controls score as well on {reached}: stated widths add nothing there."


def words_of(text: str) -> int:
    """The number of words of a text; numbers are words, signs are none."""
    return sum(any(map(str.isalnum, word)) for word in text.split())


def number(value: float) -> str:
    """A score in a headline: two digits behind the point, three of less than a tenth."""
    digits = 2 if abs(value) >= 0.095 else 3
    return f"{round(value, digits) + 0.0:.{digits}f}"  # never −0


def _percent(value: float) -> str:
    return f"{value:.0f}"


def _span(values: pd.Series, text: Callable[[float], str] = _percent) -> str:
    least, most = text(values.min()), text(values.max())
    return least if least == most else f"{least} to {most}"


def _names(names: Sequence[str], last: str) -> str:
    if len(names) > MOST_NAMES:
        return f"{len(names)} methods"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
