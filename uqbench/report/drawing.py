"""The page's pictures, drawn while its tables are read and the next charts are made.

vl-convert draws on a thread of its own and does not hold Python's lock, so that on two cores the
page waits for whichever of the two takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from markupsafe import Markup

from uqbench.figure import Figure
from uqbench.plots.render import drawn, specification, warm_up


@dataclass(frozen=True)
class Picture:
    """A figure that is being drawn."""

    figure: Figure
    svg_of: Future[Markup]

    @property
    def svg(self) -> Markup:
        """Its SVG, waited for.

        Raises:
            Exception: whatever is wrong with the chart.
        """
        return self.svg_of.result()

    @property
    def failure(self) -> str:
        """What is wrong with the chart, which may be anything in a plugin's; empty if nothing."""
        error = self.svg_of.exception()
        return "" if error is None else f"{type(error).__name__}: {error!s:.300}"


@contextmanager
def drawing() -> Iterator[Callable[[str, Figure], Picture]]:
    """What begins to draw a figure while its caller goes on, its ids having a prefix.

    The end waits for all of them, an error for the one being drawn.
    """
    thread = ThreadPoolExecutor(1)
    thread.submit(warm_up)

    def begin(prefix: str, figure: Figure) -> Picture:
        try:
            chart = specification(figure)  # here: Altair's settings are those of all threads
        except Exception as error:  # a plugin's chart may be wrong in any way
            failed: Future[Markup] = Future()
            failed.set_exception(error)
            return Picture(figure, failed)
        return Picture(figure, thread.submit(lambda: Markup(drawn(chart, figure, prefix=prefix))))

    try:
        yield begin
    except BaseException:
        thread.shutdown(cancel_futures=True)
        raise
    thread.shutdown()
