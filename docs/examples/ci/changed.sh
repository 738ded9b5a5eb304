#!/usr/bin/env bash
# Lints what a branch has changed since it left its base: `changed.sh origin/main`.
set -euo pipefail

mapfile -d '' -t files < <(git diff --name-only -z --diff-filter=d "$1...HEAD")
if [[ ${#files[@]} -gt 0 ]]; then
    trl-lint check --force-exclude --output-format concise "${files[@]}"
fi
