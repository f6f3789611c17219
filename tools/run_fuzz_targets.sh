#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target of a build folder for some seconds, as many at once as there are cores:
#   tools/run_fuzz_targets.sh BUILD SECONDS
# Seeds are the chips, suites, programs and kernels that stand in the tree, and the models of libonnx-testdata. A crash, hang or leak fails, with the path of the input that
# shows it again; what was found on the way stays in BUILD/fuzz/TARGET/corpus for the next run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The files a target starts from; unmatched patterns vanish by nullglob.
seeds_of() {
  shopt -s nullglob
  case $1 in
    fuzz_arch) printf '%s\n' arch/devices/*.yaml tests/error/*.yaml tests/error/*/*.yaml ;;
    fuzz_suite) printf '%s\n' expr/suites/*.yaml tests/error/suite/*.yaml ;;
    fuzz_onnx) printf '%s\n' "${TILESCOPE_ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}"/*/*/model.onnx ;;
    fuzz_kernel) printf '%s\n' examples/*.json tests/unit/lower/*.json ;;
    fuzz_program) printf '%s\n' tests/golden/*.json tests/golden/*/*.json tests/error/*.json* tests/error/*/*.json* ;;
  esac
  printf '%s\n' "tests/fuzz/seeds/$1"/*
}

# One file per seed; a seed file ending in .lines holds one seed per line, for texts as short as an expression.
plant_seeds() {
  local target=$1 folder=$2 file
  rm -rf "$folder"
  mkdir -p "$folder"
  while read -r file; do
    [[ -n $file ]] || continue
    if [[ $file == *.lines ]]; then
      split --lines=1 --suffix-length=4 "$file" "$folder/seed-${file//\//-}-"
    else
      cp "$file" "$folder/seed-${file//\//-}"
    fi
  done < <(seeds_of "$target")
}

run_target() {
  local binary=$1 seconds=$2 target home
  target=$(basename "$binary")
  home=$(dirname "$(dirname "$(dirname "$binary")")")/fuzz/$target
  mkdir -p "$home/found"
  plant_seeds "$target" "$home/seeds"
  mkdir -p "$home/corpus"
  local options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
    -artifact_prefix="$home/found/")
  [[ -f tests/fuzz/$target.dict ]] && options+=(-dict="tests/fuzz/$target.dict")
  # clang's runtime does not find its symbolizer by the versioned name that Debian gives it.
  export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-19
  if "$binary" "${options[@]}" "$home/corpus" "$home/seeds" >"$home/log" 2>&1; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$home/log") inputs, nothing found"
  else
    tail -n 60 "$home/log"
    echo "$target: FAILED; show it again with"
    echo "  $binary $(sed -n 's/.*Test unit written to //p' "$home/log" | tail -n 1)"
    return 1
  fi
}

if [[ ${1:-} == --target ]]; then
  run_target "$2" "$3"
  exit
fi

build=$1
seconds=$2
binaries=("$build"/tests/fuzz/fuzz_*[a-z])
[[ -x ${binaries[0]} ]] || { echo "no fuzz target stands in $build" >&2; exit 1; }
printf '%s\n' "${binaries[@]}" | xargs -P "$(nproc)" -I{} "$0" --target {} "$seconds"
