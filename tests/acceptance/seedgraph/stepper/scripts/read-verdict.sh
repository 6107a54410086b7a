#!/usr/bin/env bash
# Goes by the word that the coder's report ends or begins with.
source "$(dirname "${BASH_SOURCE[0]}")/state.sh"

report=$(value coder_report)
case $report in
*CODER_COMPLETE*) jq -n '{_next: "gate_style"}' ;;
*CODER_REJECTED*) jq -n '{failure_reason: "The coder rejected it.", _next: "end_rejected"}' ;;
*CODER_FAILED*) jq -n '{failure_reason: "The coder failed.", _next: "end_failed"}' ;;
*) jq -n '{failure_reason: "The coder gave no verdict.", _next: "end_failed"}' ;;
esac
