#!/usr/bin/env bash
# Files the handoff if it is whole, and asks for it again, once, if it is not.
source "$(dirname "${BASH_SOURCE[0]}")/state.sh"

file=$(value handoff_file)
draft=$file.new
value handoff >"$draft"

lacking=
case $(field "$draft" result) in
complete | partial | blocked) ;;
*) lacking="a result that is complete, partial or blocked" ;;
esac
for heading in Summary Completed "Not completed" Deviations "Downstream plan updates" \
    "Edge cases discovered" Evidence "Notes for next step"; do
    grep -q "^## $heading" "$draft" || lacking="${lacking:+$lacking, }the heading $heading"
done

if [ -n "$lacking" ]; then
    rm "$draft"
else
    mv "$draft" "$file"
fi

if [ -z "$lacking" ]; then
    mark "$(value step_file)" complete
    jq -n '{_next: "ask_person"}'
elif [ "$(value handoff_rounds)" -lt 1 ]; then
    jq -n --arg lacking "$lacking" \
        '{handoff_rounds: 1, feedback: ("The handoff before lacked " + $lacking + "."), _next: "hand_over"}'
else
    jq -n --arg lacking "$lacking" \
        '{failure_reason: ("The handoff lacks " + $lacking + "."), _next: "end_failed"}'
fi
