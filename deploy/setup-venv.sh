#!/bin/sh
# setup-venv.sh run: makes .venv and installs what a site needs to run.
# setup-venv.sh dev: the same, and the tools for tests, lint and benchmarks.
# Does nothing, quickly, when that has been done; an environment with the tools is good for running as well.
# A virtual environment that is broken, half made or copied from elsewhere is made again.
# PYTHON=/path/to/python chooses the interpreter (3.11 or newer).
set -eu

cd "$(dirname "$0")/.."
venv=.venv
wanted=${1:-dev}
run_files='requirements/base.txt requirements/scale.txt'
dev_files="$run_files requirements/telemetry.txt requirements/dev.txt"
case $wanted in
    run) files=$run_files ;;
    dev) files=$dev_files ;;
    *) printf 'setup: %s is neither run nor dev\n' "$wanted" >&2; exit 2 ;;
esac
stamp=$venv/.installed      # written last: where the venv was made, and the files that were installed
unfinished=$venv/.unfinished

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
has_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }
stamp_of() { pwd -P; cat "$@"; }
# The names of files have no spaces: they are split into words on purpose.
# shellcheck disable=SC2086
is_installed() { stamp_of $1 | cmp -s - "$stamp"; }
is_up_to_date() {
    [ -f "$stamp" ] && { is_installed "$files" || is_installed "$dev_files"; } && "$venv/bin/python" -c '' 2>/dev/null
}
is_sound() {
    [ ! -e "$unfinished" ] && is_new_enough "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1 &&
        { [ ! -f "$stamp" ] || [ "$(head -n 1 "$stamp")" = "$(pwd -P)" ]; }
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_new_enough "$PYTHON" || fail "PYTHON=$PYTHON is not Python 3.11 or newer. Name one that is, for example: make setup PYTHON=python3.11"
        printf '%s\n' "$PYTHON"
        return
    fi
    for candidate in python3.11 python3; do
        if is_new_enough "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
}

# Installs Debian packages if this machine lets us; otherwise returns 1 and changes nothing.
apt_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root='sudo -n'
    else
        return 1
    fi
    say "installing with apt-get: $*"
    # The package lists may be missing altogether on a fresh machine; an old list is still worth trying.
    $as_root apt-get update -q || say "apt-get update failed; trying with the package lists that are here"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

# Two runs of make in one checkout take turns; without flock (on other systems than Linux) they do not.
if command -v flock >/dev/null 2>&1; then
    exec 9<requirements/base.txt
    flock 9
fi

if is_up_to_date; then
    exit 0
fi

if ! is_sound; then
    python=$(find_python)
    if [ -z "$python" ]; then
        if command -v python3 >/dev/null 2>&1; then
            fail "python3 here is $(python3 --version 2>&1), and 3.11 or newer is needed. Install Python 3.11 with its venv module, then say: make setup PYTHON=python3.11"
        fi
        apt_install python3 python3-venv ||
            fail "there is no Python here. Install Python 3.11 or newer with its venv module (Debian, Ubuntu: apt-get install python3 python3-venv), then run this again."
        python=$(find_python)
        [ -n "$python" ] || fail "python3 is now $(python3 --version 2>&1), and 3.11 or newer is needed. Install Python 3.11, then say: make setup PYTHON=python3.11"
    fi
    if ! has_venv "$python"; then
        # Debian splits the venv module off. A python3.11 beside another python3 has a package of its own.
        package=python3-venv
        [ "$python" = python3 ] || package=$("$python" -c 'import sys; print(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv")')
        apt_install "$package" && has_venv "$python" ||
            fail "$python has no venv module, and it could not be installed from here. Install the package $package as root (apt-get install $package), then run this again."
    fi
    say "making $venv with $("$python" --version 2>&1)"
    rm -rf "$venv"
    mkdir "$venv"
    : >"$unfinished"
    "$python" -m venv "$venv"
fi

case $wanted in
    run) say "installing what the site runs on (half a minute or so, the first time)" ;;
    dev) say "installing what the site runs on, and the tools (a minute or so, the first time)" ;;
esac
rm -f "$stamp"
: >"$unfinished"
# Modules are compiled when they are first imported: most of those that are installed never are.
set -- $(printf -- '-r %s ' $files)
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes "$@"
# Python finds the packages of this checkout from every folder, as agents are written in other folders.
"$venv/bin/python" -c 'import pathlib, sysconfig
pathlib.Path(sysconfig.get_path("purelib"), "leaguesite.pth").write_text(f"{pathlib.Path.cwd()}\n", encoding="utf-8")'
# -P: Python does not import files of the current folder, such as a random.py, in place of its own modules.
printf '#!/bin/sh\nexec "$(dirname "$0")/python" -P -m league_sdk "$@"\n' >"$venv/bin/league"
chmod +x "$venv/bin/league"
stamp_of $files >"$stamp"
rm -f "$unfinished"
say "done"
