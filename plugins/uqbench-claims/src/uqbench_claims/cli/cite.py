"""``uqbench cite``: the papers behind a suite or a method, as BibTeX."""

from uqbench.cli.options import load_host, takes
from uqbench.cli.terminal import say


@takes(names={"name": "SUITE|METHOD"})
def command(name: str) -> int:
    """Print the papers of a suite or method.

    As BibTeX. A suite's are those of its tasks, methods and claims, and uqbench itself. A method is
    one of any suite, or an agent or estimator. Citations without an entry are named on stderr; then
    the exit code is 1.

    \b
    Examples:
      uqbench cite minatar
      uqbench cite ua-dqn
    """
    from uqbench.contract.errors import unknown
    from uqbench.registry.definitions import source
    from uqbench.registry.papers import cited
    from uqbench.suites.reading import read_suites

    host = load_host()
    suites = read_suites(host, check=()).suites
    if name in suites:
        sources = [*suites[name].sources(host), "The uqbench maintainers"]
    else:
        methods = [method for suite in suites.values() for method in suite.methods]
        sources = [method.cited(host) for method in methods if method.name == name]
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
