"""Importing plugins, which may hang, or end the process: the one that does it gets a name.

One that takes long is named while it does. What is being imported is logged (``uqbench``, level
``DEBUG``): ``uqbench doctor`` imports all in another process first, and names the last if that
process ends.
"""

import logging
from importlib import metadata

from uqbench.contract.hookspecs import ENTRY_POINT_GROUP
from uqbench.registry.classes import added
from uqbench.registry.side_effects import announced

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
    then = "press Ctrl-C, and name the plugins to load without it in UQBENCH_PLUGINS"
    with announced(who, then):
        return entry_point.load()
