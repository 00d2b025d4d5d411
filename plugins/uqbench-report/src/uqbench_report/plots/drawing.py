"""The process that draws.

vl-convert reserves the address space of a browser, and dies where there is a limit on that
(``ulimit -v``): it has a process of its own, started when a figure is first drawn.
"""

import os
import signal
from contextlib import suppress
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from uqbench.contract.errors import UqbenchError
from uqbench.runner.executors.spawn import Channel, listen, ready, start


def converted(function: str, *given: Any, **named: Any) -> Any:
    """What a function of vl-convert makes of something.

    Raises:
        ValueError: it cannot.
        UqbenchError: its process died.
    """
    process, channel = _process()
    try:
        channel.send((function, given, named))
        while not (made := [*channel.receive()]):
            ready([channel])
    except (EOFError, OSError):
        _process.cache_clear()
        process.join()
        raise UqbenchError(
            f"the figure could not be drawn: the process that draws ended with {process.exitcode}. "
            f"A limit on virtual memory (ulimit -v) does that: raise it, and draw again."
        ) from None
    if isinstance(made[0], Exception):
        raise made[0]
    return made[0]


@cache
def _process() -> tuple[BaseProcess, Channel]:
    return start(draw)


def draw(channel: Channel) -> None:
    """Answer calls of vl-convert, until nobody asks any more.

    If this machine has the font, too, the renderer would read the file some 30 times a text. It
    looks for fonts when it first draws.
    """
    listen(signal.SIG_DFL)
    os.environ["FONTCONFIG_FILE"] = str(Path(__file__).with_name("fonts.conf"))
    import vl_convert

    with suppress(EOFError, OSError):
        while ready([channel]):
            for function, given, named in channel.receive():
                try:
                    made = getattr(vl_convert, function)(*given, **named)
                except Exception as error:  # the renderer's, of a wrong specification
                    made = ValueError(str(error))
                channel.send(made)
