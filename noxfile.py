"""The version grid: every supported Python with every supported Django, and the oldest versions we promise.

    nox --list
    nox -s "grid(py3.13-django6.1)"

The newest cell runs the whole suite, the others the contract suite, and the tests of the core once for each
Python. Besides, SQLAlchemy's own
versioning tests run with our listeners at work in them. An interpreter that this machine does not have is
skipped by name, and is an error with CI=true.
"""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import nox

PYTHONS_OF_DJANGO = {
    "5.2": ("3.11", "3.12", "3.13"),
    "6.0": ("3.12", "3.13"),
    "6.1": ("3.12", "3.13"),
}
#: The older Django with the older SQLAlchemy: two series each, and no cell twice.
SQLALCHEMY_WITH_DJANGO = {"5.2": "2.0", "6.0": "2.1", "6.1": "2.1"}
NEWEST = ("3.13", "6.1")
GRID = [(python, django) for django, pythons in PYTHONS_OF_DJANGO.items() for python in pythons]

CONTRACT_SUITES = ("tests/contract",)
#: Races wait most of their time. A file stays with one worker: some open fifty connections.
WORKERS = ("-n", "3", "--dist", "loadfile")

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = os.environ.get("CI") == "true"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["grid", "lowest", "upstream", "drivers"]


def put_pyenv_on_path(versions: list[str]) -> None:
    """Let `python3.12` be found where only pyenv has it: the shims of inactive versions refuse to run."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for version in versions:
        found = shutil.which(f"python{version}")
        if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
            continue
        for bindir in sorted(root.glob(f"versions/{version}.*/bin")):
            os.environ["PATH"] = f"{bindir}{os.pathsep}{os.environ['PATH']}"


put_pyenv_on_path(sorted({python for python, _ in GRID}))


def cell_name(python: str, django: str) -> str:
    return f"py{python}-django{django}"


@nox.session
@nox.parametrize("python,django", [nox.param(*cell, id=cell_name(*cell)) for cell in GRID])
def grid(session: nox.Session, django: str) -> None:
    """Run the suites on one cell of the support grid."""
    newest = (session.python, django) == NEWEST
    sqlalchemy = SQLALCHEMY_WITH_DJANGO[django]
    extra = ".[dev]" if newest else ".[test]"
    session.install("-e", extra, f"Django~={django}.0", f"SQLAlchemy[asyncio]~={sqlalchemy}.0")
    core = () if django != "5.2" else ("tests/core",)
    suites = () if newest else (*core, *CONTRACT_SUITES)
    session.run("python", "-m", "pytest", *WORKERS, *suites, *session.posargs)


@nox.session(python="3.11", venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """Run the core and contract suites on the lowest versions that pyproject.toml admits."""
    session.install("--resolution", "lowest-direct", "-e", ".[test]")
    session.run("python", "-m", "pytest", *WORKERS, "tests/core", *CONTRACT_SUITES, *session.posargs)


OTHER_DRIVERS = "psycopg2,asyncpg,mysqlclient"


@nox.session(python=NEWEST[0])
def drivers(session: nox.Session) -> None:
    """Run the SQLAlchemy half of the contract suite on the drivers that the grid does not run on.

    Which are psycopg2, asyncpg and mysqlclient, on PostgreSQL and MariaDB: won, refused, hooks, memory and
    cascades from the contract suite, then what is about drivers in the adapter's own tests. A minute or two.
    """
    session.install("-e", ".[test,drivers]")
    names = ("won", "refused", "on_won", "memory", "cascade")
    contract = [f"tests/contract/test_{name}.py" for name in names]
    own = ["tests/sqla/test_drivers.py", "tests/sqla/test_capabilities.py"]
    only = "not django and not sqlite"
    env = {"CAS_TEST_SQLA_DRIVERS": OTHER_DRIVERS}
    suites = (*contract, *own)
    session.run("python", "-m", "pytest", *WORKERS, *suites, "-k", only, *session.posargs, env=env)


@nox.session(python=NEWEST[0])
@nox.parametrize("sqlalchemy", sorted(set(SQLALCHEMY_WITH_DJANGO.values())))
def upstream(session: nox.Session, sqlalchemy: str) -> None:
    """Run SQLAlchemy's own versioning tests on classes that are ours."""
    session.install("-e", ".[servers]", f"SQLAlchemy[asyncio]~={sqlalchemy}.0", "pytest>=8.3", "pip")
    folder = source_of_sqlalchemy(session)
    session.run("python", "-s", "tests/upstream/run.py", str(folder), *session.posargs)


def source_of_sqlalchemy(session: nox.Session) -> Path:
    """Return the unpacked source of the installed SQLAlchemy: its wheel comes without the tests."""
    get_version = "from importlib.metadata import version; print(version('SQLAlchemy'))"
    version = str(session.run("python", "-c", get_version, silent=True)).strip()
    cache = Path(session.create_tmp()).resolve()
    folder = cache / f"sqlalchemy-{version}"
    if not folder.exists():
        wanted = ("--no-deps", "--no-binary", "SQLAlchemy", f"SQLAlchemy=={version}")
        session.run("python", "-m", "pip", "download", "-q", "--dest", str(cache), *wanted)
        with tarfile.open(cache / f"{folder.name}.tar.gz") as archive:
            archive.extractall(cache, filter="data")
    return folder
