"""Name the databases of a race."""

import pytest

SERVERS = ("postgres", "mariadb")
EVERYWHERE = ("sqlite", *SERVERS)


def on(*doors: str) -> pytest.MarkDecorator:
    """Run a race on these databases or isolation levels."""
    return pytest.mark.parametrize("door", doors, indirect=True)
