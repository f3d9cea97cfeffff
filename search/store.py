"""The open database: engine, clock, transactions and the event log. Only the owner process of a store writes to it.

SQLite runs in WAL mode with an immediate write lock per transaction; on PostgreSQL the same statements lock rows. The
tables are made by `migrate`, never on import; `open_store` can also only check that they are there.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url, select, text
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError
from sqlalchemy.orm import Session

from designspace.errors import SpecError
from search.tables import Base, EventRow

BUSY_TIMEOUT_MS = 30_000
MIGRATIONS = Path(__file__).parent / "migrations"
NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "glusterfs", "lustre", "beegfs", "9p"})
VERSION_TABLE = "alembic_version"
CREATED = "store.created"  # kind of the first event, which holds the store's identity

BROKEN = (OperationalError, DatabaseError)  # not their subclasses, which are mistakes of a statement

Clock = Callable[[], datetime]


class StoreError(SpecError):
    """The database cannot be used as it is: no such folder, not a database, read-only, full, damaged, too new."""


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Store:
    """A database with the clock by which leases are measured."""

    url: str
    engine: Engine
    now: Clock = field(default=utc_now)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session for queries."""
        with _explained(self.url), Session(self.engine) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session in one write transaction: it commits at the end and rolls back on an exception."""
        with _explained(self.url), Session(self._writer, expire_on_commit=False) as session, session.begin():
            yield session

    @cached_property
    def _writer(self) -> Engine:
        return self.engine.execution_options(immediate=True)

    def log(
        self,
        session: Session,
        kind: str,
        data: dict[str, Any] | None = None,
        *,
        study_id: int | None = None,
        proposal_id: int | None = None,
        job_id: int | None = None,
    ) -> None:
        """Add one event to the running transaction."""
        session.add(
            EventRow(
                at=self.now(), kind=kind, study_id=study_id, proposal_id=proposal_id, job_id=job_id, data=data or {}
            )
        )

    def close(self) -> None:
        """Give back every connection."""
        self.engine.dispose()


def open_store(url: str, *, create: bool = True, now: Clock = utc_now) -> Store:
    """The store at `url`, such as `sqlite:///runs.db` or `postgresql+psycopg://host/db`.

    Args:
        url: an SQLAlchemy URL, or a path, which means a SQLite file.
        create: bring the tables to this version; otherwise a store that lacks them is an error.
        now: the clock that leases are measured by.

    Raises:
        SpecError: the URL cannot be read, the file lies on a network mount, or the tables are missing.
        StoreError: the database cannot be opened, or is not of this version.
    """
    full_url = url if "://" in url else f"sqlite:///{url}"
    engine = _engine(full_url)
    with _explained(full_url):
        if create:
            _refuse_other_versions(engine, full_url)
            migrate(engine)
        else:
            _require_tables(engine, full_url)
    return Store(full_url, engine, now)


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Say of a database that fails which one it is and what to look at.

    Raises:
        StoreError: in place of what the driver said.
    """
    try:
        yield
    except BROKEN as error:
        if type(error) not in BROKEN:
            raise
        raise StoreError(
            f"The store `{url}` cannot be used: {error.orig}; check the file, its folder and the free space of the "
            "disk, or give another `--store`."
        ) from error


def identity(store: Store) -> str:
    """The store's own name, given when its tables were made: numbers of jobs mean nothing in another store."""
    with store.read() as session:
        first = session.scalars(select(EventRow).where(EventRow.kind == CREATED).order_by(EventRow.id).limit(1)).one()
        return str(first.data["identity"])


def migrate(engine: Engine) -> None:
    """Bring the tables to the newest version; at the newest one nothing happens."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.execution_options(immediate=True).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _require_tables(engine: Engine, url: str) -> None:
    path = engine.url.database
    missing_file = engine.dialect.name == "sqlite" and path is not None and not Path(path).exists()
    if missing_file or not inspect(engine).has_table(VERSION_TABLE):
        raise SpecError(f"No store at `{url}`; start a search there first, or give another `--store`.")
    _refuse_other_versions(engine, url)


def _refuse_other_versions(engine: Engine, url: str) -> None:
    """Refuse tables that another program made, or a newer Sextant; an older version is brought up by `migrate`."""
    with engine.connect() as connection:
        found = inspect(connection)
        if not found.has_table(VERSION_TABLE):
            if foreign := Base.metadata.tables.keys() & found.get_table_names():
                raise StoreError(f"`{url}` has a table `{min(foreign)}` of another program; give another `--store`.")
            return
        version = connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))
    known = {path.stem.removeprefix("v").partition("_")[0] for path in (MIGRATIONS / "versions").glob("v*.py")}
    if version is not None and version not in known:
        raise StoreError(f"The store `{url}` has version {version}, newer than this Sextant's {max(known)}; upgrade.")


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() != "sqlite":
            return create_engine(parsed, pool_pre_ping=True)
    except (ArgumentError, ImportError, ValueError) as error:  # no URL, no driver, no port number
        raise SpecError(f"Cannot read the store URL `{url}` ({error}); use a path or sqlite:///FILE.") from error
    if not parsed.database or parsed.database == ":memory:":
        raise SpecError(f"The store needs a file, got `{url}`; use a path or sqlite:///FILE.")
    _refuse_network_mount(Path(parsed.database))
    engine = create_engine(parsed)
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver must not begin by itself: `_begin_sqlite` does
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    immediate = connection.get_execution_options().get("immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _refuse_network_mount(path: Path) -> None:
    """Refuse SQLite where its locks do not hold (optuna issues 815, 5138: corrupted files on NFS)."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return
    target = path.absolute().parent
    points = [line.split()[1:3] for line in mounts.read_text().splitlines()]
    holding = [(point, kind) for point, kind in points if target.is_relative_to(point)]
    kind = max(holding, key=lambda mount: len(mount[0]), default=("/", ""))[1]
    if kind in NETWORK_FILE_SYSTEMS:
        raise SpecError(f"`{path}` lies on a {kind} mount, where SQLite loses data; use a local disk or PostgreSQL.")
