"""A zygote for the session, a run that nobody disturbs, and a model that answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agent.openai_server import Server
from tests.durability import toy_jobs
from tests.durability.processes import Zygote


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    with Zygote() as found:
        yield found


@pytest.fixture(scope="session")
def whole(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> toy_jobs.Whole:
    # The first run takes longer: what is imported at the first use is imported then.
    toy_jobs.undisturbed(zygote, tmp_path_factory.mktemp("first"))
    return toy_jobs.undisturbed(zygote, tmp_path_factory.mktemp("whole"))


@pytest.fixture
def server() -> Iterator[Server]:
    with toy_jobs.model_server() as found:
        yield found
