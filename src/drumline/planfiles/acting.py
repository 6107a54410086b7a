"""Commands that do something, or show something to a person, rather than judge.

The rule: what changes something outside of the tree is not taken for a check, for a check runs several times.
"""

from __future__ import annotations

import re

_ACTS = re.compile(
    r"(?:sudo\s+)?(?:git|ls|cat|echo|printf|mkdir|touch|rm|cp|mv|head|tail|wc|open|code|source|export|cd|pwd|which|chmod|ln"
    r"|tree|sleep|kill)\b"
    r"(?!.*(?:&&|;)\s*(?!\s|git\b))"
    r"|(?:npm|pnpm|yarn|bun)\s+(?:i|install|add|ci|create|init|dlx|link|(?:run\s+)?(?:dev|start))\b|npx\s+create-"
    r"|(?:uv|poetry)\s+(?:sync|add|lock|install|remove|pip)|pip3?\s+install|cargo\s+(?:add|new|init|run)"
    r"|go\s+(?:get|mod|run)|brew\s|apt(?:-get)?\s|docker(?:[ -]compose)?\s+(?:up|down|pull|start|stop|logs|ps)"
    r"|bundle\s+install|composer\s+(?:install|require)",
)
"""Tools that install, start, show or record something."""
_DEED = r"(?:deploy|publish|release|rollback|provision|promote)"
_CLOUDS = r"(?:aws|gcloud|az|heroku|fly|flyctl|vercel|netlify|wrangler|supabase|firebase|eas)"
_REACHES_OUT = re.compile(
    r"(?:^|[;&|]\s*)(?:[A-Za-z_]\w*=\S*\s+)*(?:sudo\s+|npx\s+|bunx\s+)?(?:"
    rf"(?:npm|pnpm|yarn|bun|make|just|task|cargo|\S*gradlew?|mvn|poetry|uv|gem|vsce|rake|mix|dotnet)\s+(?:run\s+|-\S+\s+)*{_DEED}\b"
    rf"|(?:(?:ba|z)?sh\s+|python3?\s+|node\s+)?(?:\./)?(?:[\w-]+/)*{_DEED}[\w-]*\.\w+"
    r"|(?:terraform|tofu|pulumi|cdk|serverless|sls)\s+(?:apply|up|destroy|deploy|import)\b"
    r"|kubectl\s+(?:apply|create|delete|patch|scale|rollout|set|replace)\b|helm\s+(?:install|upgrade|uninstall)\b"
    r"|(?:docker|podman)\s+(?:push|login)\b|(?:gh|glab)\s+(?:pr|mr|release|issue)\s+(?:create|merge|close|edit)\b"
    rf"|{_CLOUDS}\s(?!.*(?:--dry-run|--version|\btest|\bbuild|\bvalidate|\bemulators))"
    r"|(?:ssh|scp|rsync|psql|mysql|mongosh|redis-cli)\s"
    r"|(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?db:(?:push|reset|drop|seed)\b|prisma\s+(?:db\s+(?:push|seed)|migrate\s+(?:deploy|reset))\b)"
    r"|\s--(?:remote|prod(?:uction)?)(?:\s|$)"
)
"""What reaches machines, accounts and data of others."""
_RECORDS = re.compile(
    r"(?:^|[;&|(\n])\s*(?:sudo\s+)?git\s+(?:-[cC]\s+\S+\s+)*"
    r"(?:add|am|branch|checkout|cherry-pick|clean|commit|fetch|merge|mv|pull|push|rebase|reset|restore|revert|rm|stash|switch"
    r"|tag|worktree)\b"
)
"""What stages, commits, or moves the work instead of judging it."""


def acts(command: str) -> bool:
    """Whether a command does something that a check must not do, or that says nothing about the work."""
    return _ACTS.match(command) is not None or reaches_out(command)


def reaches_out(command: str) -> bool:
    """Whether a command changes something on other machines, in accounts or in databases."""
    return _REACHES_OUT.search(command) is not None


def records(command: str) -> bool:
    """Whether a command stages, commits, fetches or moves work: run as a check, it would change what it judges."""
    return _RECORDS.search(command) is not None
