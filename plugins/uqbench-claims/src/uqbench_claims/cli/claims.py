"""``uqbench claims``: whether the runs support the claims of the suites' papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uqbench.api.options import Options
from uqbench.cli.options import RUNS, FolderThere, takes
from uqbench.cli.terminal import print_json, say, warn
from uqbench.contract.wording import count

if TYPE_CHECKING:
    from uqbench_claims.api import SuiteVerdicts

COLORS = {"holds": "green", "does not hold": "red", "open": "yellow", "not run": "bright_black"}


@takes(*RUNS, "out", suite=False, names={"boards": "--from"})
def command(options: Options, *, boards: FolderThere | None = None, as_json: bool = False) -> None:
    """Judge each claim of a suite by the runs.

    Verdicts: holds; does not hold; open, with what would decide; not run. Without --suite: a line
    for each suite. Without --budget: the longest budget that has runs. The exit code does not
    depend on the verdicts.

    \b
    Examples:
      uqbench claims --suite minatar --budget night
      uqbench claims --from leaderboards

    Args:
        boards: Judge by the scores of the leaderboard that is stored below this folder.
        as_json: Print JSON.
    """
    from uqbench_claims import table
    from uqbench_claims.api import judge_claims, verdicts

    if not options.suite:
        suites = verdicts(options, boards, warn)
        if as_json:
            print_json([one.as_json() for one in suites])
            return
        width = max((len(one.suite) for one in suites), default=0)
        for one in suites:
            colors = {f"{n} {word}": COLORS[word] for word, n in one.verdicts.items()}
            say(f"{one.suite:<{width}}  {_line(one)}", colors=colors)
        return
    judgements = judge_claims(options, boards, warn)
    if as_json:
        print_json([table.as_json(judged) for judged in judgements])
    elif not judgements:
        say(f"The suite {options.suite} has no claims.")
    else:
        for number, judged in enumerate(judgements):
            sentence, told, *more = table.as_text(judged).splitlines()
            verdict = judged.verdict.value
            say(*[""] * bool(number), sentence)
            say(told, colors={f"  {verdict}": COLORS[verdict]})
            say(*more)


def _line(of: SuiteVerdicts) -> str:
    about = "; ".join(of.papers)
    if of.budget is None:
        return f"no runs ({count(of.claims, 'claim')}; {about})"
    if of.error:
        return f"{of.budget}: cannot be judged: {of.error.splitlines()[0]}"
    return f"{of.budget}: {', '.join(f'{n} {word}' for word, n in of.verdicts.items())} ({about})"
