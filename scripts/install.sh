#!/bin/sh
# Installs a released gpucost for the user who runs it, without root.
#
#   sh install.sh [VERSION]
#
#   GPUCOST_RELEASES  URL below which releases are: URL/vVERSION/FILE. Known in the copy of this
#                     script that is part of a release.
#   GPUCOST_VERSION   the version, unless it is an argument; by default that of the release
#   GPUCOST_BIN       directory of the program [default: ~/.local/bin]
#   GPUCOST_TARGET    target, such as x86_64-unknown-linux-musl, where it is not found out
#
# The archive is unpacked only if its SHA-256 is the one in SHA256SUMS of the release. Who built it
# is verified with `gh attestation verify`.
set -eu

releases='@RELEASES@'
version='@VERSION@'

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}

# A value that a release fills in, empty in the repository.
filled() {
    case $1 in
    @*) ;;
    *) printf '%s' "$1" ;;
    esac
}

releases=${GPUCOST_RELEASES:-$(filled "$releases")}
version=${1:-${GPUCOST_VERSION:-$(filled "$version")}}
[ -n "$releases" ] || fail 'set GPUCOST_RELEASES to the URL of the releases'
[ -n "$version" ] || fail 'pass a version, such as 0.1.0'
version=${version#v}
case $version in
*[!0-9A-Za-z.+-]*) fail "$version is not a version" ;;
esac
case $releases in
https://* | file://*) ;;
*) fail 'GPUCOST_RELEASES must begin with https://' ;;
esac
folder=${GPUCOST_BIN:-$HOME/.local/bin}

# The target of this machine. With the GNU C library, the program can load the driver of GPUs.
target() {
    case $(uname -s) in
    Linux)
        libc=musl
        if getconf GNU_LIBC_VERSION >/dev/null 2>&1; then
            libc=gnu
        fi
        system=unknown-linux-$libc
        ;;
    Darwin) system=apple-darwin ;;
    *) fail 'there is a package for Linux and macOS; for Windows, use the ZIP archive' ;;
    esac
    case $(uname -m) in
    x86_64 | amd64) printf 'x86_64-%s' "$system" ;;
    aarch64 | arm64) printf 'aarch64-%s' "$system" ;;
    *) fail "releases have no package for $(uname -m): use cargo install" ;;
    esac
}
target=${GPUCOST_TARGET:-$(target)}

# Redirects of a code host lead to its storage, over TLS only. Other clients, such as wget, follow
# them to http:// too, where checksums are replaced with the archive.
command -v curl >/dev/null || fail 'curl is required'
fetch() {
    curl --proto '=https,file' --proto-redir '=https' --tlsv1.2 --fail --silent --show-error \
        --location --retry 3 --output "$2" "$1"
}

sha256() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1" | cut -d ' ' -f 1
    else
        shasum -a 256 "$1" | cut -d ' ' -f 1
    fi
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
name=gpucost-$version-$target
archive=$name.tar.gz
fetch "$releases/v$version/SHA256SUMS" "$scratch/SHA256SUMS" ||
    fail "$releases has no checksums of version $version"
expected=$(awk -v name="$archive" '$2 == name { print $1 }' "$scratch/SHA256SUMS")
[ -n "$expected" ] || fail "version $version has no package for $target"
fetch "$releases/v$version/$archive" "$scratch/$archive" || fail "$archive cannot be fetched"
found=$(sha256 "$scratch/$archive")
[ "$found" = "$expected" ] ||
    fail "the checksum of $archive is $found and not $expected: nothing was installed"

tar -xzf "$scratch/$archive" -C "$scratch"
mkdir -p "$folder"
# Beside its place first: a program that runs is replaced and not overwritten.
cp "$scratch/$name/gpucost" "$folder/.gpucost.$$"
chmod 755 "$folder/.gpucost.$$"
mv -f "$folder/.gpucost.$$" "$folder/gpucost"
printf 'installed %s in %s\n' "$("$folder/gpucost" --version)" "$folder"
case :$PATH: in
*:"$folder":*) ;;
*) printf 'add %s to PATH to call it by its name\n' "$folder" ;;
esac
