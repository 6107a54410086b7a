"""The words of Maestro's markdown plans: headings, labels, yes and no, in the languages people write them in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

MAX_RANGE = 50
MAX_CHARS = 2_000


class Topic(Enum):
    """What a sub-section of a phase is about."""

    OBJECTIVE = "objective"
    AGENT = "agent"
    PARALLEL = "parallel"
    CREATE = "files to create"
    MODIFY = "files to modify"
    DETAILS = "implementation details"
    VALIDATION = "validation"
    NEEDS = "dependencies"
    BLOCKS = "blocks"


TEMPLATE = (
    Topic.OBJECTIVE,
    Topic.AGENT,
    Topic.PARALLEL,
    Topic.CREATE,
    Topic.MODIFY,
    Topic.DETAILS,
    Topic.VALIDATION,
    Topic.NEEDS,
)
"""The order of sub-headings in the template, which tells their topics where their words do not."""

_WORDS: Mapping[Topic, str] = {
    Topic.OBJECTIVE: "objective|goal|ziel|objetivo|objectif|obiettivo|цель|目标|目標|目的|목표",
    Topic.AGENT: "agent|agents|assigned agent|agente|агент|исполнитель|代理|智能体|エージェント|에이전트",
    Topic.PARALLEL: "parallel|parallelizable|paralelo|parallèle|parallelo|parallele|параллельно|并行|並列|병렬",
    Topic.CREATE: "files to create|files created|new files|zu erstellende dateien|neue dateien|archivos a crear"
    "|fichiers à créer|file da creare|arquivos a criar|создаваемые файлы|файлы для создания|要创建的文件|新建文件"
    "|作成するファイル|생성할 파일",
    Topic.MODIFY: "files to modify|files modified|files to change|files|zu ändernde dateien|archivos a modificar"
    "|fichiers à modifier|file da modificare|arquivos a modificar|изменяемые файлы|файлы для изменения"
    "|要修改的文件|修改文件|変更するファイル|수정할 파일",
    Topic.DETAILS: "implementation details|details|umsetzung|detalles de implementación|détails|детали реализации"
    "|实现细节|実装の詳細|구현 세부사항",
    Topic.VALIDATION: "validation|verification|validierung|prüfung|validación|verificación|vérification|validazione"
    "|validação|проверка|валидация|验证|検証|검증",
    Topic.NEEDS: "dependencies|dependency|blocked by|depends on|abhängigkeiten|blockiert durch|dependencias"
    "|bloqueado por|bloqueada por|dépendances|bloqué par|dipendenze|bloccato da|dependências|зависимости"
    "|заблокировано|зависит от|依赖|依赖关系|被阻塞|阻塞于|依存関係|ブロック元|의존성|차단됨",
    Topic.BLOCKS: "blocks|blockiert|bloquea|bloque|blocca|bloqueia|блокирует|阻塞|ブロック先|차단",
}
_TOPICS = {word: topic for topic, words in _WORDS.items() for word in words.split("|")}
_YES = frozenset({"yes", "y", "true", "ja", "sí", "si", "oui", "sim", "да", "是", "はい", "예", "네", "可", "✅", "✓"})
_NO = frozenset(
    {
        "no",
        "n",
        "false",
        "nein",
        "non",
        "não",
        "nao",
        "нет",
        "否",
        "不",
        "いいえ",
        "아니오",
        "아니요",
        "不可",
        "❌",
        "✗",
    }
)
_NOTHING = frozenset(
    {
        "none",
        "n/a",
        "na",
        "nothing",
        "-",
        "–",
        "—",
        "keine",
        "ninguna",
        "ninguno",
        "aucun",
        "aucune",
        "nessuna",
        "nenhuma",
        "нет",
        "无",
        "無",
        "なし",
        "없음",
    }
)

_SEPARATOR = re.compile(r"[:：]|\s[-–—]+\s|[.)](?=\s)|–|—")
_ID = r"(?:[A-Z]{1,2})?[0-9]{1,9}(?:\.[0-9]{1,9})*(?:[a-z][0-9]{0,9})?"
_NUMBER = re.compile(rf"(?<![A-Za-z0-9.])({_ID})(?![A-Za-z0-9])")
_RANGE = re.compile(r"(?<![A-Za-z0-9.])([0-9]{1,9})\s*(?:-|–|—|\.\.+|to|through)\s*([0-9]{1,9})(?![A-Za-z0-9.])")
_ASIDE = re.compile(r"\([^()]*\)")
_DECORATION = "*_`#[] \t\"'"


class Heading(NamedTuple):
    """A numbered heading: the word before the number in lower case, the number and the name after it."""

    word: str
    id: str
    name: str


def parse_heading(text: str) -> Heading | None:
    """The heading's number and name if it has a number before a separator, or nothing after its number."""
    flat = " ".join(text.split()).strip(_DECORATION)
    parted = _SEPARATOR.search(flat)
    label, name = (flat[: parted.start()], flat[parted.end() :]) if parted else (flat, "")
    found = _NUMBER.search(label)
    if found is None or (not parted and label[found.end() :].strip()):
        return None
    word = (label[: found.start()] + label[found.end() :]).strip(_DECORATION).casefold()
    return Heading(word, found[1], name.strip(_DECORATION + "-–—:：") or flat)


def rename_heading(text: str, new_id: str, name: str) -> str:
    """A heading like this one for a phase with another id and name."""
    flat = " ".join(text.split())
    parted = _SEPARATOR.search(flat)
    found = _NUMBER.search(flat[: parted.start()] if parted else flat)
    if found is None:
        return f"Phase {new_id}: {name}"
    between = flat[found.end() : parted.end()] if parted else ":"
    return f"{flat[: found.start()]}{new_id}{between} {name}"


def split_label(text: str) -> tuple[str, str]:
    """What stands before the first colon of a line, and what after it; decoration is taken off both."""
    flat = text.strip()
    place = min((at for at in (flat.find(":"), flat.find("：")) if at >= 0), default=-1)
    if place < 0:
        return flat.strip(_DECORATION), ""
    return flat[:place].strip(_DECORATION), flat[place + 1 :].strip().strip("*_").strip()


def topic_of(label: str) -> Topic | None:
    """What a heading or label is about, if its words are known."""
    return _TOPICS.get(" ".join(label.strip(_DECORATION + ":：").casefold().split()))


def read_choice(text: str) -> bool | None:
    """Yes or no from the first word of a text, None if it is neither."""
    words = text.replace(",", " ").replace("(", " ").replace(".", " ").split()
    word = words[0].strip(_DECORATION + ":：。、,").casefold() if words else ""
    return True if word in _YES else False if word in _NO else None


def is_nothing(text: str) -> bool:
    """Whether a list of phases says that there are none."""
    words = _ASIDE.sub("", text).strip(_DECORATION + ".。")
    first = words.split()[0].strip(",;:") if words.split() else ""
    return not words or first.casefold() in _NOTHING


def parse_ids(text: str) -> tuple[str, ...]:
    """The ids of phases named in a text, in order; ranges such as `1-3` are written out, asides are left out."""
    said = _ASIDE.sub("", text[:MAX_CHARS])
    if is_nothing(said):
        return ()
    ids = [found[1] for found in _NUMBER.finditer(_RANGE.sub(_expand, said))]
    return tuple(dict.fromkeys(ids))


def _expand(found: re.Match[str]) -> str:
    first, last = int(found[1]), int(found[2])
    if not 0 <= last - first <= MAX_RANGE:
        return found[0]
    return ", ".join(str(number) for number in range(first, last + 1))
