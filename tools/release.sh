#!/usr/bin/env bash
# Build the release twice, compare the bytes, check it, and try it in empty environments:
#   tools/release.sh [PYTHON...]      by default 3.11 3.12 3.13
# Each Python with the lowest dependencies that pyproject.toml names and with the newest ones, then
# each extra alone. Prints a table, leaves the files in dist/, and fails if a row does.
set -uo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pythons=("${@:-3.11 3.12 3.13}")
read -ra pythons <<<"${pythons[*]}"
failed=0
export SOURCE_DATE_EPOCH UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)

# Run a command with its output in a file, and print a row of the table.
row() {
  local what=$1 start=$SECONDS state=ok
  shift
  if ! "$@" >"$work/log" 2>&1; then state=FAILED failed=1 && tail -n 20 "$work/log" >&2; fi
  printf '| %-44s | %-6s | %4d s |\n' "$what" "$state" $((SECONDS - start))
}

# Build from what is committed, not from files that lie about.
build() {
  mkdir "$work/$1" && git archive HEAD | tar -x -C "$work/$1" &&
    "$work/tools/bin/python" -m build --outdir "$work/$1-dist" "$work/$1"
}

same_bytes() { diff -r "$work/one-dist" "$work/two-dist" && sha256sum "$work"/one-dist/*; }

contents() {
  local names
  names=$("$work/tools/bin/python" -m zipfile -l "$wheel") || return 1
  for needed in bayescal/py.typed bayescal/_models/laplace.py reuters_scores.npz licenses/LICENSE; do
    grep -q "$needed" <<<"$names" || { echo "the wheel lacks $needed" && return 1; }
  done
  ! grep -E "tests?/|studies/|notebooks/" <<<"$names"
}

# Make an environment named by its first argument, for a Python, and install the rest into it.
install() {
  local folder=$work/$1 python=$2
  shift 2
  uv venv -q --python "$python" "$folder" && VIRTUAL_ENV=$folder uv pip install -q "$@"
}

lowest() {
  install "$1" "$2" --resolution lowest-direct -r pyproject.toml --extra plots &&
    VIRTUAL_ENV=$work/$1 uv pip install -q --no-deps "$wheel"
}

# The first steps of README in an empty folder (the demo draws, with the extra "plots"); a further argument is a command before them.
try() (
  PATH=$work/$1/bin:$PATH
  mkdir "$work/$1/empty" && cd "$work/$1/empty" || exit 1
  "${@:2}" && bayescal examples files && bayescal fit files/scores.csv --out fitted &&
    bayescal report fitted --test files/held_out.csv && test -s report.html
)

# The interpreter of a version: on the path, or the newest that pyenv has.
interpreter() {
  "python$1" -c "" 2>/dev/null && command -v "python$1" && return
  ls -d "$HOME/.pyenv/versions/$1".*/bin/python 2>/dev/null | sort -V | tail -n 1
}

python3 -m venv "$work/tools" && "$work/tools/bin/pip" install -q build twine uv || exit 1
uv() { "$work/tools/bin/uv" "$@"; }

printf '| %-44s | %-6s | %6s |\n|%s|%s|%s|\n' check result time \
  "$(printf -- '-%.0s' {1..46})" "$(printf -- '-%.0s' {1..8})" "$(printf -- '-%.0s' {1..8})"
row "wheel and sdist are built" build one
row "a second build" build two
row "both have the same bytes" same_bytes
wheel=$(echo "$work"/one-dist/*.whl)
row "twine check" "$work/tools/bin/twine" check --strict "$work"/one-dist/*
row "the wheel holds the package and no tests" contents
for python in "${pythons[@]}"; do
  found=$(interpreter "$python")
  row "Python $python, newest: install" install "new-$python" "$found" "$wheel[plots]"
  row "Python $python, newest: demo, fit, report" try "new-$python" bayescal demo
  row "Python $python, lowest: install" lowest "low-$python" "$found"
  row "Python $python, lowest: demo, fit, report" try "low-$python" bayescal demo
  rm -rf "$work/new-$python" "$work/low-$python"
done
extras=$(python3 -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"])')
for extra in $extras; do
  row "extra $extra alone: install" install "$extra" "$found" "$wheel[$extra]"
  row "extra $extra alone: fit, report" try "$extra" true
  rm -rf "${work:?}/$extra"
done
mkdir -p dist && cp "$work"/one-dist/* dist/
exit $failed
