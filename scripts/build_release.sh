#!/usr/bin/env bash
# Builds the distribution into a folder and checks it: build_release.sh FOLDER [TAG].
#
# Needs the packages build, twine and check-wheel-contents. The wheel is installed into an environment of its own and has
# to lint the example; with TAG, its version has to be that of the tag.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1 tag=${2:-}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python -m build --outdir "$folder" .
python -m twine check --strict "$folder"/*
check-wheel-contents --ignore W005 "$folder"/*.whl

python -m venv "$scratch/environment"
"$scratch/environment/bin/pip" install --quiet "$folder"/*.whl
version=$("$scratch/environment/bin/torchlint" --version)
echo "$version"
if [ -n "$tag" ] && [ "$version" != "torchlint ${tag#v}" ]; then
    echo "the tag is $tag, but the wheel is $version" >&2
    exit 1
fi
status=0
"$scratch/environment/bin/torchlint" --no-cache --output-format concise examples/ || status=$?
[ "$status" -eq 1 ] || { echo "expected findings in the example (status 1), got status $status" >&2; exit 1; }
