#!/usr/bin/env bash
# A critical finding goes back to the coder, once.
source "$(dirname "${BASH_SOURCE[0]}")/state.sh"

jq '{review_rounds, review_report} | if (.review_report | contains("🔴")) and .review_rounds < 1
    then {review_rounds: (.review_rounds + 1), feedback: ("A review found this:\n" + .review_report), _next: "build"}
    else {_next: "hand_over"} end' <<<"$STATE"
