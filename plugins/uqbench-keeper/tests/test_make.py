"""A submission is read as if somebody hostile had written it."""

import json
import random

import pytest
from uqbench_keeper import make
from uqbench_keeper.make import Submission, read_submission, submit

from uqbench.errors import UqbenchError
from uqbench.results import Store
from uqbench.suites import Selection

SENT = Submission(
    suite="toy", budget="paper", method="fast", package="mine", version="1.0", wheel="0" * 64,
    scores="task,method\n", hours=0.5, checks={"passed": 4},
)  # fmt: skip


@pytest.fixture
def path(tmp_path):
    (tmp_path / "sent.json").write_text(SENT.model_dump_json())
    return tmp_path / "sent.json"


def test_what_was_written_is_read_with_the_digest_of_its_file(path):
    assert read_submission(path)[0] == SENT
    before = read_submission(path)[1]
    path.write_text(SENT.model_dump_json(indent=1))
    assert read_submission(path)[1] != before


@pytest.mark.parametrize(
    ("key", "value"),
    [("suite", "../up"), ("suite", 3), ("budget", ""), ("schema_version", 1), ("method", ["fast"]),
     ("wheel", "../x"), ("run", "import os"), ("package", "--index-url=http://x"), ("hours", -1.0),
     ("version", "1.0`<b>"), ("checks", {"passed": -1}), ("checks", dict.fromkeys("abcdefg", 1)),
     ("checks", {"<b>": 1}), ("scores", None)],
)  # fmt: skip
def test_a_submission_of_another_form_is_refused(path, key, value):
    path.write_text(json.dumps({**SENT.model_dump(), key: value}))
    with pytest.raises(UqbenchError, match=r"(?s)is no submission.*#refused-submission"):
        read_submission(path)


@pytest.mark.parametrize(
    "data", [b"", b"[" * 100_000, b'{"hours": NaN}', b"\xff", b"PK\x03\x04 a zip of earlier days"]
)
def test_a_file_that_is_none_is_refused(path, data):
    path.write_bytes(data)
    with pytest.raises(UqbenchError, match="is no submission"):
        read_submission(path)


def test_a_huge_file_a_link_and_a_folder_are_refused(path, tmp_path, monkeypatch):
    (tmp_path / "link.json").symlink_to(path)
    for name in ("link.json", "."):
        with pytest.raises(UqbenchError, match="is no submission"):
            read_submission(tmp_path / name)
    monkeypatch.setattr(make, "MOST_BYTES", 100)
    with pytest.raises(UqbenchError, match="is no submission"):
        read_submission(path)


def test_no_damaged_file_raises_anything_else(path):
    whole, rng = path.read_bytes(), random.Random(0)
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 2, 8))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.choice((len(data), rng.randrange(len(data))))])
        try:
            read_submission(path)
        except UqbenchError:
            continue


def test_runs_that_are_not_done_are_not_submitted(host, tmp_path):
    plan = Selection("toy", "paper", ("fast",)).plan(host, "cpu")
    with pytest.raises(UqbenchError, match=r"6 of 6 runs are not done.*uqbench run --suite toy"):
        submit(plan, host, Store(tmp_path), tmp_path / "x.whl", tmp_path / "s.json")
