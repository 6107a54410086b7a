#!/usr/bin/env bash
# A person wants something changed: the step is open again, and the coder hears what is wanted.
source "$(dirname "${BASH_SOURCE[0]}")/state.sh"

mark "$(value step_file)" in-progress
jq '{revisions, wish} | {revisions: (.revisions + 1), fix_rounds: 0,
    feedback: ("A person looked at it and wants a revision: " + .wish), _next: "build"}' <<<"$STATE"
