# Five minutes in a control group of 512 MB without swap, at three times the rate that follows from it, with somebody who
# looks at a dashboard every second: nothing is killed, nothing lost. Only as root; version 1 or 2 of control groups.
group_down() {
    [ -z "$within" ] || rmdir "$within" 2>/dev/null || true
    within=
}
group_up() {
    if [ -d /sys/fs/cgroup/memory ]; then
        within=/sys/fs/cgroup/memory/sumimi-bench
        mkdir -p "$within" && echo 512M >"$within/memory.limit_in_bytes" || return 1
        # Present only where swap is counted.
        [ ! -e "$within/memory.memsw.limit_in_bytes" ] || echo 512M >"$within/memory.memsw.limit_in_bytes"
    else
        echo +memory >/sys/fs/cgroup/cgroup.subtree_control && within=/sys/fs/cgroup/sumimi-bench &&
            mkdir -p "$within" && echo 512M >"$within/memory.max" || return 1
        [ ! -e "$within/memory.swap.max" ] || echo 0 >"$within/memory.swap.max"
    fi
}
kills() { { cat "$within/memory.oom_control" "$within/memory.events" 2>/dev/null || true; } | awk '$1 == "oom_kill" { print $2 }'; }

# Asks until the file is gone, once a second; writes a line with the status of every answer.
look_at_dashboard() {
    local website day query
    website=$(head -n 1 "$work/ids")
    while [ -e "$work/looking" ]; do
        day=$(date +%s)
        query="startAt=$(((day - 86400) * 1000))&endAt=$((day * 1000))&unit=hour&timezone=UTC"
        for question in "stats?$query" "pageviews?$query" "metrics?type=path&$query" "metrics?type=browser&$query" "active?"; do
            curl -s -o "$work/dashboard" -w '%{http_code}\n' -H "authorization: Bearer $token" \
                "$base/api/websites/$website/$question" >>"$work/looked" || true
        done
        sleep 1
    done
}

clean_up=group_down
if group_up 2>"$work/group"; then
    # The limit is found by the server itself.
    fresh_server 1 SUMIMI_MEMORY= SUMIMI_RATE=
    rate=$(($(beat | field rate) * 3))
    : >"$work/looked" >"$work/looking"
    look_at_dashboard &
    looker=$!
    seconds=${seconds_asked:-300}
    send_load cgroup "512 MB" 256 "$rate"
    seconds="${seconds_asked:-10}"
    rm "$work/looking"
    wait "$looker"
    settle
    killed=$(kills)
    seen=$(grep -c '^200$' "$work/looked" || true) asked=$(wc -l <"$work/looked")
    line="${line/,512 MB,/,512 MB: ${killed:-no count of} kills; $seen of $asked questions answered,}"
    record
    [ "$killed" = 0 ] || fail "the control group killed ${killed:-an unknown number of} processes"
    stop_server
else
    echo "bench: cgroup is left out: $(tail -n 1 "$work/group")" >&2
fi
group_down
clean_up=:
