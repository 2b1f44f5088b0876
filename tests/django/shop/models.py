"""Models of every shape, parents first: the clean-up empties their tables from the last to the first."""

from tests.django.shop.inherited import Article, Book, Gadget, Item, Memo, Novel, Paper, UrgentOrder
from tests.django.shop.jobs import Chore, Flow, Job
from tests.django.shop.keyed import Member, Parcel, Profile, Seat, Slot
from tests.django.shop.peculiar import Device, Invoice, Journal, Ledger, Legacy, Page
from tests.django.shop.plain import Customer, Doc, Order, Run, Ticket
from tests.django.shop.related import Cart, CartLine, Periodic, Remark, Schedule, Tag
from tests.django.shop.sampler import Sampler

__all__ = [
    "Article",
    "Book",
    "Cart",
    "CartLine",
    "Chore",
    "Customer",
    "Device",
    "Doc",
    "Flow",
    "Gadget",
    "Invoice",
    "Item",
    "Job",
    "Journal",
    "Ledger",
    "Legacy",
    "Member",
    "Memo",
    "Novel",
    "Order",
    "Page",
    "Paper",
    "Parcel",
    "Periodic",
    "Profile",
    "Remark",
    "Run",
    "Sampler",
    "Schedule",
    "Seat",
    "Slot",
    "Tag",
    "Ticket",
    "UrgentOrder",
]
