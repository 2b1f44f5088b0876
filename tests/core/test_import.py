"""`import cas_orm` needs the standard library only, and offers exactly the contract's names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cas_orm
from cas_orm import errors

ROOT = Path(__file__).parents[2]

ALONE = """
import sys

BLOCKED = {"django", "sqlalchemy", "sqlmodel", "alembic"}
BLOCKED |= {"psycopg", "psycopg2", "asyncpg", "pymysql", "MySQLdb"}
asked = []


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            asked.append(name)
            raise ModuleNotFoundError(name)
        return None


sys.meta_path.insert(0, Blocker())
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
import cas_orm, cas_orm.engine

assert not asked, asked
tops = {name.partition(".")[0] for name in set(sys.modules) - before}
assert tops - set(sys.stdlib_module_names) == {"cas_orm"}, tops
for name in cas_orm.__all__:
    getattr(cas_orm, name)
print("alone")
"""

#: In place, and held: a name that goes is a broken promise.
NAMES = {
    *errors.__all__,
    *"UNSET Expect one_of not_one_of Verdict Outcome judge RetryPolicy WakeUp RequeuePolicy".split(),
    *"LivelockPolicy RunSnapshot Transition Tick Store Queue Coordinator AsyncCoordinator".split(),
    *"ChecksumPolicy Committed Idle Requeued ForceFailed Failed Gone state_checksum StaleCounts".split(),
}
#: Promised; a module that arrives may bring them in any order.
TO_COME = {"CasEvent", "Observer"}


def test_imports_where_no_orm_can_be_imported() -> None:
    """A process that refuses every ORM and driver imports the core, which does not even ask."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(ROOT)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("alone", "")


def test_the_public_names_are_the_contracts() -> None:
    """Every name in place is exported, and nothing that the contract does not name."""
    public = set(cas_orm.__all__)
    assert public >= NAMES
    assert public <= NAMES | TO_COME
    assert len(cas_orm.__all__) == len(public)
    assert all(hasattr(cas_orm, name) for name in public)


def test_the_public_names_are_sorted() -> None:
    """Constants, then classes, then functions, each by the alphabet."""
    order = [(not name.isupper(), not name[0].isupper(), name) for name in cas_orm.__all__]
    assert order == sorted(order)
