"""The page: a template, a style, a script, and a policy that forbids every request."""

import base64
import math
from collections.abc import Sequence
from hashlib import sha256
from importlib import resources

import jinja2
from altair.utils.schemapi import debug_mode
from markupsafe import Markup

from uqbench.boards.protocol import versions_here
from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import UqbenchError
from uqbench.contract.wording import duration
from uqbench.pages.board_view import parts
from uqbench.pages.plots.render import DARK
from uqbench.pages.plots.theme import SIGNS
from uqbench.pages.report.sections import BoardSection
from uqbench.pages.verdicts import WORDS, Counted, by_paper, distinct
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.statistics.estimate import Estimate
from uqbench.suites.suite import Suite


def page(
    folders: Sequence[Folder], root: str, suites: dict[str, Suite], host: Host
) -> tuple[str, list[str]]:
    """The report of some boards as HTML, and what could not be shown.

    Args:
        folders: of the boards.
        root: what commands on the page call the folder of the boards.
        suites: the installed ones, by name.
        host: the plugins.

    Raises:
        UqbenchError: every board is damaged.
    """
    versions, boards, damaged = versions_here(host), [], []
    # without Altair's checks of every chart, a second of them: `uqbench plot` makes them
    with debug_mode(False):
        for folder in folders:
            try:
                board = StoredBoard.read(folder)
                section = BoardSection(board, suites.get(board.suite), versions, host)
                _ = board.scores
                boards.append(section)
            except UqbenchError as error:  # it costs itself, and no other
                damaged.append(str(error))
        if damaged and not boards:
            raise UqbenchError(damaged[0])
    # of the boards that rank, the first whose methods' intervals get most different words
    ranked = [of for of in boards if of.board.ranks and "trust" in of.figures]
    front = max(ranked, key=lambda x: x.board.leaderboard["calibration"].nunique(), default=None)
    claims = [claim for section in boards for claim in section.claims]
    papers = by_paper(claims)
    script, style = _part("report.js"), _part("report.css") + DARK
    template = _environment().get_template("report.html.j2")
    text = template.render(
        root=root,
        boards=boards,
        papers=papers,
        every=Counted("all papers", tuple(distinct(claims))),
        front=front,
        verdicts=WORDS,
        signs=SIGNS,
        runs=sum(len(section.board.scores) for section in boards),
        earlier=[section for section in boards if section.earlier],
        script=Markup(script),
        style=Markup(style),
        policy=policy(script),
    )
    return text, [*damaged, *(f"{of.board.title}: {why}" for of in boards for why in of.missing)]


def policy(script: str) -> str:
    """The content security policy of a page with this script: nothing from elsewhere."""
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        f"img-src data:; base-uri 'none'; form-action 'none'"
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("uqbench.pages.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "num": _number,
        "estimate": _estimate,
        "duration": _duration,
        "slug": lambda sign: sign.replace(" ", "-"),
    }
    return environment


def _number(value: float | None, digits: int = 3) -> Markup:
    """A number as people read it, with its full value for programs."""
    if value is None or not math.isfinite(value):
        return Markup('<span class="none">–</span>')
    shown = f"{round(value, digits) + 0.0:.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"
    return Markup('<data value="{}">{}</data>').format(repr(float(value)), shown.replace("-", "−"))


def _duration(hours: float | None) -> Markup:
    """Hours in the unit that suits them, with the full value for programs."""
    if hours is None or not math.isfinite(hours):
        return _number(None)
    return Markup('<data value="{}">{}</data>').format(repr(float(hours)), duration(3600 * hours))


def _estimate(estimate: Estimate | None) -> Markup:
    """``0.50 [0.40, 0.60]``."""
    if estimate is None:
        return _number(None)
    value, around = map(Markup, parts(estimate, _number))
    return Markup('{} <span class="ci">{}</span>').format(value, around) if around else value


def _part(name: str) -> str:
    return resources.files("uqbench.pages.report").joinpath("templates", name).read_text("utf-8")
