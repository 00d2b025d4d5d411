"""Summary and source of a spec: its own, or those of its factory's docstring."""

import inspect

from uqbench.contract.errors import UqbenchError
from uqbench.contract.specs import Spec

SOURCE = "Source: "
"""Prefix of the docstring line that cites the paper, with equation or figure."""


def summary(spec: Spec) -> str:
    """One line: the spec's own, or the first of its factory's docstring.

    Raises:
        UqbenchError: the factory cannot be imported.
    """
    return spec.summary or _paragraph(_docstring(spec))


def source(spec: Spec) -> str:
    """The paper, figure or page: the spec's own, or the docstring's line ``Source: …``.

    Raises:
        UqbenchError: the factory cannot be imported.
    """
    if spec.source:
        return spec.source
    _, _, cited = f"\n{_docstring(spec)}".partition(f"\n{SOURCE}")
    return _paragraph(cited)


def _docstring(spec: Spec) -> str:
    try:
        return inspect.getdoc(spec.load_factory()) or ""
    except Exception as error:  # its module may raise anything
        raise UqbenchError(
            f"{spec.name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error


def _paragraph(text: str) -> str:
    """The first paragraph as one line, without its full stop."""
    return " ".join(text.strip().split("\n\n")[0].split()).rstrip(".")
