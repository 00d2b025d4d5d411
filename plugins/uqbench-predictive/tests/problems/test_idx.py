"""IDX files and archives: what is read, and what errors say."""

import gzip
import io
import zipfile
from hashlib import md5, sha256

import numpy as np
import pytest
from uqbench_predictive.problems.idx import DataError, File, content, member, parse_idx


def test_idx_files_are_read_plain_and_gzipped_in_every_type(idx):
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert parse_idx(idx(array), "it", (2, 3)).tolist() == array.tolist()
    assert parse_idx(gzip.compress(idx(array)), "it", (None, 3)).tolist() == array.tolist()
    floats = np.array([1.5, -2.0], ">f4")
    assert parse_idx(idx(floats, 0x0D), "it", (None,)).tolist() == [1.5, -2.0]


@pytest.mark.parametrize(
    ("corrupted", "message"),
    [
        (lambda idx: b"", "it is not an IDX file: it begins with nothing"),
        (lambda idx: b"PNG...", "it is not an IDX file: it begins with 50 4e 47"),
        (lambda idx: idx(np.zeros((2, 4), np.uint8)), "an array of 2 × 4, expected any × 3"),
        (lambda idx: idx(np.zeros(2, np.uint8)), "an array of 2, expected any × 3"),
        (lambda idx: idx(np.zeros((2, 3), np.uint8))[:-1], "5 bytes of data, its header says 6"),
        (
            lambda idx: gzip.compress(idx(np.zeros((2, 3), np.uint8)))[:-9],
            "it cannot be decompressed",
        ),
    ],
)
def test_errors_say_what_is_wrong_with_an_idx_file(idx, corrupted, message):
    with pytest.raises(DataError, match=message):
        parse_idx(corrupted(idx), "it", (None, 3))


def test_files_are_identified_by_their_checksum(tmp_path):
    file = File("sub/it.gz", md5(b"right").hexdigest(), "example.org/data")
    with pytest.raises(DataError, match=r"there is no .*it.gz; put the file .* example.org/data"):
        content(tmp_path, file)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "it.gz").write_bytes(b"wrong")
    with pytest.raises(DataError, match=f"expected {file.md5}; download it again"):
        content(tmp_path, file)
    (tmp_path / "sub" / "it.gz").write_bytes(b"right")
    assert content(tmp_path, file) == b"right"


def test_a_file_that_was_compressed_anew_is_identified_by_its_content(tmp_path):
    inside = sha256(b"content").hexdigest()
    file = File("it.gz", md5(b"as published").hexdigest(), "example.org", inside)
    (tmp_path / "it.gz").write_bytes(gzip.compress(b"content", 1))
    assert gzip.decompress(content(tmp_path, file)) == b"content"
    (tmp_path / "it.gz").write_bytes(gzip.compress(b"other"))
    with pytest.raises(DataError, match=f"the content of .*it.gz has .* expected {inside}"):
        content(tmp_path, file)
    (tmp_path / "it.gz").write_bytes(gzip.compress(b"content")[:-5])
    with pytest.raises(DataError, match="cannot be decompressed"):
        content(tmp_path, file)


def test_archives_without_the_file_are_rejected():
    with pytest.raises(DataError, match="it is not a zip archive"):
        member(b"nothing", "it", "inside")
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    with pytest.raises(DataError, match="it does not contain inside"):
        member(empty.getvalue(), "it", "inside")
