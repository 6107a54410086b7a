"""The composition root: reads settings, picks adapters. The only place that knows them all."""

from drumline.wiring.site import STORE, Site, open_site

__all__ = ["STORE", "Site", "open_site"]
