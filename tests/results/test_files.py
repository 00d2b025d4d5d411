"""No file is read or written through a link at any level, and none outside of the folder."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from uqbench.errors import StorageError, UqbenchError
from uqbench.results import Folder, Store, folders


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("precious")
    return path


def test_a_link_in_the_place_of_a_file_or_of_a_temporary_one_is_not_followed(victim, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    names = "scores.csv", f".probe-{os.getpid()}", f".scores.csv.{os.getpid()}.tmp"
    for name in names:
        (out / name).symlink_to(victim)
    Store(out).prepare()
    Folder(out).write("scores.csv", b"new")
    assert victim.read_text() == "precious"
    assert (out / "scores.csv").read_bytes() == b"new"
    assert not (out / "scores.csv").is_symlink()


def test_a_guessed_name_of_a_temporary_file_is_refused_not_followed(victim, tmp_path, monkeypatch):
    monkeypatch.setattr(folders.secrets, "token_hex", lambda size: "guessed")
    (tmp_path / ".a.guessed.tmp").symlink_to(victim)
    with pytest.raises(StorageError, match="File exists"):
        Folder(tmp_path).write("a", b"new")
    assert victim.read_text() == "precious"


@pytest.mark.parametrize(
    "name", ["..", "../evil", "/etc", "a/b", "", ".", ".locks", "a\0b", "é" * 128]
)
def test_a_name_that_is_no_name_makes_no_path(name, tmp_path):
    with pytest.raises(UqbenchError, match="cannot be the name of a folder"):
        Folder(tmp_path).below("suite", name)


def test_nothing_is_left_where_writing_fails(tmp_path):
    def fail(file: object) -> None:
        raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        Folder(tmp_path).write("a", fail)
    assert list(tmp_path.iterdir()) == []


USES: dict[str, Callable[[Folder], object]] = {
    "read": lambda folder: folder.read("a"),
    "digest": lambda folder: folder.digest("a"),
    "kinds": Folder.kinds,
    "make": Folder.make,
    "write": lambda folder: folder.write("a", b"new"),
    "remove": lambda folder: folder.remove("a"),
    "move": lambda folder: folder.move(Folder(folder.root, ("elsewhere",))),
    "move here": lambda folder: Folder(folder.root, ("whole",)).move(folder.below("new")),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_link_at_any_level_is_refused_and_nothing_is_done_behind_it(use, level, tmp_path):
    outside, root = tmp_path / "outside", tmp_path / "root"
    names = ("x", "y", "z")
    inner = outside.joinpath(*names[level + 1 :])
    inner.mkdir(parents=True)
    (inner / "a").write_text("precious")
    linked = root.joinpath(*names[: level + 1])
    linked.parent.mkdir(parents=True)
    (root / "whole").mkdir()
    linked.symlink_to(outside)
    folder = Folder(root, names)
    if (use, level) == ("move", 2):  # moves the link itself
        folder.move(Folder(root, ("elsewhere",)))
    else:
        with pytest.raises((OSError, StorageError), match=f"{names[level]} is a symbolic link"):
            USES[use](folder)
    assert not folder.has("a")
    assert folder.signatures("a") == [None]
    folder.remove_temporaries(("a",), age=0.0)
    assert [path.name for path in inner.iterdir()] == ["a"]
    assert (inner / "a").read_text() == "precious"


def test_the_root_itself_is_the_users_own_choice_and_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    Folder(tmp_path / "root", ("x",)).write("a", b"new")
    assert (tmp_path / "real" / "x" / "a").read_bytes() == b"new"
    assert Folder(tmp_path / "root").at("x").read("a") == b"new"


def test_what_is_too_large_is_not_read(tmp_path):
    os.truncate(os.open(tmp_path / "a", os.O_CREAT | os.O_WRONLY), 1 << 40)  # sparse
    with pytest.raises(ValueError, match="more than 10 bytes"):
        Folder(tmp_path).read("a", 10)
    with pytest.raises(ValueError, match="more than 10 bytes"):
        Folder(tmp_path).digest("a", 10)


def test_only_temporaries_of_dead_writers_are_removed(tmp_path):
    old, new, other = (tmp_path / f".{n}.0123456789abcdef.tmp" for n in ("a", "b", "c"))
    for path in (old, new, other):
        path.write_bytes(b"half")
    for path in (old, other):
        os.utime(path, (0, 0))
    Folder(tmp_path).remove_temporaries(("a", "b"))
    assert {path.name for path in tmp_path.iterdir()} == {new.name, other.name}


def test_nothing_that_was_read_keeps_a_descriptor(tmp_path):
    (tmp_path / "x" / "y").mkdir(parents=True)
    (tmp_path / "x" / "y" / "a").write_text("a")
    before = len(list(Path("/proc/self/fd").iterdir()))
    folder = Folder(tmp_path, ("x",))
    for _ in range(10):
        assert (folder.below("y").read("a"), folder.kinds()) == (b"a", {"y": "folder"})
    assert len(list(Path("/proc/self/fd").iterdir())) == before
