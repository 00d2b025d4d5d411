"""``uqbench cite``: the papers behind a suite or a method, as BibTeX."""

from pathlib import Path
from typing import Annotated

from uqbench.cli.options import Folder, load_host, takes
from uqbench.cli.terminal import say


@takes(names={"name": "SUITE|METHOD", "boards": "--from"})
def command(
    name: str,
    *,
    statistics: bool = False,
    pair: Annotated[str, "A,B"] | None = None,
    budget: str | None = None,
    boards: Folder = Path("results"),
) -> int:
    """Print the papers of a suite, or of a method, as BibTeX.

    A suite's are those of its tasks, methods and claims, and uqbench itself. A method is one of any
    suite, or an agent or estimator. Citations without an entry are named on stderr; then the exit
    code is 1.

    \b
    Examples:
      uqbench cite minatar
      uqbench cite ua-dqn
      uqbench cite --statistics minatar
      uqbench cite minatar --pair ua-dqn,qr-dqn --budget cpu --from leaderboards

    Args:
        statistics: Print how a suite's boards make intervals and ranks, for a paper, instead.
        pair: Print whether a suite's board tells these two methods apart, instead.
        budget: Of that board; the suite names the default.
        boards: With --pair: a folder of results, or of leaderboards.
    """
    from uqbench.api.load import load
    from uqbench.boards.statistics_sentence import statistics_sentence
    from uqbench.contract.errors import UqbenchError, unknown
    from uqbench.registry.definitions import source
    from uqbench.registry.papers import cited
    from uqbench.suites.reading import read_suites
    from uqbench.suites.sources import sources_of
    from uqbench.suites.variants import split_outside

    if budget is not None and not statistics and pair is None:
        raise UqbenchError("--budget names the board of --statistics or --pair: give one of them.")
    host = load_host()
    suites = read_suites(host, check=()).suites
    if statistics or pair is not None:
        if name not in suites:
            raise unknown("suite", name, suites)
        budget = budget or suites[name].default_budget
        if statistics:
            say(statistics_sentence(suites[name], suites[name].budget(budget)))
        if pair is not None:
            first, *second = split_outside(pair)
            say(load(boards)[name, budget].sentence(first, ",".join(second)))
        return 0
    if name in suites:
        sources = [*sources_of(suites[name], host), "The uqbench maintainers"]
    else:
        methods = [method for suite in suites.values() for method in suite.methods]
        sources = [source(method.spec(host)) for method in methods if method.name == name]
        for registry in (host.agents, host.estimators):
            sources += [source(registry[name])] if name in registry else []
        if not sources:
            names = [*suites, *(method.name for method in methods), *host.agents, *host.estimators]
            raise unknown("suite or method", name, names)
    papers, missing = cited(host, sources)
    for number, paper in enumerate(papers):
        say(*[""] * bool(number), *paper.bibtex.splitlines())
    for citation in missing:
        say(f"uqbench: {citation}: no plugin that is loaded has its BibTeX entry.", err=True)
    if not papers and not missing:
        said = "; ".join(dict.fromkeys(filter(None, sources))) or "none"
        say(f"uqbench: {name} cites no paper; its source: {said}.", err=True)
    return 1 if missing else 0
