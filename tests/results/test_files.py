"""No file is written through a link, and none outside of the folder that was asked for."""

import os
from pathlib import Path

import pytest

from uqbench.errors import StorageError, UqbenchError
from uqbench.results import files
from uqbench.results.files import write_whole
from uqbench.results.paths import below, board_folder
from uqbench.results.store import Store


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("precious")
    return path


def test_a_link_in_the_place_of_a_temporary_file_is_not_followed(victim, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for name in (f".probe-{os.getpid()}", f".scores.csv.{os.getpid()}.tmp"):
        (out / name).symlink_to(victim)
    Store(out).prepare()
    write_whole(out / "scores.csv", lambda file: file.write(b"new"))
    assert victim.read_text() == "precious"
    assert (out / "scores.csv").read_bytes() == b"new"


def test_a_guessed_name_of_a_temporary_file_is_refused_not_followed(victim, tmp_path, monkeypatch):
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: "guessed")
    (tmp_path / ".a.guessed.tmp").symlink_to(victim)
    with pytest.raises(StorageError, match="File exists"):
        write_whole(tmp_path / "a", lambda file: file.write(b"new"))
    assert victim.read_text() == "precious"


def test_names_of_temporary_files_are_never_the_same(tmp_path):
    names = set()
    for _ in range(3):
        file, path = files.create(tmp_path, "a")
        file.close()
        names.add(path.name)
    assert len(names) == 3


def test_a_link_in_the_place_of_a_file_is_replaced(victim, tmp_path):
    (tmp_path / "a").symlink_to(victim)
    write_whole(tmp_path / "a", lambda file: file.write(b"new"))
    assert victim.read_text() == "precious"
    assert not (tmp_path / "a").is_symlink()


def test_nothing_is_left_where_writing_fails(tmp_path):
    def fail(file: object) -> None:
        raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        write_whole(tmp_path / "a", fail)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["..", "../evil", "/etc", "a/b", "", ".", ".locks", "a\0b", "é" * 128]
)
def test_a_name_that_is_no_name_makes_no_path(name, tmp_path):
    with pytest.raises(UqbenchError, match="cannot be the name of a folder"):
        below(tmp_path, "suite", name)
    with pytest.raises(UqbenchError, match="cannot be the name of a folder"):
        board_folder(tmp_path, "suite", name)


def test_a_board_is_not_written_through_a_link(tmp_path):
    (tmp_path / "suite").symlink_to(tmp_path)
    with pytest.raises(UqbenchError, match="symbolic link"):
        board_folder(tmp_path, "suite", "quick")
    root = tmp_path / "boards"  # the root itself is the user's own choice
    root.symlink_to(tmp_path)
    assert board_folder(root, "other", "quick") == root / "other" / "quick"
