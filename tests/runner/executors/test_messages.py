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
    assert (ready([ours]), list(ours.receive())) == ([ours], [{"step": 1}, None])
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
    for length in range(HEADER.size):
        ours, theirs = Channel.pair()
        theirs.send("last")
        scribble(theirs, header(theirs, 10)[:length])
        arrived = list(ours.receive())
        theirs.connection.close()
        assert arrived == ["last"]
        with pytest.raises(EOFError):  # a closed end is told after the last message
            list(ours.receive())


def half(ours: Channel, theirs: Channel) -> None:
    ours._mark = theirs._mark = b"distinct"
    scribble(theirs, header(theirs, 10)[:5])
    theirs.send("a message")


def in_the_middle(ours: Channel, theirs: Channel) -> None:
    data = pickle.dumps("x" * 1000)
    framed = header(theirs, len(data), zlib.crc32(data)) + data
    for part in (framed[:500], b"hello, this is a plugin", framed[500:]):
        scribble(theirs, part)


def too_long(ours: Channel, theirs: Channel) -> None:
    scribble(theirs, header(theirs, MOST_BYTES + 1))
    with pytest.raises(ValueError, match="expected at most"):
        theirs.send(bytes(MOST_BYTES))


@pytest.mark.parametrize("write", [half, in_the_middle, too_long])
def test_what_is_no_whole_message_of_a_length_that_can_be_sent_is_found(write):
    ours, theirs = Channel.pair()
    write(ours, theirs)
    with pytest.raises(MessageError, match=WRITTEN):
        list(ours.receive())
