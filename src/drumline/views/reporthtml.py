"""The report of a run as one page that needs nothing else: no script, no font, no picture from elsewhere.

The rule: it is made of what `report --json` prints, and every text of it is escaped; agents and plans wrote them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drumline.core.money import dollars
from drumline.core.proof import Level
from drumline.views.cells import split_lines
from drumline.views.duration import duration
from drumline.views.findings import tell_unread
from drumline.views.graphsvg import STYLE, Box, clean, graph_svg
from drumline.views.landings import tell_landings
from drumline.views.mutants import describe_change
from drumline.views.reportmd import count_passed, tell_choice
from drumline.views.timelinesvg import timeline_svg

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
LONG = 4_000
MOST_ASKED = 20
"""Lines of a question that are shown."""
_INDENTED = ' class="in"'
_PAGE = """
*{box-sizing:border-box}html{color-scheme:light dark}body{margin:0 auto;padding:24px;max-width:1080px;
font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page)}h1{font-size:24px;margin:0 0 4px}h2{
font-size:18px;margin:36px 0 10px;border-bottom:1px solid var(--line);padding-bottom:4px}h3{font-size:15px;
margin:18px 0 6px}p{margin:4px 0}.soft{color:var(--soft)}code,pre{font:12.5px/1.45 ui-monospace,monospace}table{
border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:5px 10px 5px 0;
vertical-align:top;border-bottom:1px solid color-mix(in srgb,var(--line) 35%,transparent)}th{color:var(--soft);
font-weight:600}td.n,th.n{padding-right:18px;text-align:right;font-variant-numeric:tabular-nums}.scroll{overflow-x:auto}.id{white-space:nowrap}.in{padding-left:1.2em;color:var(--soft)}.pill{
display:inline-block;padding:0 8px;border-radius:10px;border:1px solid var(--waiting-line);
background:var(--waiting);font-size:13px;white-space:nowrap}.p-done,.p-proved,.p-passed{background:var(--done);
border-color:var(--done-line)}.p-kept,.p-unproved,.p-running{background:var(--running);
border-color:var(--running-line)}.p-parked{background:var(--parked);border-color:var(--parked-line)}
.p-blocked,.p-failed{background:var(--blocked);border-color:var(--blocked-line)}details{margin:6px 0;
border:1px solid color-mix(in srgb,var(--line) 40%,transparent);border-radius:6px}summary{cursor:pointer;
padding:6px 10px}pre{margin:0;padding:8px 10px;overflow-x:auto;white-space:pre}.add{color:var(--done-line)}.del{
color:var(--blocked-line)}.at{color:var(--ready-line)}.cards{display:flex;flex-wrap:wrap;gap:10px;margin:14px 0}
.card{border:1px solid color-mix(in srgb,var(--line) 40%,transparent);border-radius:8px;padding:8px 14px;
min-width:110px}.card b{display:block;font-size:19px}svg{max-width:100%;height:auto}svg .tick{font-size:11px;
fill:var(--soft)}svg .grid{stroke:var(--line);stroke-opacity:.35}
svg .idle.gate{fill:var(--parked-line)}svg .idle{fill:var(--line);fill-opacity:.2}
svg .label.hot{fill:var(--hot);font-weight:600}svg .bar{fill:var(--line)}svg .n-implement{
fill:var(--ready-line)}svg .n-check{fill:var(--done-line)}svg .n-land{fill:var(--running-line)}svg .wait{
fill:var(--parked-line);fill-opacity:.45}svg .bar.hot{stroke:var(--hot);stroke-width:1.5}.key span{
display:inline-block;margin-right:14px}.key i{display:inline-block;width:12px;height:12px;border-radius:2px;
margin-right:5px;vertical-align:-1px}@media print{*{print-color-adjust:exact;
-webkit-print-color-adjust:exact}body{max-width:none;padding:0;font-size:12px}table{font-size:11.5px}
tr,.card,svg{break-inside:avoid}h2,h3{break-after:avoid}.scroll{overflow:visible}
details::details-content{content-visibility:visible;display:block;height:auto}pre{white-space:pre-wrap}}
"""
_KEY = (
    ("--ready-line", "an agent works"),
    ("--done-line", "checks"),
    ("--running-line", "landing"),
    ("--line", "setup and other nodes"),
    ("--parked-line", "waits at a gate"),
    ("--hot", "critical path"),
)


def report_html(report: Mapping[str, Any]) -> str:
    """The page."""
    parts = [
        _head(report),
        _section("Steps", _steps(report["steps"])),
        _section("Timeline", _timeline(report)),
        _section("Plan", f'<div class="scroll">{graph_svg(list_boxes(report), standalone=False)}</div>'),
        _section("Findings", _findings(report)),
        _section("Gates", _gates(report["gates"])),
        _section("Checks", "".join(_checks(step) for step in report["steps"] if step["checks"])),
        _section("Cost", _costs(report)),
        _section("Changes", "".join(_diff(step) for step in report["steps"] if step["diff"])),
    ]
    title = f"{text(report['title'])} · {text(report['state'])}"
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}{_PAGE}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{"".join(parts)}</body></html>\n'


def text(value: object, most: int = LONG) -> str:
    """Anything as text of a page."""
    return clean(str(value), most)


def list_boxes(report: Mapping[str, Any]) -> list[Box]:
    """The steps as boxes of a graph."""
    return [
        Box(
            id=step["id"],
            title=step["title"],
            state=step["state"],
            needs=tuple(step["needs"]),
            critical=step["critical"],
        )
        for step in report["steps"]
    ]


def _section(title: str, inner: str) -> str:
    return f"<section><h2>{title}</h2>{inner}</section>\n" if inner else ""


def _pill(word: str | None) -> str:
    return f'<span class="pill p-{text(word)}">{text(word.replace("_", " "))}</span>' if word else ""


def _head(report: Mapping[str, Any]) -> str:
    done = sum(step["state"] == "done" for step in report["steps"])
    proved = sum(step["level"] == "proved" for step in report["steps"])
    cards = [
        (f"{done} of {len(report['steps'])}", "steps done"),
        (str(proved), "proved"),
        (str(len(report["filesChanged"])), "files changed"),
        (str(report["iterations"]), "fixes"),
        (_cost(report["usage"]), "cost"),
        (duration(report["seconds"]), "driven"),
    ]
    shown = "".join(f'<div class="card"><b>{text(value)}</b>{text(name)}</div>' for value, name in cards)
    reason = f"<p>{text(report['reason'])}</p>" if report["reason"] else ""
    landed = tell_landings(report["landings"])
    reason += f'<p class="soft">{text(landed)}</p>' if landed else ""
    facts = [f"run {report['run']}", report["plan"], report["branch"], report["agent"], report["mode"]]
    return (
        f"<header><h1>{text(report['title'])} {_pill(report['state'])}</h1>"
        f'<p class="soft">{text(" · ".join(fact for fact in facts if fact))}</p>{reason}'
        f'<div class="cards">{shown}</div></header>\n'
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table; its cells are markup already."""
    looks = [' class="n"' if place in numbers else "" for place in range(len(head))]
    top = "".join(f"<th{look}>{name}</th>" for name, look in zip(head, looks, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{look}>{cell}</td>' for cell, look in zip(row, looks, strict=True))}</tr>" for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _steps(steps: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for step in steps:
        why = step["reason"] or ""
        codes = "" if step["level"] == Level.KEPT.value else ", ".join(step["reasons"]).replace("_", " ")
        told = [codes, why]
        by = f"landed by {step['landed_by']}"
        told += [by] if step["landed_by"] and step["reason"] != by else []
        commit = f"<code>{text(step['commit'][:9])}</code>" if step["commit"] else ""
        rows.append(
            (
                f"<b>{_name(step['id'])}</b>",
                text(step["title"]),
                _pill(step["state"]),
                f"{_pill(step['level'])} {text('; '.join(one for one in told if one), 300)}",
                count_passed(step),
                str(step["fixes"]),
                commit,
            )
        )
    return _table(("Step", "Title", "State", "Proof", "Checks", "Fixes", "Commit"), rows, numbers=(4, 5))


def _timeline(report: Mapping[str, Any]) -> str:
    drawn = timeline_svg(report)
    key = "".join(f'<span><i style="background:var({name})"></i>{word}</span>' for name, word in _KEY)
    return f'<div class="scroll">{drawn}</div><p class="key soft">{key}</p>' if drawn else ""


def _name(step: str) -> str:
    """A step's id on one line."""
    return f'<span class="id">{text(step)}</span>'


def _findings(report: Mapping[str, Any]) -> str:
    kinds = ("unresolvedBlockers", "concerns", "nits", "unassigned", "deferred")
    rows = [
        (kind, _name(one["step"]), text(f"{one['file']}:{one['line'] or ''}"), text(one["title"]), text(one["detail"]))
        for kind in kinds
        for one in report[kind]
    ]
    notices = [("notice", _name(step["id"]), "", text(one), "") for step in report["steps"] for one in step["notices"]]
    found = [*rows, *_list_missing(report), *_list_survivors(report["steps"]), *notices]
    return _table(("Kind", "Step", "Place", "What", "Detail"), found) if found else '<p class="soft">None.</p>'


def _list_missing(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """What was to be answered and was not, by step and of the whole."""
    rows = []
    for step in report["steps"]:
        rows += [("not reviewed", _name(step["id"]), "", text(step["unreviewed"]), "")] if step["unreviewed"] else []
        told = text(tell_unread(step["unread"]))
        rows += [("unread", _name(step["id"]), "", told, "")] if step["unread"] else []
    return [*rows, *(("review", "the whole", "", text(told), "") for told in report["review_of_the_whole"])]


def _list_survivors(steps: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Changes of the work that its checks do not notice."""
    return [
        (
            "mutant",
            _name(step["id"]),
            text(f"{one['path']}:{one['line']}"),
            text(describe_change(one["before"], one["after"])),
            "not noticed by its checks",
        )
        for step in steps
        for one in step["mutants"]["survivors"]
    ]


def _gates(gates: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (
            f'<code class="id">{text(gate["id"])}</code>',
            _question(gate["question"]),
            f"<b>{text(tell_choice(gate))}</b>" if gate["choice"] is not None else _pill("open"),
            text(": ".join(one for one in (gate["by"], gate["comment"]) if one)),
            duration(gate["answered_at"] - gate["asked_at"]) if gate["answered_at"] and gate["asked_at"] else "",
        )
        for gate in gates
    ]
    return _table(("Gate", "Question", "Answer", "By", "Waited"), rows, numbers=(4,)) if rows else ""


def _question(question: str) -> str:
    """A question as it was put, line by line; what was indented stays so."""
    lines = split_lines(question)
    shown = [f"<span{_INDENTED if line[:1] == ' ' else ''}>{text(line, 300)}</span>" for line in lines[:MOST_ASKED]]
    return "<br>".join([*shown, *(["…"] if len(lines) > MOST_ASKED else [])])


def _checks(step: Mapping[str, Any]) -> str:
    rows = [
        (
            f"<code>{text(check['command'], 300)}</code><br><span class='soft'>"
            f"{'<br>'.join(text(line, 300) for line in check['evidence'])}</span>",
            text(check["source"]),
            _pill(
                "passed" if check["verdict"] == "passed" else "failed" if check["verdict"] == "failed" else "not run"
            ),
            duration(check["seconds"]),
        )
        for check in step["checks"]
    ]
    return f"<h3>{text(step['id'])}</h3>{_table(('Check', 'From', 'Verdict', 'Time'), rows, numbers=(3,))}"


def _costs(report: Mapping[str, Any]) -> str:
    used = [(f"<b>{text(step['id'])}</b>", text(step["agent"]), step["usage"]) for step in report["steps"]]
    used += [("all steps", text(name), usage) for name, usage in report["agents"].items()]
    used.append(("<b>run</b>", "", report["usage"]))
    rows = [
        (name, agent, str(one["attempts"]), f"{one['input']:,}", f"{one['output']:,}", text(_cost(one)))
        for name, agent, one in used
        if one["attempts"]
    ]
    head = ("Step", "Agent", "Attempts", "Input", "Output", "Cost")
    return _table(head, rows, numbers=(2, 3, 4, 5)) if rows else ""


def _cost(usage: Mapping[str, Any]) -> str:
    if usage["cost_usd"] is None:
        return "unpriced" if usage["attempts"] else "none"
    return str(dollars(usage["cost_usd"]))


def _diff(step: Mapping[str, Any]) -> str:
    inks = {"+": "add", "-": "del", "@": "at"}
    lines = [
        f'<span class="{inks[line[:1]]}">{_line(line)}</span>' if line[:1] in inks else _line(line)
        for line in step["diff"]
    ]
    files = ", ".join(step["files"][:6]) + (" …" if len(step["files"]) > 6 else "")
    head = f"<summary><b>{text(step['id'])}</b> <span class='soft'>{text(files, 200)}</span></summary>"
    return f"<details>{head}<pre>{chr(10).join(lines)}</pre></details>"


def _line(line: str) -> str:
    """A line of a diff; its spaces stay."""
    plain = "".join(sign for sign in line[:LONG] if sign.isprintable() or sign == "\t")
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
