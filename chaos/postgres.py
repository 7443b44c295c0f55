"""A PostgreSQL server of one's own, from Debian's package, started as an ordinary user in a scratch folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import psycopg

_DEBIAN = Path("/usr/lib/postgresql")


def postgres_programs() -> Path | None:
    found = sorted(_DEBIAN.glob("*/bin/initdb"))
    return found[-1].parent if found else None


@dataclass(slots=True)
class Postgres:
    """A server of the tests' own, in a scratch folder, reached through a socket there."""

    folder: Path
    programs: Path

    @property
    def url(self) -> str:
        return f"postgresql://joey@/postgres?host={self.folder}"

    def new_database(self) -> str:
        """The address of a database that nobody uses."""
        name = f"fleet_{token_hex(4)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url.replace("/postgres?", f"/{name}?")

    def make(self) -> None:
        data = str(self.folder / "data")
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        self._run("initdb", "-D", data, "-U", "joey", "-A", "trust", "--no-sync", "-E", "UTF8")
        self.start()

    def listen(self, address: str, port: int, network: str) -> None:
        """Serve a network, too, without passwords."""
        self.stop("fast")
        with (self.folder / "data" / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {network} trust\n")
        self.start(f"-c listen_addresses={address} -c port={port}")

    def start(self, more: str = "-c listen_addresses=''") -> None:
        options = f"-k {self.folder} {more} -c fsync=off -c max_connections=200"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-l", log, "-w", "-o", options, "start")

    def stop(self, how: str = "immediate") -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", how, "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        if os.geteuid() == 0:  # the server refuses to be root
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr + done.stdout


@contextmanager
def postgres(programs: Path) -> Iterator[Postgres]:
    """A PostgreSQL server. Its folder has a short name, as a socket needs it, and is no other's: the server's user must
    reach it."""
    with tempfile.TemporaryDirectory(prefix="joey-pg-", ignore_cleanup_errors=True) as folder:
        server = Postgres(Path(folder), programs)
        server.make()
        try:
            yield server
        finally:
            server.stop()
