# What the scripts share: the state, and where the project and its plan are. To be sourced.
set -euo pipefail

if [ -n "${GRAPH_STATE_FILE:-}" ]; then
    STATE=$(cat "$GRAPH_STATE_FILE")
else
    STATE=$GRAPH_STATE
fi
PROJECT=${LLM_AGENT_VAR_PROJECT_DIR:-.}
PLANS=$PROJECT/${LLM_AGENT_VAR_PLANS_DIR:-plans}

# The value of a key as text; nothing if there is none. `//` would take false for nothing.
value() {
    jq -r --arg key "$1" '.[$key] | if . == null then "" elif type == "string" then . else tojson end' <<<"$STATE"
}

# A field of a file's frontmatter.
field() {
    sed -n "2,/^---\$/s/^$2:[[:space:]]*//p" "$1" | head -n 1
}

# Sets the status line of a step's file, in one stroke.
mark() {
    sed "2,/^---\$/s/^status:.*/status: $2/" "$1" >"$1.new"
    mv "$1.new" "$1"
}
