"""Progress in a notebook is one stream of text: each display of its own would be one output."""

import rich.console

from uqbench.runner import display


def test_lines_go_to_stderr_where_rich_sees_a_notebook(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *line: shown.append(line))
    made = display.Console
    watcher = display.Terminal()
    monkeypatch.setattr(display, "TimeLeft", lambda *_: None)
    consoles = []

    def console(**options):
        consoles.append(made(**options))
        return consoles[-1]

    monkeypatch.setattr(display, "Console", console)
    with watcher.watch([], {}, 1):
        consoles[0].print("started")
        consoles[0].print("done")
    watcher.say("written")
    assert shown == []
    assert capsys.readouterr().err.split() == ["started", "done", "written"]
