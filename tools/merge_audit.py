"""List what merges may have lost: files taken wholly from one side though both changed them.

    python tools/merge_audit.py [REVISION]

Of such a file, the lines that the other side added since the merge base and that are in no file of
REVISION (HEAD) are printed; none are where the other side's work came back or moved. Lines are
compared without the blanks around them.
"""

import argparse
import subprocess
from collections.abc import Iterator
from typing import NamedTuple


class Loss(NamedTuple):
    """A file of a merge, and the losing side's added lines that are nowhere now."""

    merge: str
    path: str
    losing: str
    added: int
    gone: list[str]


def git(*arguments: str, ok: tuple[int, ...] = (0,)) -> str:
    """What a git command prints; bytes that are not UTF-8 are replaced."""
    command = ["git", "--literal-pathspecs", *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode not in ok:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="replace")


def changed(base: str, commit: str) -> set[str]:
    """The paths that differ."""
    return set(git("diff-tree", "-r", "-z", "--name-only", base, commit).split("\0")[:-1])


def lines(text: str) -> set[str]:
    """The lines with a letter or digit, stripped."""
    return {line.strip() for line in text.splitlines() if any(map(str.isalnum, line))}


def losses(revision: str = "HEAD") -> Iterator[Loss]:
    """Every file that a two-sided merge before ``revision`` resolved to one side."""
    now = lines(git("grep", "-Ihe", "", revision, ok=(0, 1)))
    for line in git("rev-list", "--merges", "--parents", revision).splitlines():
        merge, *parents = line.split()
        bases = git("merge-base", *parents, ok=(0, 1)).split()
        if len(parents) != 2 or not bases:
            continue  # an octopus never resolves a conflict; unrelated histories have no base
        both = changed(bases[0], parents[0]) & changed(bases[0], parents[1])
        for won, lost in (parents, parents[::-1]):
            disputed = both & changed(won, lost)
            for path in sorted(disputed - changed(won, merge)):
                diff = git("diff", "-U0", "--no-renames", bases[0], lost, "--", path)
                hunks = diff.partition("\n@@")[2].splitlines()
                added = lines("\n".join(line[1:] for line in hunks if line.startswith("+")))
                yield Loss(merge[:9], path, lost[:9], len(added), sorted(added - now))


def main() -> None:
    """Print the table, the most lines lost first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision", nargs="?", default="HEAD")
    parser.add_argument("--quiet", action="store_true", help="without the lines themselves")
    given = parser.parse_args()
    print(f"{'merge':9}  {'losing':9}  {'added':>5}  {'gone':>4}  file")
    for loss in sorted(losses(given.revision), key=lambda loss: -len(loss.gone)):
        print(f"{loss.merge}  {loss.losing}  {loss.added:5}  {len(loss.gone):4}  {loss.path}")
        for line in [] if given.quiet else loss.gone:
            print(f"    {line}")


if __name__ == "__main__":
    main()
