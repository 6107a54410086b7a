#!/usr/bin/env bash
# Installs the Debian packages that the tests with real agents, those of crashes inside git and those of projects in Go need, where that may be done
# here; else says what is skipped without them. It never fails and never waits without end: what is missing is the tests' business to say.
set -u

missing=()
command -v npm > /dev/null || missing+=(npm)
command -v bwrap > /dev/null || missing+=(bubblewrap)
command -v strace > /dev/null || missing+=(strace)
command -v go > /dev/null || missing+=(golang-go)
[ ${#missing[@]} -eq 0 ] && exit 0

skip() {
  echo "ci: ${missing[*]} cannot be installed: $1"
  echo "ci: without npm no agent program is installed, without bubblewrap no jail is tried, without strace git is not"
  echo "ci: killed in the middle of a system call, without golang-go no task is done in Go; those tests are skipped"
  exit 0
}

[ "$(id -u)" -eq 0 ] || skip "this is not root"
command -v apt-get > /dev/null || skip "there is no apt-get"

export DEBIAN_FRONTEND=noninteractive
apt=(timeout --kill-after=10 600 apt-get --quiet --yes -o Acquire::Retries=1 -o Acquire::http::Timeout=30
  -o Acquire::https::Timeout=30 -o DPkg::Lock::Timeout=120)

echo "ci: installing ${missing[*]}"
"${apt[@]}" update || skip "apt-get update ended with $?"
"${apt[@]}" install --no-install-recommends "${missing[@]}" || skip "apt-get install ended with $?"
