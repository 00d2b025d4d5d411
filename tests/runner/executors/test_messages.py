"""Messages arrive whole and in order; anything else in the pipe is named, and never waited for."""

import os
import pickle
import random
import zlib

import pytest

from uqbench.runner.executors.spawn import HEADER, MOST_BYTES, Channel, MessageError, ready

WRITTEN = "its pipe was written to by something else than uqbench"


def header(channel: Channel, length: int, check: int = 0) -> bytes:
    return HEADER.pack(channel._mark, length, check)


def scribble(channel: Channel, data: bytes) -> None:
    os.write(channel.connection.fileno(), data)


def test_messages_arrive_in_order_in_whatever_pieces_and_reading_does_not_wait():
    ours, theirs = Channel.pair()
    assert list(ours.receive()) == []
    theirs.send({"step": 1})
    theirs.send(None)
    assert ready([ours]) == [ours]
    assert list(ours.receive()) == [{"step": 1}, None]
    data = pickle.dumps("x" * 1000)
    framed = header(theirs, len(data), zlib.crc32(data)) + data
    for at in range(len(framed)):
        assert list(ours.receive()) == []
        scribble(theirs, framed[at : at + 1])
    assert list(ours.receive()) == ["x" * 1000]


def stray() -> list[bytes]:
    draw = random.Random(1)
    made = [draw.randbytes(draw.randint(8, 100)) for _ in range(1000)]
    return [b"hello, this is a plugin", b"hell", b"\0\0\0\x10not what it sent", b"\0" * 50, *made]


def test_stray_bytes_are_found_at_once_after_the_messages_before_them():
    for data in stray():
        ours, theirs = Channel.pair()
        theirs.send("before")
        scribble(theirs, data)
        arrived = ours.receive()
        assert next(arrived) == "before"
        with pytest.raises(MessageError, match=WRITTEN):
            next(arrived)


def test_half_a_header_is_waited_for_without_blocking():
    for length in range(1, HEADER.size):
        ours, theirs = Channel.pair()
        scribble(theirs, header(theirs, 10)[:length])
        assert list(ours.receive()) == []
        theirs.connection.close()
        with pytest.raises(EOFError):
            list(ours.receive())


def test_half_a_header_before_a_message_is_found():
    ours, theirs = Channel.pair()
    ours._mark = theirs._mark = b"distinct"
    scribble(theirs, header(theirs, 10)[:5])
    theirs.send("a message")
    with pytest.raises(MessageError, match=WRITTEN):
        list(ours.receive())


def test_a_length_beyond_the_limit_is_refused_and_no_such_message_can_be_sent():
    ours, theirs = Channel.pair()
    scribble(theirs, header(theirs, MOST_BYTES + 1))
    with pytest.raises(MessageError, match=WRITTEN):
        list(ours.receive())
    with pytest.raises(ValueError, match="expected at most"):
        theirs.send(bytes(MOST_BYTES))


def test_a_write_into_the_middle_of_a_message_is_found():
    ours, theirs = Channel.pair()
    data = pickle.dumps("x" * 1000)
    scribble(theirs, header(theirs, len(data), zlib.crc32(data)) + data[:500])
    scribble(theirs, b"hello, this is a plugin")
    scribble(theirs, data[500:])
    with pytest.raises(MessageError, match=WRITTEN):
        list(ours.receive())


def test_a_closed_end_is_told_after_the_last_message():
    ours, theirs = Channel.pair()
    theirs.send("last")
    theirs.connection.close()
    arrived = ours.receive()
    assert next(arrived) == "last"
    with pytest.raises(EOFError):
        next(arrived)
