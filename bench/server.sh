# What the tables of bench.sh are made of: a server that is started, sent load, waited for, counted and stopped. Sourced
# by bench.sh; its variables are used. A table sets `options` (of the generator) and `within` (a control group).

port=3917
base="http://127.0.0.1:$port"
options=() within= target="127.0.0.1:$port" sender=()

# A number or text of a flat JSON text.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" | head -n 1; }
figure() { echo "$load" | field "$1"; }
beat() { curl -s "$base/api/heartbeat"; }
server_seconds() { awk '{ print ($14 + $15) / 100 }' "/proc/$pid/stat" 2>/dev/null || echo 0; }
now() { date +%s.%N; }
fail() { echo "bench: $*" >&2 && failures=$((failures + 1)); }

wait_until_it_answers() {
    for _ in $(seq 3000); do
        ! curl -s -o "$work/answer" "$1" || return 0
        sleep 0.01
    done
    echo "bench: the server does not answer" >&2 && cat "$work/log" >&2 && exit 1
}

# start_server [VARIABLE=VALUE…]: on the data there is; leaves the seconds to its first answer in $start_s.
start_server() {
    local since
    since=$(now)
    (
        [ -z "$within" ] || echo "$BASHPID" >"$within/cgroup.procs"
        exec env SUMIMI_DATA_DIR="$work/data" SUMIMI_LISTEN="127.0.0.1:$port" SUMIMI_MEMORY=512MB SUMIMI_RATE=1000000 \
            SUMIMI_ADMIN_PASSWORD=bench-password "$@" "${pin_server[@]}" "${program:-$server}" serve
    ) >"$work/log" 2>&1 &
    pid=$!
    wait_until_it_answers "$base/api/heartbeat"
    start_s=$(awk -v a="$since" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }')
    token=$(curl -s -H 'content-type: application/json' -d '{"username":"admin","password":"bench-password"}' \
        "$base/api/auth/login" | field token)
}

# fresh_server WEBSITES [VARIABLE=VALUE…]: without data but for so many websites.
fresh_server() {
    local count=$1
    shift
    rm -rf "$work/data"
    start_server "$@"
    start_s=
    for n in $(seq "$count"); do
        printf 'next\nurl="%s/api/websites"\nheader="authorization: Bearer %s"\nheader="content-type: application/json"\ndata="{\\"name\\":\\"bench %s\\",\\"domain\\":\\"example.com\\"}"\nsilent\n' "$base" "$token" "$n"
    done | sed 1d | curl -s -K - >"$work/websites"
    grep -o '"id":"[0-9a-f-]*"' "$work/websites" | cut -d'"' -f4 >"$work/ids"
}

# send_load TABLE VARIANT CONNECTIONS RATE: its figures are in $load then, the begin of a line of raw.csv in $line.
send_load() {
    local before after arguments=(--address "$target" --connections "$3" --seconds "$seconds" --websites "$work/ids")
    [ "$4" = 0 ] || arguments+=(--rate "$4")
    before=$(server_seconds)
    started=$(now)
    load=$("${sender[@]}" "${pin_load[@]}" "$tools/release/load" "${arguments[@]}" "${options[@]}")
    after=$(server_seconds)
    cpu=$(awk -v a="$after" -v b="$before" -v s="$(figure seconds)" 'BEGIN { printf "%.2f", (a - b) / s }')
    line="$1,$2,$run,$4,$3,$(figure seconds),$(figure ok),$(figure refused),$(figure other),$(figure failed)"
    line+=",$(figure ok_per_s),$(figure p50_ms),$(figure p99_ms),$(figure max_ms),$(figure cpu),$cpu"
}

# Waits until nothing waits in the journal.
drain() {
    for _ in $(seq 1200); do
        [ "$(beat | field events_waiting)" != 0 ] || return 0
        sleep 0.05
    done
    fail "events still wait in the journal"
}

# How many rows the store has, asked of every website; the writer's own count where there are too many to ask.
count_rows() {
    local n rows=0
    if [ "$(wc -l <"$work/ids")" -gt 100 ]; then
        beat | field committed
        return
    fi
    while read -r website; do
        n=$(curl -s -H "authorization: Bearer $token" \
            "$base/api/websites/$website/events?startAt=0&endAt=9999999999999&pageSize=1" | field count)
        rows=$((rows + ${n:-0}))
    done <"$work/ids"
    echo "$rows"
}

# settle [EARLIER]: waits for the journal and counts; rows must be those that were answered and EARLIER ones.
settle() {
    local earlier=${1:-0} answered failed
    drain
    drain_s=$(awk -v a="$started" -v b="$(now)" -v s="$(figure seconds)" 'BEGIN { printf "%.2f", b - a - s }')
    proc=$(awk '/VmHWM/ { printf "%.1f", $2 / 1024 }' "/proc/$pid/status")
    peak=$(beat | field vm_hwm_bytes | awk '{ printf "%.1f", $1 / 1048576 }')
    batches=$(beat | field batches)
    rows=$(count_rows)
    answered=$((earlier + $(figure events))) failed=$(($(figure failed) * ${batch:-1}))
    # A request whose answer did not arrive may or may not have been stored.
    if [ "$rows" -lt "$answered" ] || [ "$rows" -gt $((answered + failed)) ]; then
        fail "$answered events were answered, $failed may have been, $rows are stored"
    fi
    ! awk -v p="$proc" 'BEGIN { exit !(p > 256) }' || fail "the peak of $proc MB is beyond the budget of 256 MB"
}

# Writes the line of what has settled.
record() {
    line+=",$rows,$drain_s,"
    [ -z "$drain_s" ] || line+=$(awk -v r="$rows" -v d="$drain_s" -v s="$(figure seconds)" 'BEGIN { printf "%.0f", r / (s + d) }')
    line+=",$peak,$proc,$batches,"
    [ "$(figure refused)" = 0 ] || line+="$(figure refused_p50_ms),$(figure refused_p99_ms)"
    [ "$(figure refused)" != 0 ] || line+=","
    echo "$line,${bytes_per_event:-},${start_s:-}" | tee -a "$out/raw.csv"
}

stop_server() {
    kill "$pid" && wait "$pid" || fail "the server ended with an error"
    pid=
}

# row TABLE VARIANT CONNECTIONS RATE WEBSITES [VARIABLE=VALUE…]: a fresh server, the load, what became of it.
row() {
    local table=$1 variant=$2 connections=$3 rate=$4 count=$5
    shift 5
    fresh_server "$count" "$@"
    send_load "$table" "$variant" "$connections" "$rate"
    settle
    record
    stop_server
}

# fill TABLE VARIANT: puts $events events in the store, by batches, and waits for them.
fill() {
    local seconds=3600
    options=(--batch 100 --requests $((events / 100))) batch=100
    send_load "$1" "$2" 8 0
    settle
    options=() batch=
}
