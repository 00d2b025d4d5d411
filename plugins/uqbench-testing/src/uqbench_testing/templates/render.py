"""The files of a new plugin from its name and kinds, without a network.

A file ``X.tmpl`` below this folder is a ``string.Template`` of the file ``X`` of a plugin. A module
is of the kind that it is named after. In others a line ``## KIND …`` begins lines for these kinds
alone, ``## all`` lines for every plugin; a file that has none is left out. A kind that cannot be on
a board by itself brings what it needs, an agent an environment.
"""

import re
from collections.abc import Collection
from pathlib import Path
from string import Template

from uqbench.contract.errors import UqbenchError
from uqbench.contract.version import __version__

KINDS = {
    "agent": "environment",
    "loop-agent": "environment",
    "environment": "",
    "lane-environment": "",
    "dataset": "estimator",
    "estimator": "dataset",
    "risk": "environment",
    "claim-kind": "environment",
    "figure": "environment",
}
"""By kind: another that it needs for a row on a board."""
LEARNS_FROM_DATA = {"dataset", "estimator"}
NAME = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"


def render(name: str, kinds: Collection[str]) -> dict[str, str]:
    """The files of a new plugin, texts by path below its folder.

    Raises:
        UqbenchError: the name is not one of a distribution and a suite.
    """
    if not re.fullmatch(NAME, name):
        near = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-").lstrip("0123456789-")
        expected = f"lower-case words and hyphens, such as {near or 'my-method'!r}"
        raise UqbenchError(f"expected a name of {expected}; got {name!r}")
    chosen = {*kinds, *(KINDS[kind] for kind in kinds), "all"}
    package, root = name.replace("-", "_"), Path(__file__).parent
    major, minor = __version__.split(".")[:2]  # the contract's version and the next
    values = {"name": name, "package": package, "version": __version__}
    values |= {"series": f"{major}.{minor}", "next": f"{major}.{int(minor) + 1}"}
    values["extra"] = "[report]" if "figure" in chosen else ""
    needed = f', "uqbench-lanes>={values["series"]},<{values["next"]}"'
    values["lanes"] = needed if chosen & {"agent", "lane-environment"} else ""
    made = {f"src/{package}/py.typed": ""}
    for path in sorted(root.rglob("*.tmpl")):
        kind = path.name.partition(".")[0].replace("_", "-")
        parts = re.split(r"^## (.+)\n", f"## all\n{path.read_text('utf-8')}", flags=re.MULTILINE)
        sections = zip(parts[1::2], parts[2::2], strict=True)
        text = "".join(part for kinds_of, part in sections if chosen & {*kinds_of.split()})
        if text and (kind not in KINDS or kind in chosen):
            place = path.relative_to(root).with_suffix("").as_posix()
            made[place.replace("/package/", f"/{package}/")] = Template(text).substitute(values)
    return made


def write(folder: Path, made: dict[str, str]) -> None:
    """Write the files of a new plugin.

    Raises:
        UqbenchError: the folder exists and is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UqbenchError(f"{folder} exists already, and nothing is overwritten; move it away")
    for path, text in made.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
