"""When each step of a run was worked on and waited, as SVG. The rule: time in which nothing worked takes no room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drumline.record import Record
from drumline.views.duration import duration
from drumline.views.graphsvg import clean

LABELS, WIDE, ROW, BAR, BREAK, HEAD = 170, 980, 24, 14, 34, 22
LEAST_BAR = 2.0
IDLE = 20.0
"""Seconds without work that are drawn as a break."""
TICKS = 6
WORKING = ("implement", "fix", "approach", "orient", "analyse", "improve")
READING = ("inspect", "diagnose", "review", "confirm", "sweep", "look_around", "handoff", "hand_over")
"""The nodes of the shipped flows at which an agent works."""
KINDS = {**dict.fromkeys((*WORKING, *READING), "implement"), "checks": "check", "check": "check", "land": "land"}


class Piece(Record):
    """A part of the run's time, and where it is drawn; a break has the same room however long it took."""

    began: float
    ended: float
    left: float
    right: float
    idle: bool


def timeline_svg(report: Mapping[str, Any]) -> str:
    """The picture; empty if nothing was worked on."""
    steps = [step for step in report["steps"] if step["spans"]]
    if not steps:
        return ""
    end = report["ended_at"]
    pieces = _cut_time([_interval(span, end) for step in steps for span in step["spans"]])
    rows = [_draw_step(step, number, pieces, end) for number, step in enumerate(steps)]
    high = HEAD + ROW * len(steps) + 8
    head = f'<svg viewBox="0 0 {WIDE} {high}" width="{WIDE}" height="{high}" role="img" class="timeline">'
    return f"{head}{_draw_axis(pieces, high, report['gates'])}{''.join(rows)}</svg>"


def _interval(span: Mapping[str, Any], end: float) -> tuple[float, float]:
    return span["began"], max(span["began"], end if span["ended"] is None else span["ended"])


def _cut_time(busy: Sequence[tuple[float, float]]) -> list[Piece]:
    """Work, and breaks between it, from left to right."""
    merged: list[list[float]] = []
    for began, ended in sorted(busy):
        if merged and began - merged[-1][1] <= IDLE:
            merged[-1][1] = max(merged[-1][1], ended)
        else:
            merged.append([began, ended])
    room = WIDE - LABELS - 10 - BREAK * (len(merged) - 1)
    total = sum(ended - began for began, ended in merged) or 1.0
    pieces: list[Piece] = []
    place = float(LABELS)
    for began, ended in merged:
        if pieces:
            before = pieces[-1].ended
            pieces.append(Piece(began=before, ended=began, left=place, right=place + BREAK, idle=True))
            place += BREAK
        wide = max(4.0, room * (ended - began) / total)
        pieces.append(Piece(began=began, ended=ended, left=place, right=place + wide, idle=False))
        place += wide
    return pieces


def _place(pieces: Sequence[Piece], at: float) -> float:
    for piece in pieces:
        if at <= piece.ended:
            part = (at - piece.began) / ((piece.ended - piece.began) or 1.0)
            return piece.left + min(1.0, max(0.0, part)) * (piece.right - piece.left)
    return pieces[-1].right


def _draw_axis(pieces: Sequence[Piece], high: int, gates: Sequence[Mapping[str, Any]]) -> str:
    worked, drawn, last = 0.0, [], -100.0
    for piece in pieces:
        if piece.idle:
            drawn.append(_draw_break(piece, high, gates))
            continue
        step = max(1.0, (piece.ended - piece.began) / max(1, round(TICKS * (piece.right - piece.left) / WIDE)))
        at = piece.began
        while at < piece.ended or at == piece.began:
            x = _place(pieces, at)
            if x - last > 50:
                last = x
                drawn.append(
                    f'<path class="grid" d="M{x:.1f} {HEAD - 6} V{high - 4}"/>'
                    f'<text class="tick" x="{x + 3:.1f}" y="12">{clean(duration(worked + at - piece.began))}</text>'
                )
            at += step
        worked += piece.ended - piece.began
    return "".join(drawn)


def _draw_break(piece: Piece, high: int, gates: Sequence[Mapping[str, Any]]) -> str:
    """Time in which nothing was worked on, and the gate that was open then, if one was."""
    told, middle = duration(piece.ended - piece.began), (piece.left + piece.right) / 2
    asked = [gate["id"] for gate in gates if gate["asked_at"] and piece.began - 1 <= gate["asked_at"] < piece.ended]
    why = f"nothing was worked on for {told}" + (f": gate {asked[0]} was open" if asked else "")
    look = "idle gate" if asked else "idle"
    return (
        f'<rect class="{look}" x="{piece.left:.1f}" y="{HEAD - 6}" width="{BREAK}" height="{high - HEAD - 8}">'
        f"<title>{clean(why, 200)}</title></rect>"
        f'<text class="tick" text-anchor="middle" x="{middle:.1f}" y="{high - 3}">{clean(told)}</text>'
    )


def _draw_step(step: Mapping[str, Any], number: int, pieces: Sequence[Piece], end: float) -> str:
    y = HEAD + ROW * number
    hot = " hot" if step["critical"] else ""
    told = f"{clean(step['id'], 22)}<title>{clean(step['title'], 300)}</title>"
    label = f'<text class="label{hot}" x="4" y="{y + 13}">{told}</text>'
    waits = [
        _bar(
            pieces,
            _interval(wait, end),
            y + 4,
            f"wait {wait['kind']}",
            f"waits: {wait['kind']} {wait['name']}",
            BAR - 8,
        )
        for wait in step["waits"]
    ]
    spans = [
        _bar(pieces, _interval(span, end), y, f"n-{KINDS.get(span['node'], 'other')}{hot}", span["node"], BAR)
        for span in step["spans"]
    ]
    return f"<g>{label}{''.join(waits)}{''.join(spans)}</g>"


def _bar(pieces: Sequence[Piece], when: tuple[float, float], y: float, look: str, told: str, high: int) -> str:
    left, right = _place(pieces, when[0]), _place(pieces, when[1])
    wide = max(LEAST_BAR, right - left)
    title = f"<title>{clean(told, 200)}: {clean(duration(when[1] - when[0]))}</title>"
    shape = f'x="{left:.1f}" y="{y}" width="{wide:.1f}" height="{high}" rx="2"'
    return f'<rect class="bar {clean(look)}" {shape}>{title}</rect>'
