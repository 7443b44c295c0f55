"""Where a fleet is kept: a SQLite file beside the user's tasks, or a PostgreSQL database for many machines.

The engine has its own tables there, and Joey has these, whose names begin with joey_. A row changes in the same
transaction as what it speaks of; a step of the engine that runs twice finds its row and changes it to the same.

SQLite is opened in WAL mode, so that readers do not wait for writers, and with IMMEDIATE transactions, so that two
writers wait for each other and do not fail. Tables are made under a lock: engines that start together on a new file
would each try to make them.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from joey.errors import JoeyError, UsageError
from joey.system.folders import make_private

VERSION = 1
"""Of Joey's own tables."""
_MIGRATION_LOCK = 0x4A6F6579
_BUSY_SECONDS = 30.0
T = TypeVar("T")

tables = sa.MetaData()
BATCHES = sa.Table(
    "joey_batch",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("max_cost", sa.Float),
    sa.Column("spent", sa.Float, nullable=False, default=0.0),
    sa.Column("created", sa.Float, nullable=False),
)
TASKS = sa.Table(
    "joey_task",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("batch", sa.Text, nullable=False, index=True),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False, default=""),
    sa.Column("message", sa.Text, nullable=False, default=""),
    sa.Column("attempt", sa.Integer, nullable=False, default=1),
    sa.Column("leg", sa.Integer, nullable=False, default=1),
    sa.Column("worker", sa.Text, nullable=False, default="", index=True),
    sa.Column("turns", sa.Integer, nullable=False, default=0),
    sa.Column("cost", sa.Float, nullable=False, default=0.0),
    sa.Column("base", sa.Text, nullable=False, default=""),
    sa.Column("head", sa.Text, nullable=False, default=""),
    sa.Column("question", sa.Text, nullable=False, default=""),
    sa.Column("answer", sa.Text, nullable=False, default=""),
    sa.Column("cancel", sa.Boolean, nullable=False, default=False),
    sa.Column("deaths", sa.Integer, nullable=False, default=0),
    sa.Column("changed", sa.Float, nullable=False),
)
TURNS = sa.Table(
    "joey_turn",
    tables,
    sa.Column("workflow", sa.Text, primary_key=True),
    sa.Column("step", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("cost", sa.Float, nullable=False),
)
COMMITS = sa.Table(
    "joey_commit",
    tables,
    sa.Column("task", sa.Text, primary_key=True),
    sa.Column("sha", sa.Text, primary_key=True),
    sa.Column("parent", sa.Text, nullable=False),
    sa.Column("pack", sa.LargeBinary, nullable=False),
)
WORKERS = sa.Table(
    "joey_worker",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("slots", sa.Integer, nullable=False),
    sa.Column("started", sa.Float, nullable=False),
)
PACES = sa.Table(
    "joey_pace",
    tables,
    sa.Column("place", sa.Text, primary_key=True),
    sa.Column("not_before", sa.Float, nullable=False, default=0.0),
    sa.Column("next_at", sa.Float, nullable=False, default=0.0),
)
META = sa.Table(
    "joey_meta",
    tables,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("fleet", sa.Text, nullable=False),
)


class FleetError(JoeyError):
    """The database of a fleet cannot be used."""


@dataclass(frozen=True, slots=True)
class Database:
    """An open database. `folder` is where this machine keeps what is the fleet's, and `clones` what tasks work in,
    which commands must be able to see."""

    engine: sa.Engine
    url: str
    folder: Path
    clones: Path

    @property
    def id(self) -> str:
        """What tells the tasks of this database from those of another, with the same ids, on the same machine."""
        with self.engine.connect() as connection:
            return str(connection.scalar(sa.select(META.c.fleet)))

    @property
    def tasks(self) -> Path:
        """Where the journals of this database's tasks are."""
        return self.folder / "tasks" / self.id

    @property
    def works(self) -> Path:
        """Where the clones of this database's tasks are."""
        return self.clones / self.id

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @property
    def shared_url(self) -> str | None:
        """The address as `fleet.url` names it; None for the file of this machine."""
        return None if self.is_sqlite else self.url

    def insert(self, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
        """An insert that can say what to do with a row that is there."""
        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    def close(self) -> None:
        self.engine.dispose()


def open_database(url: str | None, folder: Path, clones: Path, make_tables: Callable[[str], None]) -> Database:
    """The database of a fleet, with its tables. `make_tables` makes those of the engine, given the address."""
    make_private(folder)
    database = Database(*_opened(url, folder), folder, clones)
    try:
        if _version(database.engine) is None:
            with _alone(database):
                if _version(database.engine) is None:
                    make_tables(database.url)
                    tables.create_all(database.engine)
                    _write(database.engine, sa.insert(META).values(version=VERSION, fleet=token_hex(6)))
        if (found := _version(database.engine)) != VERSION:
            raise UsageError(f"the fleet's database is of version {found}; this Joey needs version {VERSION}")
    except sa.exc.OperationalError as error:
        database.close()
        raise FleetError(f"cannot open the fleet's database: {_first_line(error)}; check fleet.url") from None
    return database


def _opened(url: str | None, folder: Path) -> tuple[sa.Engine, str]:
    if not url:
        path = folder / "fleet.sqlite"
        return _sqlite(path), f"sqlite:///{path}"
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise UsageError("fleet.url is not an address; write postgresql://USER@HOST/DATABASE") from None
    if parsed.get_backend_name() != "postgresql":
        raise UsageError(f"fleet.url must begin with postgresql://, not {parsed.drivername}://")
    parsed = parsed.set(drivername="postgresql+psycopg")
    text = parsed.render_as_string(hide_password=False)
    kept = {"connect_timeout": 10, "keepalives_idle": 3, "keepalives_interval": 1, "keepalives_count": 3}
    kept["tcp_user_timeout"] = 10_000  # for what was sent when the line was cut; the system would try for 15 minutes
    engine = sa.create_engine(parsed, pool_size=5, max_overflow=15, connect_args={**kept, "application_name": "joey"})
    return engine, text


def _sqlite(path: Path) -> sa.Engine:
    engine = sa.create_engine(f"sqlite:///{path}", pool_size=5, max_overflow=15)

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = "IMMEDIATE"
        connection.execute(f"PRAGMA busy_timeout={int(_BUSY_SECONDS * 1000)}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    return engine


def _version(engine: sa.Engine) -> int | None:
    with engine.connect() as connection:
        if not sa.inspect(connection).has_table(META.name):
            return None
        found: int | None = connection.scalar(sa.select(META.c.version))
        return found


def _write(engine: sa.Engine, statement: sa.Executable) -> None:
    with engine.begin() as connection:
        connection.execute(statement)


@contextmanager
def _alone(database: Database) -> Iterator[None]:
    """While this is open, nobody else makes tables."""
    if database.is_sqlite:
        file = os.open(database.folder / "tables.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)
        return
    # Outside a transaction: the engine makes indexes concurrently, which waits for every open one.
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.select(sa.func.pg_advisory_lock(_MIGRATION_LOCK)))
        try:
            yield
        finally:
            connection.execute(sa.select(sa.func.pg_advisory_unlock(_MIGRATION_LOCK)))


def _first_line(error: sa.exc.OperationalError) -> str:
    return str(error.orig).strip().split("\n")[0]


def quiet_engine() -> None:
    """The engine and its database library report to a log, not to the terminal."""
    for name in ("dbos", "sqlalchemy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
