# Functions for the scripts of a flow: `source "$LLM_PROMPT_UTILS_FILE"`.
#
# A script's stdout belongs to the one JSON object that it hands over. So messages go to stderr, which is in the node's
# log; only the colours print to stdout, for `$(red text)`. Nobody sits at a terminal: what would ask somebody refuses.
# For bash 3.2 and later; nothing happens when it is sourced.

_drumline_say() {
    printf '%s: %s\n' "$1" "${*:2}" >&2
}

error() { _drumline_say error "$@"; }
warn() { _drumline_say warning "$@"; }
info() { _drumline_say info "$@"; }
debug() { _drumline_say debug "$@"; }
trace() { _drumline_say trace "$@"; }

_drumline_paint() {
    printf '\033[%sm%s\033[0m\n' "$1" "${*:2}"
}

red() { _drumline_paint 31 "$@"; }
green() { _drumline_paint 32 "$@"; }
gold() { _drumline_paint 33 "$@"; }
yellow() { _drumline_paint 33 "$@"; }
blue() { _drumline_paint 34 "$@"; }
magenta() { _drumline_paint 35 "$@"; }
cyan() { _drumline_paint 36 "$@"; }
white() { _drumline_paint 37 "$@"; }

# The state as JSON, wherever it was put.
graph_state() {
    if [ -n "${GRAPH_STATE_FILE:-}" ]; then
        cat -- "$GRAPH_STATE_FILE"
    else
        printf '%s' "${GRAPH_STATE:-}"
    fi
}

detect_os() {
    case "$(uname -s)" in
        Linux) echo linux ;;
        Darwin) echo macos ;;
        SunOS) echo solaris ;;
        *BSD | DragonFly) echo bsd ;;
        CYGWIN* | MINGW* | MSYS*) echo windows ;;
        *) echo unknown ;;
    esac
}

# Permission is a matter of the flow's approval nodes. With AUTO_CONFIRM, which every script node has, it is given.
guard_operation() {
    [ -n "${AUTO_CONFIRM:-}" ] && return 0
    _drumline_refuse "${1:-continue?}"
}

guard_path() {
    guard_operation "${2:-change ${1:-}?}"
}

validate_present() {
    [ -n "${1:-}" ] && return 0
    error "a value is needed"
    return 1
}

_drumline_refuse() {
    error "a script cannot ask a person (${1:-no question}); put an approval or input node before it"
    return 1
}

confirm() {
    guard_operation "$@" && echo 1
}

input() { _drumline_refuse "$@"; }
list() { _drumline_refuse "$@"; }
checkbox() { _drumline_refuse "$@"; }
password() { _drumline_refuse "$@"; }
editor() { _drumline_refuse "$@"; }
with_validate() { _drumline_refuse "$@"; }
