"""Shapes that the shop does not have."""

from tests.django.bazaar.overriding import Based, Closing, Early, Retired, Swallowing, Wrapped
from tests.django.bazaar.shapes import (
    Car,
    Crate,
    Engine,
    Everything,
    Medal,
    Owner,
    Profile,
    Radio,
    Reading,
    Sealed,
    Upload,
)

__all__ = [
    "Based",
    "Car",
    "Closing",
    "Crate",
    "Early",
    "Engine",
    "Everything",
    "Medal",
    "Owner",
    "Profile",
    "Radio",
    "Reading",
    "Retired",
    "Sealed",
    "Swallowing",
    "Upload",
    "Wrapped",
]
