#!/usr/bin/env bash
# Picks the step: the one that was asked for, else one in progress, else the first that is pending.
source "$(dirname "${BASH_SOURCE[0]}")/state.sh"

wanted=${LLM_AGENT_VAR_STEP:-next}
picked=
if [ "$wanted" = next ]; then
    for status in in-progress pending; do
        for file in "$PLANS"/steps/*.md; do
            if [ -z "$picked" ] && [ "$(field "$file" status)" = "$status" ]; then
                picked=$file
            fi
        done
    done
else
    for file in "$PLANS"/steps/*.md; do
        if [ "$(field "$file" step)" = "$wanted" ]; then
            picked=$file
        fi
    done
fi
if [ -z "$picked" ]; then
    jq -n --arg wanted "$wanted" '{step_number: $wanted, step_title: "unknown", missing: "",
        failure_reason: "There is no such step to be done.", _next: "end_failed"}'
    exit 0
fi

number=$(field "$picked" step)
missing=
previous=
for needed in $(field "$picked" depends_on | tr -c '0-9' ' '); do
    handoff=$(printf '%s/handoffs/%02d-' "$PLANS" "$needed")
    found=$(ls "$handoff"*.md 2>/dev/null | head -n 1 || true)
    if [ -z "$found" ]; then
        missing="${missing}step $needed has left no handoff. "
    elif [ "$(field "$found" result)" != complete ]; then
        missing="${missing}step $needed ended as $(field "$found" result). "
    else
        previous=$(head -c 16000 "$found")
    fi
done
if [ -n "$missing" ]; then
    next=ask_blocked
else
    next=study
    mark "$picked" in-progress
fi

jq -n \
    --argjson number "$number" \
    --arg title "$(field "$picked" title)" \
    --arg file "$picked" \
    --arg text "$(head -c 24000 "$picked")" \
    --arg handoff "$PLANS/handoffs/$(basename "$picked")" \
    --arg previous "${previous:-There is none.}" \
    --arg notes "$(head -c 8000 "$PLANS/NOTES.md" 2>/dev/null || true)" \
    --arg missing "$missing" \
    --arg next "$next" \
    '{step_number: $number, step_title: $title, step_file: $file, step_text: $text, handoff_file: $handoff,
      previous_handoff: $previous, notes: $notes, missing: $missing, _next: $next}'
