"""The open database: migrations, pragmas, times, and what is refused."""

import sqlite3
from datetime import datetime
from importlib import import_module
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.exc import IntegrityError

from designspace.errors import SpecError
from search.store import MIGRATIONS, VERSION_TABLE, Store, StoreError, identity, migrate, open_store
from search.tables import Base, UtcDateTime


def test_migrated_schema_equals_the_metadata(store: Store) -> None:
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


@pytest.mark.parametrize("table", sorted(Base.metadata.tables))
def test_migration_makes_every_index_and_unique_constraint(store: Store, table: str) -> None:
    found = inspect(store.engine)
    expected = Base.metadata.tables[table]
    names = {index.name for index in expected.indexes}
    assert {index["name"] for index in found.get_indexes(table) if not index.get("duplicates_constraint")} == names
    unique = {str(c.name) for c in expected.constraints if type(c).__name__ == "UniqueConstraint"}
    assert {constraint["name"] for constraint in found.get_unique_constraints(table)} == unique


def test_migrating_twice_changes_nothing(store: Store) -> None:
    before = inspect(store.engine).get_table_names()
    migrate(store.engine)
    assert inspect(store.engine).get_table_names() == before


def test_every_store_has_an_identity_of_its_own_that_stays(store: Store, tmp_path: Path) -> None:
    other = open_store(str(tmp_path / "other.db"))
    assert identity(store) != identity(other)
    other.close()
    again = open_store(str(tmp_path / "other.db"))
    assert identity(again) == identity(other)
    again.close()


def test_sqlite_runs_in_wal_mode_with_foreign_keys(store: Store) -> None:
    with store.read() as session:
        pragmas = {name: session.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "foreign_keys")}
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1}


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a time zone"):
        UtcDateTime().process_bind_param(datetime(2026, 1, 1), SQLiteDialect())


def test_a_failed_transaction_leaves_no_trace(store: Store) -> None:
    def fail() -> None:
        with store.write() as session:
            store.log(session, "x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with store.read() as session:
        assert session.scalar(text("SELECT count(*) FROM event WHERE kind = 'x'")) == 0


@pytest.mark.parametrize("url", ["sqlite://", "nonsense://x", "sqlite:///:memory:"])
def test_an_unusable_url_is_refused(url: str) -> None:
    with pytest.raises(SpecError, match="sqlite:///FILE"):
        open_store(url)


def test_opening_a_missing_store_for_reading_names_it_and_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "absent.db"
    with pytest.raises(SpecError, match=r"absent\.db"):
        open_store(str(path), create=False)
    assert not path.exists()


def made_by(path: Path, *statements: str) -> str:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return str(path)


def unusable(kind: str, folder: Path) -> str:
    """A store that cannot be used."""
    path = folder / "runs.db"
    match kind:
        case "a directory":
            path.mkdir()
        case "no folder":
            return str(folder / "absent" / "runs.db")
        case "garbage":
            path.write_bytes(b"garbage " * 1000)
        case "another program's":
            made_by(path, "CREATE TABLE study (x)")
        case "newer":
            open_store(str(path)).close()
            made_by(path, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
        case "cut off":
            open_store(str(path)).close()
            path.write_bytes(path.read_bytes()[:20_000])
    return str(path)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("a directory", "unable to open"),
        ("no folder", "unable to open"),
        ("garbage", "not a database"),
        ("another program's", "another program"),
        ("newer", "version 9999, newer"),
        ("cut off", "malformed"),
    ],
)
def test_an_unusable_file_is_named_with_what_is_wrong(tmp_path: Path, kind: str, words: str) -> None:
    with pytest.raises(StoreError, match=words) as caught:
        open_store(unusable(kind, tmp_path))
    assert "runs.db" in str(caught.value)
    if kind not in ("no folder", "another program's"):
        with pytest.raises(StoreError, match=words):
            open_store(str(tmp_path / "runs.db"), create=False)


def test_a_full_disk_is_said_and_leaves_the_store_as_it_was(store: Store) -> None:
    with store.read() as session:
        pages = session.scalar(text("PRAGMA page_count"))

    def fill() -> None:
        with store.write() as session:
            session.execute(text(f"PRAGMA max_page_count = {pages}"))
            for _ in range(1000):
                store.log(session, "filler", {"data": "x" * 1000})

    with pytest.raises(StoreError, match="disk is full"):
        fill()
    with store.read() as session:
        assert session.scalar(text("SELECT count(*) FROM event WHERE kind = 'filler'")) == 0


def test_a_mistake_in_a_statement_is_no_trouble_of_the_store(store: Store) -> None:
    def insert_twice() -> None:
        with store.write() as session:
            session.execute(text("INSERT INTO provenance VALUES (1, 'a', '{}'), (2, 'a', '{}')"))

    with pytest.raises(IntegrityError):
        insert_twice()


def test_every_revision_is_named_like_its_file() -> None:
    for path in (MIGRATIONS / "versions").glob("v*.py"):
        module = import_module(f"search.migrations.versions.{path.stem}")
        assert path.stem.startswith(f"v{module.revision}_")
