# Markdown tables out of raw.csv: a table for each name, a line for each variant with the median of its runs and, where
# there are several, the least and the most. The headline also gets its ratio to the yardstick.

NR == 1 { next }
{
    key = $1 SUBSEP $2
    if (!(key in runs)) { order[++keys] = key; if (!($1 in seen)) { seen[$1] = 1; tables[++count] = $1 } }
    n = ++runs[key]
    rate[key, n] = $11; p50[key, n] = $12; p99[key, n] = $13; refused[key, n] = $8
    load[key, n] = $15; cpu[key, n] = $16; committed[key, n] = $19; peak[key, n] = $21; rows[key, n] = $17
    batch[key, n] = $22 > 0 ? $17 / $22 : 0
    # Figures that only some tables have.
    for (c = 23; c <= 26; c++) if ($c != "") { extra[c, key, n] = $c; has[$1, c] = 1 }
}

# Median of a column, with the range when there are several runs.
function middle(values, key, digits,    i, j, list, n, t, m, format) {
    n = runs[key]; format = "%." digits "f"
    for (i = 1; i <= n; i++) list[i] = values[key, i] + 0
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
    m = n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    median = m
    if (n == 1) return sprintf(format, m)
    return sprintf(format " (" format "–" format ")", m, list[1], list[n])
}

END {
    titles[23] = "refused p50 ms"; titles[24] = "refused p99 ms"; titles[25] = "bytes an event"; titles[26] = "start s"
    for (t = 1; t <= count; t++) {
        name = tables[t]
        print "## " name "\n"
        printf "| variant | answered/s | committed/s | refused | p50 ms | p99 ms | peak MB | rows a batch | server CPU | load CPU |"
        for (c = 23; c <= 26; c++) if ((name, c) in has) printf " %s |", titles[c]
        printf "\n|---|---|---|---|---|---|---|---|---|---|"
        for (c = 23; c <= 26; c++) if ((name, c) in has) printf "---|"
        print ""
        for (k = 1; k <= keys; k++) {
            split(order[k], part, SUBSEP)
            if (part[1] != name) continue
            key = order[k]
            answered = middle(rate, key, 0)
            if (name == "headline" && part[2] == "bare") yardstick = median
            done = middle(committed, key, 0)
            if (name == "headline" && part[2] == "sumimi") ours = median
            printf "%s", "| " part[2] " | " answered " | " done " | " middle(refused, key, 0) " | " middle(p50, key, 2) " | " \
                middle(p99, key, 2) " | " middle(peak, key, 1) " | " middle(batch, key, 0) " | " middle(cpu, key, 2) " | " \
                middle(load, key, 2) " |"
            for (c = 23; c <= 26; c++) if ((name, c) in has) {
                for (n = 1; n <= runs[key]; n++) own[key, n] = extra[c, key, n]
                printf " %s |", middle(own, key, 2)
            }
            print ""
        }
        if (name == "headline" && yardstick > 0)
            printf "\nCommitted events as a share of what the bare handler answers: %.0f %%\n", 100 * ours / yardstick
        print ""
    }
}
