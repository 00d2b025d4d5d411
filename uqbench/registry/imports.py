"""Importing plugins, which may hang, or end the process: the one that does it gets a name.

One that takes long is named while it does. What is being imported is logged (``uqbench``, level
``DEBUG``): ``uqbench doctor`` imports all in another process first, and names the last if that
process ends.
"""

import logging
import sys
import threading
from importlib import metadata

from uqbench.contract.hookspecs import ENTRY_POINT_GROUP
from uqbench.registry.classes import added

HANG_SECONDS = 10.0
"""After which it is said that a plugin is still being imported."""

EntryPoint = tuple[metadata.Distribution, metadata.EntryPoint]


def load(distribution: metadata.Distribution, entry_point: metadata.EntryPoint) -> object:
    """Import a plugin.

    Raises:
        Exception: whatever its import raises.
    """
    if entry_point.group != ENTRY_POINT_GROUP:
        return added(entry_point)
    who = f"the plugin {entry_point.name!r} of {distribution.name} {distribution.version}"
    logging.getLogger("uqbench").debug("importing %s", who)
    text = (
        f"uqbench: {who} has been importing for {HANG_SECONDS:.0f} s; if it hangs, press Ctrl-C, "
        f"and name the plugins to load without it in UQBENCH_PLUGINS"
    )
    late = threading.Timer(HANG_SECONDS, print, [text], {"file": sys.stderr, "flush": True})
    late.daemon = True
    late.start()
    try:
        return entry_point.load()
    finally:
        late.cancel()
