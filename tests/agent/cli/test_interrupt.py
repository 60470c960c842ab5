"""Ctrl-C within a block that has something to put in order."""

from __future__ import annotations

import signal
import threading

import pytest

from agent.cli.interrupt import breaking_off


def press() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def handler_restored() -> object:
    before = signal.getsignal(signal.SIGINT)
    yield before
    signal.signal(signal.SIGINT, before)


def test_the_first_is_an_exception() -> None:
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt), breaking_off(said.append, lambda: ""):
        press()
    assert said == []


def test_whatever_breaks_of_it_is_a_ctrl_c() -> None:
    def load() -> None:
        try:
            press()
        except KeyboardInterrupt:
            raise ImportError("an extension does not like that") from None

    with pytest.raises(KeyboardInterrupt), breaking_off(lambda line: None, lambda: ""):
        load()


def test_a_fault_without_ctrl_c_stays_what_it_is() -> None:
    with pytest.raises(ImportError), breaking_off(lambda line: None, lambda: ""):
        raise ImportError


def test_the_handler_comes_back(handler_restored: object) -> None:
    with breaking_off(lambda line: None, lambda: ""):
        assert signal.getsignal(signal.SIGINT) is not handler_restored
    assert signal.getsignal(signal.SIGINT) is handler_restored


def test_beside_the_main_thread_nothing_changes(handler_restored: object) -> None:
    seen: list[object] = []

    def work() -> None:
        with breaking_off(lambda line: None, lambda: ""):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [handler_restored]
