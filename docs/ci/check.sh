#!/usr/bin/env bash
# Check models in a pipeline and leave the results where it looks for them. Settings are
# environment variables; empty means not set. The exit code is that of `ggufhub check`.
#   GGUFHUB_PATHS     files, directories, globs or links, one a line (default: .)
#   GGUFHUB_PROFILE   publish, load, security or audit
#   GGUFHUB_POLICY    policy file (TOML)
#   GGUFHUB_BASELINE  file of findings that are known already
#   GGUFHUB_FAIL_ON   error (default), warning, info or never
#   GGUFHUB_FORMAT    what goes to the log: text (default) or github
#   GGUFHUB_SARIF, GGUFHUB_JUNIT, GGUFHUB_MARKDOWN   files to write
#   GGUFHUB_SERVER    let this server check; it receives headers only (token: GGUFHUB_TOKEN)
set -euo pipefail

options=(--format "${GGUFHUB_FORMAT:-text}" --fail-on "${GGUFHUB_FAIL_ON:-error}")
if [[ -n "${GGUFHUB_PROFILE:-}" ]]; then options+=(--profile "$GGUFHUB_PROFILE"); fi
if [[ -n "${GGUFHUB_POLICY:-}" ]]; then options+=(--policy "$GGUFHUB_POLICY"); fi
if [[ -n "${GGUFHUB_BASELINE:-}" ]]; then options+=(--baseline "$GGUFHUB_BASELINE"); fi
if [[ -n "${GGUFHUB_SARIF:-}" ]]; then options+=(--also "sarif=$GGUFHUB_SARIF"); fi
if [[ -n "${GGUFHUB_JUNIT:-}" ]]; then options+=(--also "junit=$GGUFHUB_JUNIT"); fi
if [[ -n "${GGUFHUB_MARKDOWN:-}" ]]; then options+=(--also "markdown=$GGUFHUB_MARKDOWN"); fi
if [[ -n "${GGUFHUB_SERVER:-}" ]]; then options+=(--server "$GGUFHUB_SERVER"); fi

# A list on stdin: names with spaces need no quoting, and no name is taken for an option.
printf '%s\n' "${GGUFHUB_PATHS:-.}" | ggufhub check "${options[@]}" -
