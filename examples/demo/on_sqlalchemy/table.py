"""The table of one side, made and dropped by SQLAlchemy."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, Table

from examples.demo.on_sqlalchemy.engine import DRIVERS


class SqlalchemyWorkshop:
    """A table on a connection of its own, which holds the lock."""

    def __init__(self, engine: Engine, table: Table) -> None:
        self._engine, self._table = engine, table
        self._connection: Connection | None = None
        (self.scheme,) = (name for name, driver in DRIVERS.items() if driver == engine.url.drivername)
        self.name = f"{engine.url.database}.{table.name}"

    def ask(self, sql: str, parameter: object) -> object:
        return self._open().exec_driver_sql(sql, (parameter,)).scalar_one()

    def create(self) -> None:
        self._table.create(self._open())

    def drop(self) -> None:
        self._table.drop(self._open(), checkfirst=True)

    def reconnect(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def _open(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        return self._connection
