#!/usr/bin/env bash
# A major deviation is a person's decision.
source "$(dirname "${BASH_SOURCE[0]}")/state.sh"

mark "$(value step_file)" in-progress
if [ "$(value major_deviation)" = true ]; then
    jq -n '{_next: "ask_deviation"}'
else
    jq -n '{_next: "build"}'
fi
