"""A submission is read as if somebody hostile had written it."""

import json
import pickle
import random
import re
import zipfile

import pytest

from uqbench.boards.submission import bundle
from uqbench.boards.submission.bundle import INDEX, REQUIRED, read_bundle, write_bundle
from uqbench.boards.submission.judge import PLAIN
from uqbench.contract.errors import UqbenchError

FILES = {name: f"{name}\n".encode() * 50 for name in REQUIRED}


@pytest.fixture
def path(tmp_path):
    write_bundle(tmp_path / "sent.zip", "toy", "paper", ["fast"], FILES)
    return tmp_path / "sent.zip"


def packed(path, files, compression=zipfile.ZIP_DEFLATED):
    """An archive of any files."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return path


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def test_what_was_written_is_read_and_the_same_contents_give_the_same_bytes(path, tmp_path):
    read = read_bundle(path)
    assert (read.index.suite, read.index.methods, dict(read.files)) == ("toy", ["fast"], FILES)
    other = tmp_path / "other.zip"
    assert write_bundle(other, "toy", "paper", ["fast"], FILES) == read.digest
    assert other.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "name", ["../../escape.csv", "/etc/escape.csv", "a/b.csv", "agent.pt", "x.py"]
)
def test_a_file_of_any_other_name_is_refused_and_nothing_is_written(path, tmp_path, name):
    before = set(tmp_path.rglob("*"))
    hostile = packed(tmp_path / "hostile.zip", [*contents(path), (name, pickle.dumps(print))])
    with pytest.raises(UqbenchError, match="it has a file"):
        read_bundle(hostile)
    assert set(tmp_path.rglob("*")) - before == {hostile}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_a_file_missing_and_a_comment_are_refused(path, tmp_path):
    twice = packed(tmp_path / "twice.zip", [*contents(path), ("scores.csv", b"other")])
    with pytest.raises(UqbenchError, match="or has it twice"):
        read_bundle(twice)
    fewer = packed(tmp_path / "fewer.zip", [c for c in contents(path) if c[0] != "check.json"])
    with pytest.raises(UqbenchError, match=r"it has no check\.json"):
        read_bundle(fewer)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"PK"
    with pytest.raises(UqbenchError, match="comment"):
        read_bundle(path)


def test_a_small_archive_of_a_huge_file_is_refused_before_it_is_expanded(
    path, tmp_path, monkeypatch
):
    monkeypatch.setattr(bundle, "MOST_BYTES", 1 << 20)
    zeros = [(n, b"\0" * (1 << 24) if n == "scores.csv" else d) for n, d in contents(path)]
    bomb = packed(tmp_path / "bomb.zip", zeros)
    assert bomb.stat().st_size < 1 << 16
    asked = []
    read = zipfile.ZipExtFile.read
    monkeypatch.setattr(
        zipfile.ZipExtFile, "read", lambda self, n=-1: (asked.append(n), read(self, n))[1]
    )
    with pytest.raises(UqbenchError, match="holds more than 1 MiB"):
        read_bundle(bomb)
    assert max(asked) <= (1 << 20) + 1


def test_an_archive_of_very_many_files_is_refused_before_they_are_listed(tmp_path, monkeypatch):
    many = packed(tmp_path / "many.zip", [(f"{n}.csv", b"") for n in range(1000)])
    monkeypatch.setattr(zipfile.ZipFile, "__init__", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(UqbenchError, match="too many files"):
        read_bundle(many)


def test_an_altered_file_does_not_match_its_digest(path, tmp_path):
    altered = [(n, d + b"x" if n == "scores.csv" else d) for n, d in contents(path)]
    with pytest.raises(UqbenchError, match=r"scores\.csv does not match its digest"):
        read_bundle(packed(tmp_path / "altered.zip", altered))


@pytest.mark.parametrize(
    ("key", "value"),
    [("suite", "../up"), ("suite", 3), ("budget", ""), ("schema_version", 2), ("methods", "fast"),
     ("sha256", {"scores.csv": "../x"}), ("run", "import os")],
)  # fmt: skip
def test_an_index_of_another_form_is_refused(path, tmp_path, key, value):
    changed = [
        (n, json.dumps({**json.loads(d), key: value}) if n == INDEX else d)
        for n, d in contents(path)
    ]
    with pytest.raises(UqbenchError, match=r"submission\.json"):
        read_bundle(packed(tmp_path / "changed.zip", changed))


def test_a_link_or_a_folder_in_its_place_is_refused(path, tmp_path):
    (tmp_path / "link.zip").symlink_to(path)
    for name in ("link.zip", "."):
        with pytest.raises(UqbenchError, match="cannot be read"):
            read_bundle(tmp_path / name)


def test_no_damaged_archive_raises_anything_else(path, tmp_path):
    whole = path.read_bytes()
    rng = random.Random(0)
    damaged = tmp_path / "damaged.zip"
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 2, 8))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        damaged.write_bytes(data[: rng.choice((len(data), rng.randrange(len(data))))])
        try:
            read_bundle(damaged)
        except UqbenchError:
            continue


def test_text_for_a_page_cannot_hold_markup():
    assert re.fullmatch(PLAIN, "x86_64, numpy 2.4.6, MKL AUTO")
    for text in ("a\n# Title", "<script>", "[x](y)", "`", "a|b", "\x1b[2J", "a" * 201):
        assert not re.fullmatch(PLAIN, text)


def test_what_is_too_large_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_BYTES", 1000)
    with pytest.raises(UqbenchError, match="submit fewer methods"):
        write_bundle(tmp_path / "sent.zip", "toy", "paper", ["fast"], FILES)
    assert not (tmp_path / "sent.zip").exists()
