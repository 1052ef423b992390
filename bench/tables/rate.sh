# Offered rates, open loop, and what it can at most.
rates="5000 10000 20000 40000"
[ "$quick" = 0 ] || rates="5000 20000"
for rate in $rates; do row rate "$rate/s" 64 "$rate" 1; done
row rate saturation 256 0 1
