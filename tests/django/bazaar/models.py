"""Shapes that the shop does not have."""

from tests.django.bazaar.behind import Adopted, Always, Dial, Gauge, Hidden, Noted
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
    "Adopted",
    "Always",
    "Based",
    "Car",
    "Closing",
    "Crate",
    "Dial",
    "Early",
    "Engine",
    "Everything",
    "Gauge",
    "Hidden",
    "Medal",
    "Noted",
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
