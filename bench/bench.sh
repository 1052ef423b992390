#!/usr/bin/env bash
# The one script behind every number about the write side. Builds what ships, runs each row on a fresh server with its
# own data, and leaves benchmarks/<date>-<machine>/ (README.md, raw.csv, result.json). Fails when an answered event was
# lost or doubled, or a peak is beyond the budget.
#
#   bench/bench.sh [--fast] [--quick] [--only headline,rate,connections,websites,durability] [--seconds N] [--runs N] [--out DIR]
#
# --fast links DuckDB's prebuilt library; --quick is for CI: two short tables. Server on CPU 0, load on CPU 1.
set -euo pipefail
cd "$(dirname "$0")/.."
command="bench/bench.sh $*"

fast=0 quick=0 seconds=10 runs=2 only= out=
while [ $# -gt 0 ]; do
    case "$1" in
        --fast) fast=1 ;;
        --quick) quick=1 seconds=3 runs=1 only="${only:-headline,rate}" ;;
        --only) only=$2 && shift ;;
        --seconds) seconds=$2 && shift ;;
        --runs) runs=$2 && shift ;;
        --out) out=$2 && shift ;;
        *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    esac
    shift
done
only="${only:-headline,rate,connections,websites,durability}"
wanted() { [[ ",$only," == *",$1,"* ]]; }

# --- what is measured -------------------------------------------------------------------------------------------------
tools="${BENCH_TARGET_DIR:-$HOME/.cache/sumimi-load-target}"
if [ "$fast" = 1 ]; then
    library=$(.ci/duckdb-library)
    target="${TARGET_DIR:-$HOME/.cache/sumimi-target}"
    DUCKDB_LIB_DIR=$library RUSTFLAGS="-Clink-arg=-Wl,-rpath,$library" CARGO_TARGET_DIR=$target \
        cargo build --release --no-default-features --bin sumimi
    server="$target/release/sumimi" kind="DuckDB's prebuilt library"
else
    make --no-print-directory release
    server="$PWD/dist/sumimi" kind="what ships (DuckDB compiled in, static)"
fi
for program in load bare; do
    (cd "bench/$program" && CARGO_TARGET_DIR="$tools" cargo build --release)
done

pin_server=(taskset -c 0) pin_load=(taskset -c 1)
if [ "$(nproc)" -lt 2 ] || ! taskset -c 1 true 2>/dev/null; then
    echo "bench: cannot pin to CPUs; server and load share them, figures are of little worth" >&2
    pin_server=() pin_load=()
fi

machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
out="${out:-benchmarks/$(date +%F)-$(echo "$machine" | tr -cs 'A-Za-z0-9\n' '-' | tr 'A-Z' 'a-z' | sed 's/-*$//')}"
mkdir -p "$out"
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; rm -rf "$work"' EXIT
load_before=$(cut -d' ' -f1-3 /proc/loadavg)
columns=table,variant,run,rate,connections,seconds,ok,refused,other,failed,ok_per_s,p50_ms,p99_ms,max_ms,load_cpu,server_cpu
columns+=,rows,drain_s,committed_per_s,peak_heartbeat_mb,peak_proc_mb,batches
echo "$columns" >"$out/raw.csv"
failures=0

# --- one row ----------------------------------------------------------------------------------------------------------
port=3917
base="http://127.0.0.1:$port"
# A number or text of a flat JSON text.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" | head -n 1; }
beat() { curl -s "$base/api/heartbeat"; }
server_seconds() { awk '{ print ($14 + $15) / 100 }' "/proc/$pid/stat"; }
now() { date +%s.%N; }

wait_until_it_answers() {
    for _ in $(seq 300); do
        ! curl -s -o "$work/answer" "$1" || return 0
        sleep 0.1
    done
    echo "bench: the server does not answer" >&2 && cat "$work/log" >&2 && exit 1
}

# result TABLE VARIANT RUN CONNECTIONS RATE: sends the load, leaves its figures in $load and the server's share in $cpu.
send_load() {
    local before after arguments=(--address "127.0.0.1:$port" --connections "$4" --seconds "$seconds" --websites "$work/ids")
    [ "$5" = 0 ] || arguments+=(--rate "$5")
    before=$(server_seconds)
    load=$("${pin_load[@]}" "$tools/release/load" "${arguments[@]}")
    after=$(server_seconds)
    figure() { echo "$load" | field "$1"; }
    cpu=$(awk -v a="$after" -v b="$before" -v s="$(figure seconds)" 'BEGIN { printf "%.2f", (a - b) / s }')
    line="$1,$2,$3,$5,$4,$(figure seconds),$(figure ok),$(figure refused),$(figure other),$(figure failed)"
    line+=",$(figure ok_per_s),$(figure p50_ms),$(figure p99_ms),$(figure max_ms),$(figure cpu),$cpu"
}

# bare RUN: the yardstick at 64 connections.
bare() {
    "${pin_server[@]}" "$tools/release/bare" "127.0.0.1:$port" &
    pid=$!
    wait_until_it_answers "$base/"
    echo 11111111-1111-4111-8111-111111111111 >"$work/ids"
    send_load headline bare "$1" 64 0
    echo "$line,,,,,," | tee -a "$out/raw.csv"
    kill "$pid" && wait "$pid" 2>/dev/null || true
    pid=
}

# row TABLE VARIANT RUN CONNECTIONS RATE WEBSITES [VARIABLE=VALUE…]: a fresh server, the load, what became of it.
row() {
    local table=$1 variant=$2 run=$3 connections=$4 rate=$5 count=$6 token committed waiting started drain peak proc rows
    shift 6
    rm -rf "$work/data"
    env SUMIMI_DATA_DIR="$work/data" SUMIMI_LISTEN="127.0.0.1:$port" SUMIMI_MEMORY=512MB SUMIMI_RATE=1000000 \
        SUMIMI_ADMIN_PASSWORD=bench-password "$@" "${pin_server[@]}" "$server" serve >"$work/log" 2>&1 &
    pid=$!
    wait_until_it_answers "$base/api/heartbeat"
    token=$(curl -s -H 'content-type: application/json' -d '{"username":"admin","password":"bench-password"}' \
        "$base/api/auth/login" | field token)
    for n in $(seq "$count"); do
        printf 'next\nurl="%s/api/websites"\nheader="authorization: Bearer %s"\nheader="content-type: application/json"\ndata="{\\"name\\":\\"bench %s\\",\\"domain\\":\\"example.com\\"}"\nsilent\n' "$base" "$token" "$n"
    done | sed 1d | curl -s -K - >"$work/websites"
    grep -o '"id":"[0-9a-f-]*"' "$work/websites" | cut -d'"' -f4 >"$work/ids"
    started=$(now)
    send_load "$table" "$variant" "$run" "$connections" "$rate"
    for _ in $(seq 1200); do
        waiting=$(beat | field events_waiting)
        [ "$waiting" != 0 ] || break
        sleep 0.05
    done
    drain=$(awk -v a="$started" -v b="$(now)" -v s="$(figure seconds)" 'BEGIN { printf "%.2f", b - a - s }')
    proc=$(awk '/VmHWM/ { printf "%.1f", $2 / 1024 }' "/proc/$pid/status")
    peak=$(beat | field vm_hwm_bytes | awk '{ printf "%.1f", $1 / 1048576 }')
    committed=$(beat | field committed)
    rows=0
    while read -r website; do
        n=$(curl -s -H "authorization: Bearer $token" \
            "$base/api/websites/$website/events?startAt=0&endAt=9999999999999&pageSize=1" | field count)
        rows=$((rows + ${n:-0}))
        # Asking 10,000 websites one by one takes longer than the row; there the writer's own count must do.
        [ "$count" -le 100 ] || { rows=$committed && break; }
    done <"$work/ids"
    line+=",$rows,$drain,$(awk -v r="$rows" -v d="$drain" -v s="$(figure seconds)" 'BEGIN { printf "%.0f", r / (s + d) }')"
    echo "$line,$peak,$proc,$(beat | field batches)" | tee -a "$out/raw.csv"
    local ok failed
    ok=$(figure ok) failed=$(figure failed)
    # A request whose answer did not arrive may or may not have been stored.
    if [ "$rows" -lt "$ok" ] || [ "$rows" -gt $((ok + failed)) ] || [ "$committed" != "$rows" ]; then
        echo "bench: $ok events were answered, $rows are stored, $committed were committed" >&2
        failures=$((failures + 1))
    fi
    if awk -v p="$proc" 'BEGIN { exit !(p > 256) }'; then
        echo "bench: the peak of $proc MB is beyond the budget of 256 MB" >&2
        failures=$((failures + 1))
    fi
    kill "$pid" && wait "$pid" || failures=$((failures + 1))
    pid=
}

# --- the tables -------------------------------------------------------------------------------------------------------
echo "$columns"
for run in $(seq "$runs"); do
    if wanted headline; then
        bare "$run"
        row headline sumimi "$run" 64 0 1
    fi
    if wanted rate; then
        rates="5000 10000 20000 40000"
        [ "$quick" = 0 ] || rates="5000 20000"
        for rate in $rates; do row rate "$rate/s" "$run" 64 "$rate" 1; done
        row rate saturation "$run" 256 0 1
    fi
    if wanted connections; then
        for connections in 1 8 64 256 1000; do row connections "$connections" "$run" "$connections" 0 1; done
    fi
    if wanted websites; then
        for count in 1 100 10000; do row websites "$count" "$run" 64 10000 "$count"; done
    fi
    if wanted durability; then
        row durability process "$run" 256 0 1 SUMIMI_DURABILITY=process
        row durability power "$run" 256 0 1 SUMIMI_DURABILITY=power
    fi
done

# --- what is left -----------------------------------------------------------------------------------------------------
awk -F, -f bench/tables.awk "$out/raw.csv" >"$work/tables"
{
    echo "# Measured on $(date +%F)"
    echo
    echo "- Command: \`${command% }\`"
    echo "- Commit: $(git rev-parse HEAD)$(git diff --quiet HEAD || echo ', with changes')"
    echo "- Program: $kind"
    echo "- Machine: $machine, $(nproc) CPUs, Linux $(uname -r); server pinned to CPU 0, load to CPU 1: ${pin_load[*]:-no}"
    echo "- Load average before: $load_before; after: $(cut -d' ' -f1-3 /proc/loadavg)"
    echo "- Lost, doubled, or beyond the budget: $failures"
    echo
    cat "$work/tables"
} >"$out/README.md"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) name[i] = $i; printf "["; next }
    { printf "%s\n{", (NR > 2 ? "," : "")
      for (i = 1; i <= NF; i++)
          printf "%s\"%s\":%s", (i > 1 ? "," : ""), name[i], (i > 2 ? ($i == "" ? "null" : $i + 0) : "\"" $i "\"")
      printf "}" } END { print "\n]" }' "$out/raw.csv" >"$out/result.json"
cat "$work/tables"
echo "bench: $out"
[ "$failures" = 0 ] || { echo "bench: $failures rows failed" >&2 && exit 1; }
