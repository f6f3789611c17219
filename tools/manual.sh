#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Man pages of the program and of each verb, by help2man, from what --help says.
#
#   tools/manual.sh build/tilescope build/man/man1
set -euo pipefail
program=$1 folder=$2
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1767225600} # the date of a page is no part of what it says

# page NAME [VERB]
page() {
  local about
  read -r about < <("$program" "${@:2}" --help)
  help2man --no-info --section 1 --name "$about" --version-string "$("$program" --version)" \
    "$program${2:+ $2}" | sed "s/^tilescope${2:+ $2} \\\\-/$1 \\\\-/" | gzip -9n >"$folder/$1.1.gz"
}

rm -rf "$folder"
mkdir -p "$folder"
page tilescope
verbs=$("$program" complete "")
for verb in $verbs; do [[ $verb == -* ]] || page "tilescope-$verb" "$verb"; done
