"""The composition root: reads settings, picks adapters. The only place that knows them all."""

from drumline.wiring.project import STORE, Project, open_project

__all__ = ["STORE", "Project", "open_project"]
