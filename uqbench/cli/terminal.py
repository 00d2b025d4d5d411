"""Output of commands: text from elsewhere is made visible before a terminal can obey it."""

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from uqbench.contract.wording import fitted
from uqbench.contract.wording import visible as visible

if TYPE_CHECKING:
    import pandas as pd


def say(
    *lines: str, err: bool = False, bold: bool = False, colors: Mapping[str, str] | None = None
) -> None:
    """Print lines; whatever is in one, it stays one line.

    Args:
        lines: to print.
        err: to stderr.
        bold: the whole lines.
        colors: colors by words; each word is colored where a line first has it.
    """
    for line in lines:
        text = fitted(visible(line), sys.stderr if err else sys.stdout)
        for words, color in (colors or {}).items():
            text = text.replace(words, click.style(words, fg=color), 1)
        click.echo(click.style(text, bold=True) if bold else text, err=err)


def warn(text: str) -> None:
    """Print a line to stderr."""
    say(text, err=True)


def print_json(value: Any) -> None:
    """Print a value as JSON.

    Raises:
        ValueError: it has a number that is none of JSON.
    """
    click.echo(json.dumps(value, indent=1, allow_nan=False))


def records(frame: "pd.DataFrame") -> Any:
    """The rows of a frame as JSON has them: what is no number is null."""
    return json.loads(frame.to_json(orient="records", double_precision=15))
