"""Which commands act, so that nobody proposes them as checks."""

from __future__ import annotations

import pytest

from drumline.planfiles.acting import acts


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "npm install",
        "npm run dev",
        "npm run deploy",
        "NODE_ENV=x npm run deploy:staging",
        "make release",
        "./scripts/deploy.sh staging",
        "npm test && npm publish",
        "npx wrangler d1 execute DB --remote --file=a.sql",
        "terraform apply -auto-approve",
        "kubectl apply -f a.yaml",
        "gh pr create --fill",
        "aws s3 sync dist s3://bucket",
        "npx prisma migrate deploy",
        "ssh host ls",
    ],
)
def test_what_installs_starts_or_reaches_out_acts(command: str) -> None:
    assert acts(command)


@pytest.mark.parametrize(
    "command",
    [
        "npm test",
        "cargo test --release",
        "cargo build --release",
        "pytest -k deploy",
        "pytest tests/test_deploy.py",
        "shellcheck scripts/deploy.sh",
        "bash -n scripts/deploy.sh",
        "terraform validate",
        "npx wrangler deploy --dry-run",
        "supabase test db",
        "cd app && npm run build",
        "python -m release_notes --check",
    ],
)
def test_what_only_looks_does_not_act(command: str) -> None:
    assert not acts(command)
