#!/usr/bin/env bash
# Writes a report as a comment of a pull request, or over the one that it wrote before.
#
#   GH_TOKEN=… comment.sh REPORT NUMBER [NAME]
#
# Comments are distinguished by NAME [default: gpucost], in an invisible first line. Only those of
# COMMENT_AUTHOR [default: github-actions[bot]] are written over: other people can write such a line.
# Lines that a comment has no room for are left out, and it says so.
# GITHUB_API_URL and GITHUB_REPOSITORY are those of GitHub Actions.
set -euo pipefail
# A list that cannot be read is not one without comments.
shopt -s inherit_errexit

report=$1
number=$2
name=${3:-gpucost}
author=${COMMENT_AUTHOR:-github-actions[bot]}
marker="<!-- comment of $name -->"
case $number$name in
*[!A-Za-z0-9._-]*)
    printf 'comment.sh: %s and %s must be a number and a word\n' "$number" "$name" >&2
    exit 2
    ;;
esac
: "${GH_TOKEN:?is not set}"
base=$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues

# The token is in a file and not on the command line, which other users can read.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(umask 077 && printf 'Authorization: Bearer %s\n' "$GH_TOKEN" >"$scratch/token")
call() {
    curl --fail --silent --show-error --retry 3 --max-time 60 --header "@$scratch/token" \
        --header 'Accept: application/vnd.github+json' --request "$@"
}

# The first of its comments, in pages of a hundred.
find_comment() {
    local page=1 found
    while :; do
        call GET "$base/$number/comments?per_page=100&page=$page" >"$scratch/page"
        found=$(jq --arg marker "$marker" --arg author "$author" \
            'first(.[] | select(.user.login == $author and (.body | startswith($marker))) | .id) // empty' \
            "$scratch/page")
        if [ -n "$found" ]; then
            printf '%s' "$found"
            return
        fi
        [ "$(jq length "$scratch/page")" -eq 100 ] || return 0
        page=$((page + 1))
    done
}

# A comment has at most 65,536 characters.
jq --null-input --arg marker "$marker" --rawfile report "$report" \
    'def fitting:
        if length <= 60000 then .
        else (.[:60000] | split("\n")[:-1] | join("\n"))
            + "\n\n… the rest does not fit in a comment: see the summary of the job\n"
        end;
    {body: ($marker + "\n" + ($report | fitting))}' >"$scratch/body"
id=$(find_comment)
if [ -n "$id" ]; then
    call PATCH "$base/comments/$id" --data-binary "@$scratch/body" >/dev/null
    printf 'updated comment %s\n' "$id"
else
    # Once: a comment that was written before an error would be there twice.
    call POST "$base/$number/comments" --retry 0 --data-binary "@$scratch/body" >/dev/null
    printf 'wrote a comment\n'
fi
