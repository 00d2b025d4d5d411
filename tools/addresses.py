"""Give every package of a checkout the address of its repository, for an index: before a release.

    python tools/addresses.py https://HOST/OWNER/uqbench

Relative links and pictures of each README, dead on an index's page, and its `git clone` get the
address, and each
``pyproject.toml`` gets ``[project.urls]``. The checkout that is changed is one to throw away.
"""

import re
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)\[((?:!\[[^\]]*\]\([^)]*\)|[^\]])*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def with_addresses(text: str, address: str, folder: PurePosixPath) -> str:
    """A README of a folder of the repository whose relative links begin with the address."""

    def whole(link: re.Match[str]) -> str:
        shown = LINK.sub(whole, link[2])  # a picture may be what leads somewhere
        path, _, place = link[3].partition("#")
        parts: list[str] = []
        for part in (folder / path).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        kind = "raw" if link[1] else "blob"
        return (
            f"{link[1]}[{shown}]({address}/{kind}/main/{'/'.join(parts)}{'#' * bool(place)}{place})"
        )

    return LINK.sub(whole, text).replace("git clone ADDRESS", f"git clone {address}")


def urls(address: str) -> str:
    """``[project.urls]``."""
    return (
        f'\n[project.urls]\nSource = "{address}"\nDocumentation = "{address}/tree/main/docs"\n'
        f'Changelog = "{address}/blob/main/CHANGELOG.md"\nIssues = "{address}/issues"\n'
    )


def main() -> None:
    """Change the files."""
    match sys.argv[1:]:
        case [address] if address.startswith("https://"):
            address = address.rstrip("/")
        case given:
            sys.exit(f"expected one address, https://HOST/OWNER/NAME, got {given}")
    for project in (ROOT / "pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))):
        readme, folder = project.with_name("README.md"), project.parent.relative_to(ROOT)
        text = readme.read_text("utf-8")
        readme.write_text(with_addresses(text, address, PurePosixPath(folder.as_posix())), "utf-8")
        project.write_text(project.read_text("utf-8") + urls(address), "utf-8")


if __name__ == "__main__":
    main()
