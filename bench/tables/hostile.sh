# Those who mean no good, each beside ordinary load: the peak stays inside the budget, the others are served.
hostile() {
    options=("${@:4}")
    row hostile "$1" "$2" "$3" 1
    options=()
}
hostile "2000 idle connections" 32 2000 --idle 2000
hostile "1000 slow clients" 32 2000 --slow 1000
hostile "bodies of 1 MB" 32 0 --body-bytes 1048000
batch=1000
hostile "batches of 1000" 32 0 --batch 1000
batch=
# As many paths, agents and host names as events.
filling=$seconds
seconds=3600
hostile "$events distinct paths agents hosts" 64 0 --distinct --requests "$events"
seconds=$filling
