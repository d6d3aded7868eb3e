"""An empty store on each of the three databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from hperf import servers
from shadowtime.hperf.database import url_of


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    with servers.mariadb() as url:
        yield url


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    with servers.postgresql() as url:
        yield url


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite")
    found = str(request.getfixturevalue(f"{request.param}_url"))
    engine = sa.create_engine(url_of(found), poolclass=sa.NullPool)
    metadata = sa.MetaData()
    metadata.reflect(engine)
    metadata.drop_all(engine)
    return found


@pytest.fixture
def execute(url: str) -> Callable[[str], None]:
    """Change the database without the store."""

    def run(sql: str) -> None:
        with sa.create_engine(url_of(url), poolclass=sa.NullPool).begin() as connection:
            connection.execute(sa.text(sql))

    return run
