"""The site's pages that are made from the committed boards and the code, for ``mkdocs build``.

Below ``boards/`` is the explorer with its data; the front page's chooser is laid out by the
templates in ``tools/site_pages``. The rules of conformance, the keys of suite files and the
notebooks become pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import conformance_page
import jinja2
import suite_keys
from site_boards import NEEDS, SECONDS, WORLDS, SiteBoard, chosen, site_boards
from uqbench_claims.judged import WORDS, Counted, by_paper, distinct
from uqbench_report.explorer.board import Data
from uqbench_report.explorer.matrix import html
from uqbench_report.explorer.page import PAGE, QUESTION, Explorer, part, style
from uqbench_report.plots import catalog
from uqbench_report.plots.render import render

from uqbench.boards.stored import board_folders
from uqbench.contract.figure import NotDrawableError
from uqbench.registry.load_host import load_host
from uqbench.suites.reading import read_suites

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parents[1]
BOARDS = ROOT / "leaderboards"
MADE = {"conformance.md": conformance_page.page, "suite-keys.md": suite_keys.page}
"""Pages that are made from the code."""
PART = re.compile(r'<div data-part="([a-z]+)"></div>')
BUDGETS = {"seconds": "10 seconds", "minutes": "10 minutes", "any": "any"}


@cache
def boards() -> tuple[SiteBoard, ...]:
    """The committed boards."""
    return tuple(site_boards(BOARDS))


def parts(name: str) -> str:
    """The HTML of a part of the front page."""
    made = {
        "chooser": _chooser,
        "matrix": _matrix,
        "counts": lambda: _laid_out("counts", link="boards/claims.html", **_claims()),
    }
    return made[name]()


@cache
def explorer() -> Explorer:
    """The pages of boards, methods and claims."""
    host = load_host()
    suites = read_suites(host, check=()).suites
    return Explorer(board_folders(BOARDS), suites, host, root="leaderboards")


def explorer_pages(
    of: Explorer, address: str = "", home: str = ""
) -> Iterator[tuple[str, str | bytes]]:
    """Name and contents of each file of a folder with a page for each board and method.

    Args:
        of: the boards.
        address: at which the folder will be, as link previews need it; empty for a folder.
        home: of the site around it, from here; empty for none.
    """
    yield "explorer.css", style()
    yield "explorer.js", part("explorer.js")
    table = html(of.matrix, page_of)
    yield "data/index.js", _assigned("index", {**of.index, "matrix": table, "home": home})
    for name, data in of.boards.items():
        yield f"data/{name}.js", _assigned(name, {**data, "figures": data["figures"][:1]})
        further = {"figures": data["figures"][1:]}
        yield f"data/{name}.figures.js", _assigned(f"{name}.figures", further)
        try:
            picture = catalog.FIGURES["trust"](of.stored[name])
        except NotDrawableError:
            picture = catalog.FIGURES["intervals"](of.stored[name])
        yield f"{name}.png", render(picture, "png", scale=1.25)
    kinds = {"index": "boards", "methods": "methods", "claims": "claims"}
    pages = [(name, kind, kind.capitalize(), QUESTION) for name, kind in kinds.items()]
    pages += [(n, f"board:{n}", one.title, one.finding) for n, one in of.stored.items()]
    for one in of.index["methods"]:
        said = f"{one['about']}. {one['source']}"
        pages.append((f"method-{one['of']}", f"method:{one['of']}", one["title"], said))
    for name, page, title, said in pages:
        own = name in of.boards
        sources = ["data/index.js", *[f"data/{name}.js"] * own, "explorer.js"]
        told = {"title": f"{title} · uqbench", "said": said, "page": page, "sources": sources}
        yield f"{name}.html", PAGE.render(told, image=own and f"{address}{name}.png")


def page_of(kind: str, name: str) -> str:
    """The page of a board or method in a folder of pages."""
    return f"{name}.html" if kind == "board" else f"{kind}-{name}.html"


def your_method() -> str:
    """The README's section on a method of one's own, as a part of a page in ``docs``."""
    text = (ROOT / "README.md").read_text("utf-8")
    _, _, after = text.partition("## Your method\n")
    own, _, _ = after.partition("\n## ")
    if not own:
        raise ValueError("README.md: expected a section 'Your method', which the site shows.")
    return own.replace("](docs/", "](").strip()


def notebook(path: Path) -> str:
    """A notebook as Markdown: its cells, and what they printed or showed."""
    text = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        own = "".join(cell["source"])
        text.append(f"```python\n{own}\n```" if cell["cell_type"] == "code" else own)
        for output in cell.get("outputs", []):
            text.append(_shown_by(output))
    link = f"[Download the notebook]({path.name}).\n"
    return "\n\n".join([*filter(None, text), link])


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, the boards' data and the notebooks."""
    from mkdocs.structure.files import File

    address = f"{config.site_url.rstrip('/')}/boards/" if config.site_url else ""
    for name, made_file in explorer_pages(explorer(), address, home="../"):
        files.append(File.generated(config, f"boards/{name}", content=made_file))
    for name, made in MADE.items():
        files.append(File.generated(config, name, content=made()))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        name = f"notebooks/{path.stem}.md"
        files.append(File.generated(config, name, content=notebook(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the README's section where a page asks for it."""
    return markdown.replace("<!-- your method -->", your_method())


def on_page_content(html: str, **_: Any) -> str:
    """Put the parts where a page asks for them."""
    return PART.sub(lambda found: parts(found[1]), html)


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    """Add the pages of boards, methods and claims to the search, which knows Markdown alone."""
    path = Path(config.site_dir) / "search" / "search_index.json"
    index = json.loads(path.read_text("utf-8"))
    index["docs"] += searched(explorer())
    path.write_text(json.dumps(index, ensure_ascii=False), encoding="utf-8")


def searched(of: Explorer) -> list[dict[str, str]]:
    """The entries of boards and methods in the search: their names, titles and findings."""
    boards = [
        {
            "location": f"boards/{name}.html",
            "title": board["title"],
            "text": " ".join([board["finding"], board["summary"], *_names(board["methods"])]),
        }
        for name, board in of.boards.items()
    ]
    methods = [
        {
            "location": f"boards/method-{one['of']}.html",
            "title": f"Method: {one['title']}",
            "text": " ".join([one["about"], one["source"], *_names(one["rows"])]),
        }
        for one in of.index["methods"]
    ]
    return boards + methods


def _assigned(name: str, data: Data) -> str:
    """A script that gives the page its data, since a page from a file may not fetch any."""
    return (
        f"(globalThis.uqbench ??= {{}})[{json.dumps(name)}] = {json.dumps(data, allow_nan=False)};"
    )


def _names(rows: Sequence[Mapping[str, Any]]) -> set[str]:
    return {f"{row['name']} {row['title']}" for row in rows}


def _matrix() -> str:
    table = html(explorer().matrix, lambda kind, name: f"boards/{page_of(kind, name)}")
    return f"<style>{part('matrix.css')}</style>{table}"


def _chooser() -> str:
    titles = {one.id: one.board.title for one in boards()}
    answers = {
        f"{world}/{need}/{budget}": (said, [{**vars(of), "name": titles[of.board]} for of in best])
        for world in WORLDS
        for need in NEEDS
        for budget in SECONDS
        for said, best in [chosen(boards(), world, need, budget)]
    }
    choices = [
        ("world", "My agent sees", [(name, name, more) for name, more in WORLDS.items()]),
        ("need", "I need", [(name, text, "") for name, text in NEEDS.items()]),
        ("budget", "A run may take, on one core", [(n, t, "") for n, t in BUDGETS.items()]),
    ]
    first = {"world": "tabular", "need": "return", "budget": "any"}
    return _laid_out("chooser", choices=choices, chosen=first, answers=answers)


@cache
def _claims() -> dict[str, Any]:
    judged = [claim for one in boards() for claim in one.claims]
    every = Counted("all papers", tuple(distinct(judged)))
    return {"papers": by_paper(judged), "every": every, "verdicts": WORDS}


def _shown_by(output: Mapping[str, Any]) -> str:
    data = output.get("data", {})
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:
            text = re.sub(r"<style.*?</style>", "", "".join(data[kind]), flags=re.S)
            return f'<div class="uq-output">{" ".join(text.split())}</div>'
    said = "".join(data.get("text/plain", output.get("text", "")))
    return f"```text\n{said.rstrip()}\n```" if said else ""


def _laid_out(name: str, **values: Any) -> str:
    return _environment().get_template(f"{name}.html.j2").render(**values)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "site_pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"slug": _slug, "anchor": _slug}
    return environment


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
