"""Progress in a notebook is one stream of text: each display of its own would be one output."""

import rich.console

from uqbench.runner import display


def test_lines_go_to_stderr_where_rich_sees_a_notebook(monkeypatch, capsys):
    shown = []
    monkeypatch.setenv("FORCE_COLOR", "1")  # ipykernel's stderr says that it is a terminal
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *line: shown.append(line))
    made, watcher = display.Console, display.Terminal()
    monkeypatch.setattr(display, "TimeLeft", lambda *_, **__: None)
    consoles = []

    def console(**options):
        consoles.append(made(**options))
        return consoles[-1]

    monkeypatch.setattr(display, "Console", console)
    with watcher.watch([], {}, 1):
        assert not consoles[-1].is_terminal
        consoles[-1].print("started")
        consoles[-1].print("done")
    watcher.say("written")
    assert shown == []
    assert capsys.readouterr().err.split() == ["started", "done", "written"]
