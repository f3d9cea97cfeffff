"""Alembic's entry: runs the versions on the connection that `search.store.migrate` hands over."""

from alembic import context

from search.tables import Base

context.configure(connection=context.config.attributes["connection"], target_metadata=Base.metadata)
with context.begin_transaction():
    context.run_migrations()
