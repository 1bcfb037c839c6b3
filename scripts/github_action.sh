#!/usr/bin/env bash
# Lints a checkout on a GitHub runner; action.yml calls it with the inputs as TORCHLINT_* variables.
#
# Installs the torchlint of the action's own commit, so that pinning the action pins the linter. Annotations go to
# standard output, a summary to the page of the job, and the exit status of torchlint to the output `exit-status`.
set -euo pipefail

# An annotation of the whole run. The message may contain anything that an input contains.
annotate() {
    local message=${1//'%'/%25}
    message=${message//$'\r'/%0D}
    printf '::error title=torchlint::%s\n' "$message"
}

fail() {
    annotate "$1"
    printf 'exit-status=2\n' >>"$GITHUB_OUTPUT"
    exit 2
}

# The lines of a text as the array `lines`, without empty ones.
split() {
    lines=()
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        line=${line%$'\r'}
        if [ -n "$line" ]; then lines+=("$line"); fi
    done <<<"$1"
}

# The commit that a pull request is to be merged into. GitHub checks out a merge commit, whose first parent it is; the
# default checkout has only that one commit, so its parents are fetched if they are missing.
base_commit() {
    if ! git rev-parse --quiet --verify 'HEAD^1^{commit}' >/dev/null; then
        git fetch --quiet --no-tags --deepen=1 origin "$GITHUB_SHA" >&2 || return 1
    fi
    if git rev-parse --quiet --verify 'HEAD^2^{commit}' >/dev/null; then
        git rev-parse --quiet --verify 'HEAD^1^{commit}'
    else # another commit was checked out, such as the last one of the branch
        git rev-parse --quiet --verify "$TORCHLINT_BASE^{commit}"
    fi
}

cd "$GITHUB_WORKSPACE"
environment=$RUNNER_TEMP/torchlint-environment
bin=$environment/bin
if [ "${RUNNER_OS:-}" = Windows ]; then bin=$environment/Scripts; fi
# The environment may come from a cache, whole or damaged.
if ! "$bin/torchlint" --version >/dev/null 2>&1; then
    "$TORCHLINT_PYTHON" -m venv --clear "$environment"
    "$bin/python" -m pip install --quiet --disable-pip-version-check "$GITHUB_ACTION_PATH" || fail "pip could not install torchlint"
fi

split "$TORCHLINT_ARGUMENTS"
for line in ${lines[@]+"${lines[@]}"}; do
    case $line in
    --output-format* | --output-file* | --format* | --statistics* | --diff* | --show-files* | --show-settings*)
        fail "the input 'arguments' cannot have '$line': the action writes annotations" ;;
    --*[[:space:]]*)
        if [[ $line != *=*[[:space:]]* ]]; then
            fail "the input 'arguments' has one argument on each line: instead of '$line' write '${line%%[[:space:]]*}=${line#*[[:space:]]}'"
        fi ;;
    esac
done
common=(--cache-dir "$RUNNER_TEMP/torchlint-cache" ${lines[@]+"${lines[@]}"}) # the second run reads what the first found
split "$TORCHLINT_PATHS"
paths=(${lines[@]+"${lines[@]}"})

changed=()
if [ "$TORCHLINT_CHANGED_ONLY" = true ] && [[ $GITHUB_EVENT_NAME == pull_request* ]]; then
    base=$(base_commit) || fail "the commit that the pull request is to be merged into is not there: give actions/checkout 'fetch-depth: 0'"
    changed=("--changed-since=$base")
fi

# Linted in one format; the second one comes from the cache.
lint() {
    "$bin/torchlint" check --output-format "$1" "${common[@]}" ${changed[@]+"${changed[@]}"} -- ${paths[@]+"${paths[@]}"}
}

status=0
errors=$RUNNER_TEMP/torchlint-errors
lint github 2>"$errors" || status=$?
cat "$errors" >&2
# What is wrong with an option or the configuration would otherwise be in the log only.
problem=$(grep '^torchlint: ' "$errors" | tail -n 1) || true
if [ "$status" -ge 2 ] && [ -n "$problem" ]; then annotate "${problem#torchlint: error: }"; fi
printf 'exit-status=%s\n' "$status" >>"$GITHUB_OUTPUT"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then lint markdown >>"$GITHUB_STEP_SUMMARY" 2>/dev/null || true; fi

# Code scanning compares whole sets of findings, so SARIF always has all of them.
if [ -n "$TORCHLINT_SARIF_FILE" ] && [ "$status" -lt 2 ]; then
    "$bin/torchlint" check "${common[@]}" --exit-zero --output-format sarif --output-file "$TORCHLINT_SARIF_FILE" -- ${paths[@]+"${paths[@]}"}
fi
exit "$status"
