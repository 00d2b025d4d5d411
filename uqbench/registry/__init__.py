"""Plugins: they are found, imported with care, and their specs get names.

Read ``plugins`` (discovery; a ``Host`` is all that is registered) and ``registry`` (specs by name),
then ``side_effects`` (imports that change the process), and ``local`` (files and classes
that are not installed).
"""

from uqbench.contract.faces import face

__getattr__ = face(__name__, plugins="Host", classes="Added", registry="Plugin")
