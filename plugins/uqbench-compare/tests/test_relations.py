"""Twelve changes of a score file: each leaves the result the same, or is refused by its name.

``of_table`` and the like make a change in each of its ways, and tell of each whether that holds.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import score_forms as forms
from score_forms import FORMS, METHODS, STEPS, TASKS, Form

import uqbench
from uqbench.errors import UqbenchError

TABLES = (
    "split in two", "permute rows", "permute columns", "add a column", "add W&B's columns",
    "append the same", "rename to a number", "cut a tail", "drop a middle", "CRLF and mark",
    "resume in two files", "one name twice")  # fmt: skip
Outcome = tuple[dict[str, Any] | None, str]


def outcome(paths: Sequence[Path], names: dict[str, str] | None = None, **options: Any) -> Outcome:
    """Ranks, pairs, intervals, profile and curves to the bit, or the refusal; what is lacking."""
    try:
        found = uqbench.compare(list(paths), **options)
    except UqbenchError as error:
        return None, str(error)
    tables = {}
    own = {"ranks": ["method"], "pairs": ["first", "second"], "intervals": ["method", "statistic"]}
    for name, keys in own.items():
        table = getattr(found, name).replace(names or {})
        if name == "intervals":  # over the method that the first file has: it is among the pairs
            table = table[~table["statistic"].str.startswith("improvement")]
        tables[name] = table.sort_values(keys).to_json(orient="records", double_precision=15)
    further = {"profile": found.profile()}
    if len(found.curves):
        further |= {"efficiency": found.efficiency, "area": found.area}
    for name, table in further.items():
        table = table.replace({"method": names or {}})
        keys = ["method", *table.columns.intersection(["threshold", "step"])]
        tables[name] = table.sort_values(keys).to_json(orient="records", double_precision=15)
    return tables, repr(found)


def holds(base: Outcome, made: Outcome, files: Sequence[str], *, lacks: str = "") -> bool:
    """The same, or refused with a file's name; where a run was cut, its method may lack a rank."""
    assert base[0] is not None, base[1]
    assert all(f'"{name}"' in base[0]["ranks"] for name in METHODS), base[1]
    result, said = made
    if result is None:
        return any(name in said for name in files)
    if result == base[0]:
        return True
    if not lacks:  # another result
        return False
    if result["ranks"] == base[0]["ranks"]:  # its curve has a hole, and no other value
        return has(result) < has(base[0])
    unranked = re.search(rf"/{lacks} \(\d", said) is not None
    return f'"method":"{lacks}"' not in result["ranks"] and unranked


def has(tables: dict[str, Any]) -> set[tuple[Any, ...]]:
    """The values of curves."""
    rows = json.loads(tables["efficiency"])
    return {tuple(row[name] for name in ("method", "step", "value", "low", "high")) for row in rows}


Same = Callable[..., bool]
Again = Callable[..., list[Path]]


def of_table(name: str, form: Form, root: Path) -> Iterator[bool]:
    table = form.table()
    path = form.write(table, root / "whole" / "results")
    base = outcome([path])

    def again(*frames: Any, at: Sequence[str] = ("one/results", "two/other")) -> list[Path]:
        return [form.write(f, root / place) for f, place in zip(frames, at, strict=False)]

    def same(paths: list[Path], back: dict[str, str] | None = None, lacks: str = "") -> bool:
        names = [path.name for path in paths]
        return holds(base, outcome(paths, back), names, lacks=lacks)

    if name == "split in two":
        half = len(table) // 2
        for at in (("one/results", "two/other"), ("one/results", "two/results")):
            yield same(again(table[:half], table[half:], at=at))
        yield same(again(table[::2], table[1::2]))
    elif name == "append the same":
        yield same([path, path])
        for place in ("two/results", "two/other"):
            yield same([path, form.write(table, root / place)])
        yield same(again(pd.concat([table, table], ignore_index=True)))
    elif name == "rename to a number":
        for new in (("1.1", "1.10"), ("100000", "1e5"), ("07", "7")):
            changed, pairs = table, dict(zip(METHODS, new, strict=True))
            if form.roles:
                of = form.roles["method"]
                changed = table.assign(**{of: table[of].replace(pairs)})
            for old, number in () if form.roles else pairs.items():
                named = [column.replace(f"__{old}__", f"__{number}__") for column in changed]
                changed = changed.set_axis(named, axis=1)
            yield same(again(changed), {number: old for old, number in pairs.items()})
    elif name == "CRLF and mark":
        shutil.copytree(root / "whole", root / "crlf")
        forms.crlf(root / "crlf")
        yield same([root / "crlf" / path.name])
    elif name == "resume in two files":
        yield from resumed(form, table, same, again)
    elif name == "one name twice":
        yield from two_names(form, table, same, again)
    else:
        lacks = "dqn" if name in ("cut a tail", "drop a middle") else ""
        for changed in forms.changed_rows(name, form, table):
            yield same(again(changed), lacks=lacks)


def resumed(form: Form, table: Any, same: Same, again: Again) -> Iterator[bool]:
    """One run goes on in a second file, from the step where it stopped or from one before."""
    if not form.curves:
        yield same(again(table[:1], table[1:]))
    for back in (0, 3) if form.curves else ():
        if not form.roles:
            yield same(again(table[:10], table[10 - back :]))
            continue
        own = (table[form.roles["method"]] == "dqn") & (table[form.roles["seed"]] == "1")
        step = table[form.roles["step"]].astype(int)
        first, second = table[~(own & (step > STEPS[9]))], table[own & (step > STEPS[9 - back])]
        if back:  # what was made again came to something else
            score = form.roles["score"]
            second = second.assign(**{score: [f"{float(x) + 50}" for x in second[score]]})
            # else old and new values are pooled
            yield outcome(again(first, second))[0] is None
        yield same(again(first, second))


def two_names(form: Form, table: Any, same: Same, again: Again) -> Iterator[bool]:
    """A folder a method, in each a file of one name; with a column of methods, and without."""
    given = [[table[[c for c in table if f"__{m}__" in c or " - " not in c]] for m in METHODS]]
    if form.roles:
        of = form.roles["method"]
        parts = [table[table[of] == m] for m in METHODS]
        given = [parts, [part.drop(columns=of) for part in parts]]
    for frames in given:
        yield same(again(*frames, at=("dqn/results", "ppo/results")))


@pytest.mark.parametrize("relation", TABLES)
@pytest.mark.parametrize("form", FORMS)
def test_a_table_that_is_changed_says_the_same_or_is_refused(form, relation, tmp_path):
    held = [*of_table(relation, FORMS[form], tmp_path)]
    assert held == [True] * max(1, len(held))


FOLDERS = {
    "sb3 monitors": forms.monitors,
    "rl-zoo of Atari": lambda root: forms.monitors(root, atari=True),
    "sb3 evaluations": forms.evaluations,
}


def of_folders(name: str, write: Callable[[Path], list[Path]], root: Path) -> Iterator[bool]:
    paths = write(root / "whole")
    base, logs = outcome(paths), shutil.copytree(root / "whole", root / "changed") / "logs"
    changed = [logs / method for method in METHODS]
    own = next((logs / "dqn").glob("*_1"))
    monitor, stored = own / "0.monitor.csv", own / "evaluations.npz"
    if episodes := monitor.exists():
        head, columns, *rows = monitor.read_text().splitlines()
        env = json.loads(head[1:])["env_id"]

        def put(kept: list[str], name: str = "0.monitor.csv", t_start: float = 1.7e9) -> None:
            forms.write_monitor(own / name, kept, env, t_start)

        def timed(kept: list[str]) -> list[str]:
            """The same episodes, with times from the start of another process."""
            begun = float(kept[0].split(",")[2]) - 0.5
            return [f"{r},{n},{float(t) - begun}" for r, n, t in (x.split(",") for x in kept)]
    else:
        with np.load(stored) as file:
            steps, values = file["timesteps"], file["results"]

    def keep(index: Any) -> None:
        if episodes:
            put([rows[k] for k in index])
        else:
            np.savez(stored, timesteps=steps[index], results=values[index])

    count = len(rows) if episodes else len(steps)
    files, lacks = [own.name, "monitor.csv", "evaluations.npz", "dqn"], ""
    if name in ("split in two", "resume in two files"):
        half = count // 2
        if episodes:
            put(rows[:half])
            put(timed(rows[half:]), "1.monitor.csv", 1.7e9 + 9000)
        else:
            keep(range(half))
            other = own.parent / "more" / own.name
            other.mkdir(parents=True)
            np.savez(other / stored.name, timesteps=steps[half:], results=values[half:])
            lacks = "dqn"
    elif name == "permute rows":
        keep(np.random.default_rng(0).permutation(count))
        lacks = "dqn" if episodes else ""
    elif name == "permute columns":
        if not episodes:
            pytest.skip("it has no columns")
        flipped = [",".join(row.split(",")[::-1]) for row in rows]
        monitor.write_text("\n".join([head, "t,l,r", *flipped]) + "\n")
    elif name in ("add a column", "add W&B's columns"):
        if episodes:
            more = "score,_step" if name == "add a column" else "r__MIN,r__MAX"
            text = [head, f"{columns},{more}", *(f"{row},77,88" for row in rows)]
            monitor.write_text("\n".join(text) + "\n")
        else:
            np.savez(stored, timesteps=steps, results=values, _step=steps, score=steps)
    elif name == "append the same":
        for more in (changed[:1], [logs]):
            yield holds(base, outcome([*changed, *more]), files)
        if episodes:
            put(rows, "1.monitor.csv", 1.7e9 + 1)
            (own / "1.monitor.csv").write_bytes(monitor.read_bytes())
    elif name == "rename to a number":
        for new in (("1.1", "1.10"), ("3", "51"), ("C51", "TD3")):
            back = dict(zip(new, METHODS, strict=True))
            at = shutil.copytree(root / "whole", root / "-".join(new)) / "logs"
            given = [(at / m).rename(at / number) for number, m in back.items()]
            yield holds(base, outcome(given, back), files)
    elif name == "cut a tail":
        lacks = "dqn"
        for kept in (count // 3, count * 17 // 20):
            keep(range(kept))
            yield holds(base, outcome(changed), files, lacks=lacks)
    elif name == "drop a middle":
        lacks = "dqn"
        keep([*range(count // 3), *range(count * 2 // 3, count)])
    elif name == "CRLF and mark":
        forms.crlf(logs)
    elif name == "one name twice":
        pytest.skip("each folder has a file of this name: the other relations are about such")
    yield holds(base, outcome(changed), files, lacks=lacks)


@pytest.mark.parametrize("relation", TABLES)
@pytest.mark.parametrize("form", FOLDERS)
def test_folders_that_are_changed_say_the_same_or_are_refused(form, relation, tmp_path):
    held = [*of_folders(relation, FOLDERS[form], tmp_path)]
    assert held == [True] * max(1, len(held))


def of_rliable(name: str, root: Path) -> Iterator[bool]:
    paths = forms.rliable(root / "whole")
    base = outcome(paths)
    games = {path.stem: json.loads(path.read_text()) for path in paths}

    def put(at: str, table: Any) -> Path:
        path = root / at
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(table))
        return path

    def same(*given: Path, back: dict[str, str] | None = None, lacks: str = "") -> bool:
        return holds(base, outcome(given, back), [path.name for path in given], lacks=lacks)

    if name == "split in two":
        halves = [{m: {t: own[t]} for m, own in games.items()} for t in TASKS]
        yield same(put("a/x.json", halves[0]), put("b/x.json", halves[1]))
        parts = [put(f"{k}/dqn.json", {t: games["dqn"][t]}) for k, t in enumerate(TASKS)]
        made = outcome([*parts, paths[1]])
        yield made[0] is None or made[0]["ranks"].count("rank_low") <= 1
    elif name in ("permute rows", "permute columns"):
        flipped = {m: dict(reversed(own.items())) for m, own in games.items()}
        yield same(*(put(f"f/{m}.json", own) for m, own in flipped.items()))
        yield same(put("f/all.json", dict(reversed(flipped.items()))))
    elif name == "add a column":
        for extra in ({"score": [1.0] * 4}, {"method": "dqn"}, {"seed": 3}, {"info": {"a": [1]}}):
            # what is asked of all is a task more
            yield same(put("e/dqn.json", {**games["dqn"], **extra}), paths[1], lacks="ppo")
    elif name == "add W&B's columns":
        pytest.skip("it has no columns")
    elif name == "append the same":
        yield same(*paths, paths[0])
        yield same(*paths, put("again/dqn.json", games["dqn"]))
        yield same(put("a.json", games), put("b.json", games))
    elif name == "rename to a number":
        for new in (("1.1", "1.10"), ("3", "51")):
            back = dict(zip(new, METHODS, strict=True))
            yield same(*(put(f"n/{n}.json", games[m]) for n, m in back.items()), back=back)
    elif name in ("cut a tail", "drop a middle"):
        cut = {t: own[:-1] if t == TASKS[0] else own for t, own in games["dqn"].items()}
        yield same(put("c/dqn.json", cut), paths[1], lacks="dqn")
    elif name == "CRLF and mark":
        forms.crlf(root / "whole")
        yield same(*paths)
    elif name in ("resume in two files", "one name twice"):
        yield same(*(put(f"{m}/scores.json", own) for m, own in games.items()))


@pytest.mark.parametrize("relation", TABLES)
def test_rliables_files_that_are_changed_say_the_same_or_are_refused(relation, tmp_path):
    held = [*of_rliable(relation, tmp_path)]
    assert held == [True] * max(1, len(held))
