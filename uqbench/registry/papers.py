"""The papers behind suites and methods, as BibTeX.

A package that implements a paper has its entry in ``papers.bib``, next to its ``plugin.py``. The
field ``citedas`` holds how a ``source`` cites it, as ``Clements et al. 2019``, several ways parted
by semicolons; BibTeX ignores it.
"""

import importlib.util
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from uqbench.registry.plugins import Host

FILE = "papers.bib"
NAME = r"[A-Z][\w'’-]+"
CITATION = re.compile(rf"{NAME}(?:, {NAME})*(?: et al\.| (?:&|and) {NAME})? (?:1[89]|20)\d\d\b")
"""What looks like a citation: ``Mnih et al. 2015``, ``Tang & Agrawal 2018``, ``Neal 1996``."""


@dataclass(frozen=True)
class Paper:
    """An entry.

    Attributes:
        key: that BibTeX cites it by.
        cited_as: how sources do.
        bibtex: the entry, without the field ``citedas``.
    """

    key: str
    cited_as: tuple[str, ...]
    bibtex: str


def cited(host: Host, sources: Iterable[str]) -> tuple[list[Paper], list[str]]:
    """The papers that some sources cite, in their order, and citations that nothing knows.

    Args:
        host: whose plugins' papers are known, and uqbench's own.
        sources: such as ``Osband et al. 2016; after Clements et al. 2019, section 2``.
    """
    known = [(name, paper) for paper in papers(host) for name in paper.cited_as]
    cited: dict[str, Paper] = {}
    unknown: dict[str, None] = {}
    for source in sources:
        rest = source
        places = [(source.find(name), name, paper) for name, paper in known if name in source]
        for _, name, paper in sorted(places, key=lambda place: place[0]):
            cited.setdefault(paper.key, paper)
            rest = rest.replace(name, "")
        unknown |= dict.fromkeys(CITATION.findall(rest))
    return list(cited.values()), list(unknown)


def papers(host: Host) -> list[Paper]:
    """All papers of the plugins and of uqbench itself; of one key the first."""
    by_key: dict[str, Paper] = {}
    for package in dict.fromkeys(["uqbench", *(plugin.package for plugin in host.plugins)]):
        for paper in _read(package):
            by_key.setdefault(paper.key, paper)
    return list(by_key.values())


def _read(package: str) -> list[Paper]:
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or spec.origin is None:
        return []
    path = Path(spec.origin).parent / FILE
    if not path.is_file():
        return []
    entries = re.split(r"(?m)^(?=@)", path.read_text(encoding="utf-8"))
    return [paper for entry in entries if (paper := _paper(entry.strip())) is not None]


def _paper(entry: str) -> Paper | None:
    key = re.match(r"@\w+\{([^,\s]+),", entry)
    names = re.search(r"(?m)^\s*citedas = \{(.+)\},?\n", entry)
    if key is None or names is None:
        return None
    bibtex = entry[: names.start()] + entry[names.end() :]
    return Paper(key[1], tuple(name.strip() for name in names[1].split(";")), bibtex)
