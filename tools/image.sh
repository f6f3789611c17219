#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A container image: a Debian 12 made by mmdebstrap with the packages of ./dev package, without a compiler. Takes
# mmdebstrap and root. CHECK is a shell script that runs in the root before it is packed; the image fails with it.
#
#   tools/image.sh build [CHECK]      leaves build/packages/tilescope-VERSION-image.tar; podman and docker load it
set -euo pipefail
build=$1 check=${2:-}

mapfile -t packages < <(find "$build/packages" -name '*.deb' ! -name '*-dev_*' | sort)
((${#packages[@]})) || { echo "no packages in $build/packages: ./dev package makes them" >&2; exit 1; }
version=$(dpkg-deb --field "${packages[0]}" Version)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/install.sh" <<'END'
set -eu
TIMEFORMAT='install %R s, of processors %U s'
time apt-get install -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 /tmp/packages/*.deb >/tmp/install.log || { cat /tmp/install.log; exit 1; }
END
cat >"$work/check.sh" <<<"${check:+$(cat "$check")}"
# Indexes of packages, which apt makes again when it is asked, are a third of the root.
cat >"$work/clean.sh" <<'END'
set -eu
apt-get clean
rm -rf /tmp/* /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/lib/dpkg/*-old /var/log/apt /var/log/dpkg.log
END
chmod 755 "$work"
chmod 644 "$work"/*.sh

# The hook makes /usr's folders, so that no usrmerge comes along, which takes 47 MB of perl.
# shellcheck disable=SC2016  # $1 is the hook's: the root
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1767225600} mmdebstrap --variant=apt --format=tar --quiet \
  --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook='mkdir -p "$1/tmp/packages" "$1/tmp/scripts"' \
  --customize-hook="copy-in ${packages[*]} /tmp/packages" \
  --customize-hook="copy-in $work/install.sh $work/check.sh $work/clean.sh /tmp/scripts" \
  --customize-hook='for s in install check clean; do chroot "$1" bash /tmp/scripts/$s.sh || exit 1; done' \
  bookworm "$work/root.tar" "${TILESCOPE_DEBIAN_MIRROR:-http://deb.debian.org/debian}"
python3 tools/oci_image.py "$work/root.tar" "$build/packages/tilescope-$version-image.tar" "tilescope:$version"
