#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page of reports (web/), by npm: tools/web.sh build [OUT] | unit | browser [OUT [TILESCOPE]]
# Exit status 77, with the reason, where something that this needs is not there; ctest counts that as skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../web"

least_node=18
chromium=${TILESCOPE_CHROMIUM:-/usr/bin/chromium}
out=${2:-../build/web}

absent() {
  echo "skipped: $*" >&2
  exit 77
}

need_node() {
  command -v node >/dev/null || absent "Node.js is not installed (apt-get install nodejs npm)"
  command -v npm >/dev/null || absent "npm is not installed (apt-get install npm)"
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  ((major >= least_node)) || absent "Node.js $major is older than $least_node"
}

# What package-lock.json pins, without scripts of packages. npm keeps a copy of the list that it installed.
install_packages() {
  [[ node_modules/.package-lock.json -nt package-lock.json ]] && return
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || absent "npm cannot install what web/package-lock.json lists"
  touch node_modules/.package-lock.json
}

need_packages() {
  [[ -d node_modules ]] || absent "the packages of web/ are not installed (./dev web)"
}

case ${1:-} in
  build)
    need_node
    install_packages
    TILESCOPE_WEB_OUT=$(realpath -m "$out") npm run --silent build
    ;;
  unit)
    need_node
    need_packages
    npm run --silent lint
    npm run --silent unit
    ;;
  browser)
    need_node
    need_packages
    [[ -x $chromium ]] || absent "$chromium is not there (apt-get install chromium)"
    [[ -f $out/report.html ]] || absent "the page is not built (./dev web)"
    TILESCOPE_WEB_TEMPLATE=$(realpath "$out")/report.html TILESCOPE_CHROMIUM=$chromium TILESCOPE_BINARY=${3:-} \
      npm run --silent browser
    ;;
  *)
    sed -n '2,3s/^# //p' "../tools/web.sh" >&2
    exit 2
    ;;
esac
