"""Configuration of the documentation. `make docs` builds it; a warning is an error."""

from __future__ import annotations

import warnings
from importlib.metadata import version as version_of

import django
from django.conf import settings

# autodoc looks at declared attributes of mixins, which are meant for mapped classes.
warnings.filterwarnings("ignore", message="Unmanaged access of declarative attribute")

# autodoc imports the Django adapter, and models want a configured Django.
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "cas_orm_django"],
    SECRET_KEY="only for the documentation",
    USE_TZ=True,
)
django.setup()

project = "cas-orm"
author = "cas-orm contributors"
copyright = "cas-orm contributors"
release = version_of("cas-orm")
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
root_doc = "index"
default_role = "code"
highlight_language = "python"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

# There is no network in the build, hence no inventory of other projects: their names stay unlinked.
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(django|sqlalchemy|asgiref|collections|datetime|enum|logging|typing|types|contextlib|uuid)(\..*)?",
    ),
    (r"py:.*", r"cas_orm\.facts\..*"),
    (r"py:.*", r"(cas_orm_(django|sqla)\.\w+\.)?[A-Z]"),  # type variables
    (
        r"py:.*",
        r"(optional|Where|OnWon|Model|models\.Model|Session|AsyncSession|Any|Self|Observer|Q|QuerySet|Mapping|Iterable|Sequence|Callable|Verdict\..*)",
    ),
]

html_theme = "furo"
html_title = "cas-orm"
