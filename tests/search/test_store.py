"""The open database: migrations, pragmas, times, and what is refused."""

from datetime import datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from designspace.errors import SpecError
from search.store import Store, identity, migrate, open_store
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
