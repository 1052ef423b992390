# The same over a link that delays by 39 ms, made of a network namespace; only as root, with netem in the kernel.
link_down() { ip netns del sumimi-bench 2>/dev/null || true; }
link_up() {
    ip netns add sumimi-bench &&
        ip link add sumimi-bench0 type veth peer name sumimi-bench1 netns sumimi-bench &&
        ip address add 10.213.7.1/30 dev sumimi-bench0 && ip link set sumimi-bench0 up &&
        ip -n sumimi-bench address add 10.213.7.2/30 dev sumimi-bench1 && ip -n sumimi-bench link set sumimi-bench1 up &&
        ip netns exec sumimi-bench tc qdisc add dev sumimi-bench1 root netem delay 39ms limit 100000
}
clean_up=link_down
link_down
if link_up 2>"$work/link"; then
    for connections in 64 1000; do
        row link "loopback $connections" "$connections" 0 1
        sender=(ip netns exec sumimi-bench) target="10.213.7.1:$port"
        row link "39 ms $connections" "$connections" 0 1 "SUMIMI_LISTEN=0.0.0.0:$port" SUMIMI_TRUSTED_PROXIES=private
        sender=() target="127.0.0.1:$port"
    done
else
    echo "bench: link is left out: $(tail -n 1 "$work/link")" >&2
fi
link_down
clean_up=:
