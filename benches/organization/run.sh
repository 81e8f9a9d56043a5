#!/usr/bin/env bash
# Audits a made-up organization on this host, and prints rows for docs/BENCHMARKS.md.
#
# Usage: benches/organization/run.sh [OPTIONS] GPUCOST [ARGUMENTS OF `gpucost audit`…]
#   -a N        accounts (40)             -d IDS     accounts that refuse the role
#   -i N        instances (10000)         -l MS      latency of each call (50)
#   -m MODES    runs, in this order (auto,full): `auto` and `full` are passed as
#               `--resolution`, `default` passes nothing
#   -p PYTHON   an interpreter with boto3: also runs sequential.py
#   -s N        instances that sequential.py reads metrics of (40)
#   -o FOLDER   where reports and counts are kept (a temporary folder)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
accounts=40 instances=10000 denied=000000000107,000000000133 latency=50
modes=auto,full python='' sample=40 out=''
while getopts a:i:d:l:m:p:s:o: flag; do
    case $flag in
    a) accounts=$OPTARG ;; i) instances=$OPTARG ;; d) denied=$OPTARG ;; l) latency=$OPTARG ;;
    m) modes=$OPTARG ;; p) python=$OPTARG ;; s) sample=$OPTARG ;; o) out=$OPTARG ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
gpucost=$(realpath "${1:?the program to measure}")
shift
out=${out:-$(mktemp -d)}
mkdir -p "$out/home"
regions=us-east-1,us-west-2,eu-central-1
export PYTHONDONTWRITEBYTECODE=1
# On the hour, so that both resolutions have the same window.
as_of=$(date -u +%Y-%m-%dT%H:00:00Z)
endpoint=''
trap '[ -z "$endpoint" ] || kill "$endpoint"' EXIT

# Starts an endpoint for each run, so that counts and token buckets begin anew.
start() {
    : >"$out/$1.endpoint"
    python3 "$here/endpoint.py" --accounts "$accounts" --instances "$instances" \
        --latency-ms "$latency" --throttle --deny "$denied" >"$out/$1.endpoint" &
    endpoint=$!
    until [ -s "$out/$1.endpoint" ]; do
        kill -0 "$endpoint"
        sleep 0.2
    done
    url=$(python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())["url"])' \
        <"$out/$1.endpoint")
}

stop() {
    kill "$endpoint"
    wait "$endpoint" || true
    endpoint=''
    sed -i 1d "$out/$1.endpoint" # The address; what remains are the counts.
}

# Runs a command with nothing of this user's settings, and notes seconds and peak memory.
measured() {
    local name=$1
    shift
    env -i PATH="$PATH" HOME="$out/home" AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=AKIAEXAMPLE \
        AWS_SECRET_ACCESS_KEY=made-up /usr/bin/time -f '%e %U %S %M' -o "$out/$name.time" \
        "$@" >"$out/$name.json" || {
        echo "$name: exit code $?" >&2
        exit 1
    }
}

for mode in ${modes//,/ }; do
    start "$mode"
    resolution=()
    [ "$mode" = default ] || resolution=(--resolution "$mode")
    measured "$mode" "$gpucost" audit --org --role GpucostReadOnly --region "$regions" \
        --endpoint-url "$url" --no-cache --as-of "$as_of" --format json \
        "${resolution[@]}" "$@"
    stop "$mode"
done
if [ -n "$python" ]; then
    start sequential
    measured sequential "$python" "$here/sequential.py" --endpoint-url "$url" \
        --region "$regions" --sample "$sample"
    stop sequential
fi
python3 "$here/rows.py" "$out" ${modes//,/ } ${python:+sequential}
echo "reports and counts: $out" >&2
