#!/usr/bin/env bash
source "$(dirname "${BASH_SOURCE[0]}")/gate.sh"

run_gate build gate_tests
