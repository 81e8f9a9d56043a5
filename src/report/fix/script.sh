# Without --yes it prints every command and runs none. With --yes it runs them in this order,
# asks nothing, and stops at the first that fails or that prints something else than expected.
# Names and values are of the audit: nothing here was run by gpucost.
# Texts are shown as they are, and not every script needs every function.
# shellcheck disable=SC2016,SC2329
set -euo pipefail
export AWS_PAGER=''

is_run=
may_erase=
may_interrupt=
for option in "$@"; do
    case "$is_run:$option" in
        :--yes) is_run=1 ;;
        1:--erase-instance-stores) may_erase=1 ;;
        1:--interrupt-work) may_interrupt=1 ;;
        *)
            echo "usage: ${0##*/} [--yes [--interrupt-work] [--erase-instance-stores]]" >&2
            exit 2
            ;;
    esac
done

# Stops from a second on: what was idle or oversized in the audit may not be so any more.
valid_until() {
    if [ -n "$is_run" ] && [ "$(date +%s)" -ge "$1" ]; then
        echo 'error: the audit of this script is too old: run it again, and print a new one' >&2
        exit 1
    fi
}

title() { printf '\n## %s\n' "$1"; }

note() { printf '# %s\n' "$1"; }

# Prints a command as it is typed. In this locale, nothing of it drives a terminal.
show() {
    local LC_ALL=C
    printf '%q' "$1"
    shift
    printf ' %q' "$@"
    printf '\n'
}

# Runs a command, which asks nothing.
run() {
    show "$@"
    if [ -n "$is_run" ]; then "$@" </dev/null; fi
}

# Ends the script because of what a command printed.
refuse() {
    local LC_ALL=C
    printf 'error: %s: %q\n' "$1" "$2" >&2
    exit 1
}

# Stops before anything is erased, unless it may be.
erases() {
    note 'goes on with --erase-instance-stores only'
    if [ -n "$is_run" ] && [ -z "$may_erase" ]; then
        echo 'error: pass --erase-instance-stores once nothing on them is needed' >&2
        exit 1
    fi
}

# Stops before work is interrupted, unless it may be.
interrupts() {
    note 'goes on with --interrupt-work only'
    if [ -n "$is_run" ] && [ -z "$may_interrupt" ]; then
        echo 'error: pass --interrupt-work once all of this is checked' >&2
        exit 1
    fi
}

# Runs a command that reads, and stops unless it prints these words.
expect() {
    local expected=$1 found
    shift
    show "$@"
    note "must print: $expected"
    if [ -z "$is_run" ]; then return; fi
    found=$("$@" </dev/null)
    found=$(printf '%s' "$found" | tr -s '[:space:]' ' ')
    if [ "$found" != "$expected" ]; then refuse 'it printed' "$found"; fi
}

# Runs a command that prints one word, and keeps it in a variable.
keep() {
    local name=$1 found
    shift
    note "$name is what this prints:"
    show "$@"
    if [ -z "$is_run" ]; then
        printf -v "$name" '%s' "<$name>"
        return
    fi
    found=$("$@" </dev/null)
    case $found in
        '' | None | *[[:space:]]*) refuse 'it is not one word' "$found" ;;
    esac
    printf -v "$name" '%s' "$found"
}

ended() {
    if [ -z "$is_run" ]; then printf '\n# nothing was run: type --yes to run it\n'; fi
}
