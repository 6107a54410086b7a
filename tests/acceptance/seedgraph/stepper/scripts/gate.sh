# One gate: runs the project's command for it and goes on, or into the fix loop. To be sourced.
source "$(dirname "${BASH_SOURCE[0]}")/state.sh"

# run_gate NAME NEXT
run_gate() {
    local command said code=0
    command=$(jq -r --arg gate "$1" '.[$gate] // ""' "$PROJECT/gates.json" 2>/dev/null || true)
    if [ -z "$command" ]; then
        jq -n --arg gate "$1" --arg next "$2" '{($gate + "_result"): ($gate + ": not run"), _next: $next}'
        return
    fi
    said=$(cd "$PROJECT" && bash -c "$command" 2>&1 </dev/null) || code=$?
    if [ "$code" -eq 0 ]; then
        jq -n --arg gate "$1" --arg next "$2" '{($gate + "_result"): ($gate + ": passed"), _next: $next}'
    else
        jq -n --arg gate "$1" --argjson code "$code" --arg said "${said: -2000}" \
            '{($gate + "_result"): ($gate + ": failed with exit code \($code)"),
              feedback: ("The gate \($gate) failed:\n" + $said), _next: "fix_loop"}'
    fi
}
