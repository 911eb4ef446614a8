#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs both commands of README.md on a bare machine: a Debian in a folder, made by debootstrap, with Python,
# g++ and make, and nothing else.
#
#   tools/bare.sh SUITE FOLDER [command]      as root; SUITE is one of Debian's, such as bookworm or sid
#   BARE_PYTHON=python3.15 tools/bare.sh ...  with this Python of the suite, and not its default one
#
# The command, instead of "make demo && make test", runs in the checkout there.  A FOLDER that an
# earlier run has left is used again; its checkout is renewed.  pip is configured there as it is here;
# BARE_PATHS names more files and folders of this machine that pip needs, such as a local index.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

suite=$1 root=$2 command=${3:-make demo && make test}
python=${BARE_PYTHON:-python3}
packages=("$python" "$python-venv" "$python-dev" g++ make)
((EUID == 0)) || { echo "$0: only root can change the root folder of a process" >&2; exit 1; }

if [[ ! -e $root/bare ]]; then
  command -v debootstrap > /dev/null || { echo "$0: install debootstrap" >&2; exit 1; }
  mkdir -p "$root" # debootstrap makes the last folder of a path alone
  debootstrap --variant=minbase "$suite" "$root"
  DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$root" \
    apt-get install -y -qq --no-install-recommends "${packages[@]}"
  touch "$root/bare"
fi
chroot "$root" "$python" --version
chroot "$root" g++ --version | head -1

# The files that git knows, as they are now; the environment and the build results stay.
mkdir -p "$root/checkout"
find "$root/checkout" -mindepth 1 -maxdepth 1 ! -name .venv ! -name build -exec rm -rf {} +
git ls-files -z | tar --create --null --files-from=- --ignore-failed-read 2> /dev/null |
  tar --extract --directory "$root/checkout"
cp /etc/resolv.conf "$root/etc/resolv.conf"

# Namespaces of its own: mounts and processes end with the command.
export root BARE_PATHS=${BARE_PATHS:-}
exec unshare --mount --pid --fork --kill-child bash -euc '
  trap "exit 1" INT TERM # the first process of a namespace ends by these only when it handles them
  mount --make-rprivate /
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount -t tmpfs tmpfs "$root/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
  for path in /etc/pip.conf "$HOME/.config/pip/pip.conf" "${PIP_CERT:-}" $BARE_PATHS; do
    [[ -e $path ]] || continue
    if [[ -d $path ]]; then mkdir -p "$root$path"; else
      mkdir -p "$root${path%/*}" && touch "$root$path"
    fi
    mount --bind "$path" "$root$path"
  done
  mapfile -t pip < <(env | grep "^PIP_")
  chroot "$root" env -i HOME="$HOME" PATH=/usr/sbin:/usr/bin:/sbin:/bin "${pip[@]}" \
    bash -c "cd /checkout && $1"
' bash "$command"
