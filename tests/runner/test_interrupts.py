"""An interrupt is raised, wherever it strikes."""

# ruff: noqa: PT012 (what is raised at the end of a block is raised by its last statement)

import os
import signal
import threading
import time

import pytest

from uqbench.runner.drive import deferred_interrupts


def strike() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_one_during_a_sleep_ends_it():
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), deferred_interrupts() as interrupts:
        threading.Timer(0.2, strike).start()
        interrupts.sleep(60.0)
    assert time.monotonic() - began < 30.0


def test_one_where_exceptions_go_nowhere_is_raised_at_the_next_sleep():
    with pytest.raises(KeyboardInterrupt), deferred_interrupts() as interrupts:
        try:
            strike()
            sum(range(1000))
        except BaseException:  # as a library does in a callback
            pytest.fail("it was raised where it is lost")
        interrupts.sleep(0.0)
        pytest.fail("it was lost")


def test_one_before_the_end_is_raised_there():
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        strike()


def test_a_second_one_is_raised_at_once():
    reached = False
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        strike()
        reached = True
        strike()
        sum(range(1000))
        pytest.fail("it waited")
    assert reached


def test_what_was_there_before_is_there_again():
    before = signal.getsignal(signal.SIGINT)
    with deferred_interrupts() as interrupts:
        interrupts.sleep(0.0)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_what_a_scheduler_or_a_closed_terminal_sends_is_one_where_it_interrupts(ending):
    before = signal.signal(ending, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), deferred_interrupts() as interrupts:
            os.kill(os.getpid(), ending)
            sum(range(1000))
            interrupts.sleep(0.0)
            pytest.fail("it was lost")
        assert signal.getsignal(ending) is signal.default_int_handler
    finally:
        signal.signal(ending, before)


def test_another_thread_has_none():
    found = []
    before = signal.getsignal(signal.SIGINT)

    def work() -> None:
        with deferred_interrupts() as interrupts:
            interrupts.sleep(0.0)
            found.append((interrupts.came, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(False, before)]
