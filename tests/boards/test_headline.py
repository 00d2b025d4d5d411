"""The headline of a board contradicts nothing that its files say: on all boards and on random ones.

What a sentence says is read out of its text, and held against the CSV files with pandas alone.
"""

import re
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import pytest

from uqbench.boards import StoredBoard, Told, board_folders
from uqbench.boards.calibration import with_words
from uqbench.boards.headline import words_of

BOARDS = Path(__file__).parents[2] / "leaderboards"
FOLDERS = [folder.path for folder in board_folders(BOARDS)]
NAMES = ["/".join(folder.parts[-2:]) for folder in FOLDERS]
NUMBER = r"-?\d+\.\d+"


def contradictions(said, board, by, tasks, metric, *, ranks):
    """What a headline says that the tables do not.

    Args:
        said: the headline.
        board: ``leaderboard.csv``.
        by: the statistic that ranks.
        tasks: ``tasks.csv``.
        metric: the primary one's name, and ``max`` or ``min``.
        ranks: whether the budget does.
    """
    board = board.set_index("method", drop=False)
    methods = board[board["role"] == "method"]
    if ranks:  # of equal scores the first in the table is named
        methods = methods.rename_axis(None).sort_values(["rank", "method"], na_position="last")
    return [
        *_of_first(said, board, methods, by, ranks),
        *_of_tasks(said, methods, by, tasks, metric),
        *_of_trivial(said, board, methods, by),
        *_of_words(said, methods, tasks),
        *_of_numbers(said, board, by),
        *([f"{words_of(said)} words"] if words_of(said) > most_words(board) else []),
        *(
            ["too many sentences"]
            if len(re.findall(r"\.(?= |$)", said)) > most_sentences(board)
            else []
        ),
    ]


def names_in(text, of):
    """The methods in a list such as ``a, b or c``, or as many as ``5 methods`` says."""
    counted = re.match(r"(\d+) methods$", text)
    return int(counted[1]) if counted else set(re.split(r", | or | and ", text)) & {*of} or {text}


def differs(said, names):
    return len(names) != said if isinstance(said, int) else {*names} != said


def _of_first(said, board, methods, by, ranks):
    ranked = methods[methods["rank_low"].notna()]
    first = set(ranked.index[ranked["rank_low"] == 1])
    whole = (ranked["rank_low"] == 1) & (ranked["rank_high"] == len(ranked))
    what = "rows" if any("[" in name for name in ranked.index) else "methods"
    if one := re.match(
        rf"((?:\S+ \({NUMBER}\)(?:, | or )?)+)(?:, which loses to none,)? is best of (\d+) (\w+)",
        said,
    ):
        named = dict(re.findall(rf"(\S+) \(({NUMBER})\)", one[1]))
        if {*named} != first or (int(one[2]), one[3]) != (len(ranked), what):
            yield f"first: {named} of {one[2]}, and in the table {first} of {len(ranked)}"
        apart = len(first) > 1 or ranked["rank_high"][list(first)].max() == 1
        if apart == (", which loses to none," in one[0]):
            yield f"{one[0]}, and the ranks of the first are another set"
        wrong = [n for n, v in named.items() if not rounds(board[by].get(n, np.nan), v)]
        yield from (f"score of {name}" for name in wrong)
    elif some := re.match(r"(\d+) of (\d+) (\w+) may be best", said):
        if (int(some[1]), int(some[2]), some[3]) != (len(first), len(ranked), what):
            yield f"{some[0]}, and in the table {len(first)}"
        top = re.match(rf".*? best; (\S+) leads (?:.*? mean )?\(({NUMBER})\)", said)
        if top and ranked.loc[[*first], by].max() != board[by].get(top[1]):
            yield f"{top[1]} does not lead"
    elif re.match(r"(The \w+s of the two methods|No two of|Runs tell none)", said):
        if not whole.all():
            yield "some differ"
    elif ranks and len(ranked) > 1 and not NOBODY.match(said):
        yield "nobody is said to be first"
    elif not ranks and " is best" in said:
        yield "a budget that does not rank has a first"


def _of_tasks(said, methods, by, tasks, metric):
    """Who leads on which task, by the means of the ranked methods there."""
    own = tasks[tasks["method"].isin(methods.index[methods["rank_low"].notna()])]
    groups = own.set_index("method").groupby("task")[metric[0]]
    leads = dict(groups.idxmax() if metric[1] == "max" else groups.idxmin())
    first = methods.index[methods["rank_low"] == 1]
    for name, on in re.findall(r"[:,] (\S+) (?:leads )?on ([^.,]+)(?=[,.])", said):
        if {t for t, who in leads.items() if who == name} != {*re.split(r", | and ", on)}:
            yield f"{name} on {on}, and by tasks.csv {leads}"
    if by != "mean" or len(leads) < 2 or not len(first):
        return
    top = methods.loc[first, by].idxmax()
    own = [who for who in leads.values() if who == top]
    for found in re.findall(r"leads (\d+) of (\d+) tasks, and the mean", said):
        if (len(own), len(leads)) != tuple(map(int, found)):
            yield f"{found}, and by tasks.csv {leads}"
    if len(own) < len(leads) and f"; {top} leads (" in said:
        yield f"{top} leads, and not on every task"


def _of_trivial(said, board, methods, by):
    beats, scored = methods["beats_trivial"], methods[methods[by].notna()]
    trivial = board[board["role"] == "trivial"][by].dropna()
    below = scored[by] < trivial.max()
    nobody = "no" in {*beats} and ((beats[scored.index] == "no") | below).all()
    if bool(NOBODY.search(said)) != nobody and "does not rank" not in said:
        yield "† of every method, and no sentence on it, or the other way round"
    none = re.match(
        rf"No method (?:significantly )?beats the trivial (\S+) \({NUMBER}\); (\S+) comes closest",
        said,
    )
    if none and (trivial.idxmax(), scored[by].idxmax()) != none.groups():
        yield f"{none[1]} or {none[2]} is not the best"
    if only := re.search(r"(?:^|\. )Only (.+?) beats? the trivial (\S+) \(", said):
        winners = methods.index[methods["rank_low"].notna() & (beats != "no")]
        if differs(names_in(only[1], methods.index), winners) or only[2] != trivial.idxmax():
            yield f"{only[0]}, and in the table {list(winners)}"
    of = r"(?:^|\. )([^.;:]+?) do(?:es)? not (?:significantly )?beat the trivial (\S+?)(?: \(|\.)"
    if some := re.search(of, said):
        if differs(names_in(some[1], methods.index), beats.index[beats == "no"]):
            yield f"{some[0]}, and † of {list(beats.index[beats == 'no'])}"
        if some[2] != trivial.idxmax():
            yield f"{some[2]} is not the best trivial row"


def _of_words(said, methods, tasks):
    columns = [c for c in methods if re.fullmatch(r"(q_)?coverage_(90|95)_mean", c)]
    if not columns:
        return
    column = min(columns, key=lambda c: c[-7:-5])
    level = int(column[-7:-5]) / 100
    least, most = level - (1 - level) / 2, level + (1 - level) / 2
    word = {}
    for name, share, low, high in zip(
        methods.index, *(methods[f"{column}{end}"] for end in ("", "_low", "_high")), strict=True
    ):
        if not np.isnan(share):
            inside = least <= low <= high <= most
            off = "too narrow" if high < least else "too wide" if low > most else "open"
            word[name] = "calibrated" if inside else off
        printed = methods.loc[name, "calibration"]
        if printed != word.get(name, "–"):
            yield f"{name} is called {printed} in the table, by its interval {word.get(name)}"
    of = {kind: {n for n, w in word.items() if w == kind} for kind in {*word.values()}}
    noisy = column.startswith("q_") and "truth_error" not in tasks and bool(word)
    if noisy != ("noise is unknown" in said) or (noisy and re.search("[Tt]rust|[Oo]pen", said)):
        yield "reference values are noisy, and trust does not depend on it, or the other way round"
    if low := re.search(r"Those of ([^;]+?) \([^)]*%\) may be too narrow", said):
        named, wanted = names_in(low[1], methods.index), of.get("open", set())
        below = {n for n in wanted if methods.loc[n, column] < least}
        if not (named <= below if isinstance(named, set) else named <= len(below)):
            yield f"{low[0]}, and open below the band are {sorted(below)}"
    if "Trust no method's" in said and set(of) != {"too narrow"}:
        yield "some intervals are not too narrow"
    if "intervals are right is open" in said and set(of) != {"open"}:
        yield "some words are not open"
    for share, told in re.findall(r"([\d.]+) % \((calibrated|too narrow|too wide|open)\)", said):
        if not any(rounds(100 * methods.loc[n, column], share) for n in of.get(told, ())):
            yield f"no method has {share} % and is {told}"
    whose = r"(?:those|the \d+ % intervals) of"
    verbs = {"too narrow": f", not of|[Dd]o not trust {whose}",
             "calibrated": f"(?<!not )[Tt]rust {whose}"}  # fmt: skip
    for kind, verb in verbs.items():
        if found := re.search(rf"(?:{verb}) (.+?)(?: \(|:)", said):
            named, wanted = names_in(found[1], methods.index), of.get(kind, set())
            if not (named <= wanted if isinstance(named, set) else named <= len(wanted)):
                yield f"{found[0]}, and {kind} are {sorted(wanted)}"


def _of_numbers(said, board, by):
    scores = board.filter(regex=rf"(^|_){by}$|^iqm$").stack()  # also of further metrics that rank
    shares = board.filter(regex=r"coverage_\d+(_zero)?_mean$")
    for text in re.findall(rf"(?<![\w-])({NUMBER})(?![\d.]*(?: to [\d.]+)? %)(?![\w%-])", said):
        if not any(rounds(value, text) for value in scores):
            yield f"{text} is in no file"
    inside = 100 * shares.to_numpy(float).ravel()
    for text in {
        n for pair in re.findall(r"(?:([\d.]+) to )?([\d.]+) %(?! intervals)", said) for n in pair
    }:
        if text and not any(rounds(value, text) for value in inside):
            yield f"{text} % is in no file"


def rounds(value, text):
    """Whether a number is printed as a text of so many digits."""
    return not np.isnan(value) and abs(value - float(text)) <= 0.5001 * 10.0 ** -len(
        text.partition(".")[2]
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_no_headline_contradicts_its_board(folder):
    board = StoredBoard.read(folder)
    assert found_in(board.finding, board) == []


NOBODY = re.compile(r"No method (?:significantly )?beats ")


def further(board):
    """How many metrics rank beside the primary one."""
    return sum(str(column).endswith("_rank") for column in board)


def most_words(board):
    return 35 + 10 * further(board)


def most_sentences(board):
    return 3 + further(board)


def found_in(said, board):
    """The contradictions of a headline with a stored board."""
    metric = board.primary["name"], board.primary["direction"]
    tables = board.table("leaderboard.csv"), board.ranking, board.table("tasks.csv"), metric
    return contradictions(said, *tables, ranks=board.ranks)


def test_headlines_are_short():
    boards = [StoredBoard.read(folder) for folder in FOLDERS]
    # the room that is left, of 35 words and 13 for each further metric that ranks
    left = [most_words(of.leaderboard) - words_of(of.finding) for of in boards]
    assert min(left) >= 0
    assert median(left) >= 9


def drawn(rng):
    """The tables of a random board: ranks follow a random order of its scores."""
    n, default = int(rng.integers(1, 9)), rng.random() < 0.3
    ranks, rows = bool(rng.random() < 0.9), []
    scores = np.round(rng.normal(0.5, 0.4, n), 6)
    gap, known = rng.choice([0.0, 0.2, 1.0]), rng.random(n) < 0.9
    trivial = {f"t{k}": round(float(rng.normal(0.2, 0.4)), 6)
               for k in range(rng.integers(0, 3))}  # fmt: skip
    best = max(trivial.values(), default=None)
    whole = [k for k in range(n) if known[k]]
    order = sorted(whole, key=lambda k: -scores[k])
    for k in range(n):
        row = dict.fromkeys(("rank", "rank_low", "rank_high")) | {
            "method": f"m{k}.{k}-x_{k}" + "[x=.1]" * (default and k % 2),
            "role": "method",
            "beats_trivial": "",
            "mean": scores[k] if known[k] else None,
            "iqm": scores[k] + rng.choice([0.0, 0.3]) if known[k] else None,
        }
        if known[k] and ranks and len(whole) > 1:
            row |= {
                "rank": 1 + order.index(k),
                "rank_low": 1 + sum(scores[o] - scores[k] > gap for o in whole),
                "rank_high": len(whole) - sum(scores[k] - scores[o] > gap for o in whole),
            }
        if known[k] and best is not None:
            row["beats_trivial"] = "yes" if scores[k] > best + gap / 2 else "no"
            if row["beats_trivial"] == "no" and rng.random() < 0.3:
                row["mean"] = row["iqm"] = best  # a method that does as the trivial row does
        rows.append(row)
    rows += [{"method": t, "role": "trivial", "beats_trivial": "", "mean": value}
             for t, value in trivial.items()]  # fmt: skip
    if rng.random() < 0.5:
        rows.append({"method": "silent", "role": "trivial", "beats_trivial": "", "mean": None})
    if rng.random() < 0.3:
        rows.append({"method": "oracle", "role": "oracle", "beats_trivial": "", "mean": 1.25})
    board = pd.DataFrame(rows)
    column = rng.choice(["coverage_90_mean", "q_coverage_90_mean"])
    if rng.random() < 0.8:
        share = rng.choice([rng.random(), 0.9, 0.05]) + 0.05 * rng.normal(size=len(rows))
        half = rng.choice([0.01, 0.05, 0.3], len(rows))
        stated = (board["role"] == "method") & (rng.random(len(rows)) < 0.8)
        for end, of in (("", share), ("_low", share - half), ("_high", share + half)):
            board[f"{column}{end}"] = pd.Series(np.round(np.clip(of, 0, 1), 6)).where(stated)
        if rng.random() < 0.5:
            board[column.replace("_mean", "_zero_mean")] = (board[column] * 0.97).round(6)
        board["calibration"] = ""
    tasks = [{"task": f"k{t}", "method": name, "r": round(float(rng.normal()), 3)}
             for t in range(rng.integers(1, 6)) for name in board["method"]]  # fmt: skip
    noise = {"truth_error": 0.1, "q_error": 0.5} if rng.random() < 0.5 else {}
    return with_words(board), ranks, pd.DataFrame(tasks).assign(**noise)


def test_no_headline_of_a_random_board_contradicts_it():
    generator, kinds = np.random.default_rng(0), set()
    for _ in range(300):
        board, ranks, tasks = drawn(generator)
        metric = ("r", generator.choice(["max", "min"]))
        said = Told(board, "mean", ranks, tasks, metric).headline
        found = contradictions(said, board, "mean", tasks, metric, ranks=ranks)
        assert found == [], (said, board.to_string(), tasks.to_string())
        kinds |= {re.sub(r"[\d.]+|m\S+|t\d", "", said)[:24]}
    assert len(kinds) > 8


@pytest.mark.parametrize(
    ("board", "said"),
    [
        ("features/quick", "4 of 8 methods may be best; bdqn leads (-0.085)."),
        ("deepsea/paper", "bql (0.69) is best of 6 methods."),
        ("deepsea/paper", "psrl (0.86) or bql (0.69) is best of 6 methods."),
        ("deepsea/paper", "psrl (0.86), which loses to none, is best of 6 methods."),
        ("deepsea/paper", "psrl (0.86) is best of 6 methods. Its 90 % intervals cover 94 % "
         "(open)."),
        ("deepsea/paper", "psrl (0.86) is best of 6 methods. Do not trust those of mm (100 %)."),
        ("deepsea/paper", "psrl (0.87) is best of 6 methods."),
        ("deepsea/demo", "psrl (0.91) is best of 6 methods. bql does not beat the trivial "
         "uniform-random."),
        ("minatar/night", "3 of 7 methods may be best by learning speed; ua-dqn leads (0.34)."),
        ("minatar/night", "No method beats the trivial uniform-random (0.000); ua-dqn comes "
         "closest (0.34)."),
        ("minatar/quick", "4 of 5 methods may be best; ua-dqn leads (0.13)."),
        ("minatar/quick", "4 of 5 methods may be best: ua-dqn leads on space_invaders, dqn on "
         "breakout."),
        ("fashion/ood", "random-forest (0.50) is best of 19 methods."),
        ("cartpole/paper", "8 of 13 methods may be best; sentinel-8 leads (0.96). Trust no "
         "method's 90 % intervals: they cover 0 to 6 % of true values."),
        ("offline-values/quick", "4 of 9 methods may be best; randomized-prior-dqn leads (0.51). "
         "Those of bdqn (77 %) may be too narrow."),
        ("windy-cliff/paper", "ua-dqn-averse (0.80) or ua-dqn-averse-biased (0.75) is best of 4 "
         "methods. qr-dqn does not beat the trivial constant-action (0.000)."),
        ("regression/paper", "9 of 10 methods may be best; swag leads 2 of 4 tasks, and the mean "
         "(0.46). Trust no method's 90 % intervals: they cover 88 to 90 % of true values."),
    ],
)  # fmt: skip
def test_a_sentence_that_contradicts_its_board_is_found(board, said):
    assert found_in(said, StoredBoard.read(BOARDS / board))


def test_an_unranked_row_above_all_methods_stands_in_the_headline():
    board = StoredBoard.read(BOARDS / "minatar" / "quick")
    frame, rest = board.table("leaderboard.csv"), (board.told.tasks, board.told.metric)
    assert Told(frame, "mean", True, *rest).headline.endswith(" The unranked script has 0.33.")
    below = frame.assign(mean=frame["mean"].where(frame["method"] != "script", 0.1))
    assert "unranked" not in Told(below, "mean", True, *rest).headline


def test_the_note_says_what_a_budget_gives_to_all_methods():
    told = StoredBoard.read(BOARDS / "minatar" / "quick").told
    assert "settings are the suite's." in told.note
    given = replace(told, settings={"learning_rate": 0.001}).note
    assert "settings are the suite's; the budget gives to all: learning_rate 0.001." in given


def test_a_mean_that_few_runs_move_stands_beside_that_of_its_middle_half():
    said = StoredBoard.read(BOARDS / "return-distribution" / "paper").finding
    few = " A few runs or tasks pull the mean; the middle half of c51's runs averages 0.87."
    assert said.endswith(few)


def test_pages_have_the_headline_of_their_board():
    """Those of an earlier protocol are kept as they were written."""
    index = (BOARDS / "README.md").read_text("utf-8")
    for folder, name in zip(FOLDERS, NAMES, strict=True):
        if f"({name}/README.md) ‡" not in index:
            assert f"**{StoredBoard.read(folder).finding}**" in (folder / "README.md").read_text()
