"""The JSON Schema of `drumline report --json`, draft 2020-12, made from the records that it is made of."""

from __future__ import annotations

import json
from typing import Any

from drumline.record import schema_of
from drumline.views.runreport import RunReport


def report_schema() -> dict[str, Any]:
    """The schema; keys are only ever added, so that others are allowed."""
    found = schema_of(RunReport)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Report of a run", **found}


def render_schema() -> str:
    """The schema as it is shipped in `drumline/schemas/report.schema.json`."""
    return json.dumps(report_schema(), indent=2, ensure_ascii=False) + "\n"
