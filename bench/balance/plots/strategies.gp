# strategies.gp: bars for each strategy, with and without stealing. Wants `table`, `image`, `heading`.
set terminal pngcairo size 1100,420 font "DejaVu Sans,10"
set output image
set datafile separator "\t"
set multiplot layout 1,2 title heading font ",12"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 noborder
set boxwidth 0.9
set xtics rotate by 30 right nomirror scale 0
set ytics nomirror
set grid ytics lc rgb "#dddddd"
set border 3
set key above reverse Left
set yrange [0:*]
set offsets 0, 0, graph 0.18, 0
set bmargin 7
set rmargin 2
set lmargin 15
label(value) = sprintf("%.0f", value)

do for [panel = 0:1] {
  first = 2 + 2 * panel
  set ylabel (panel == 0 ? "p99 of the wait, ms" : "makespan of a burst, ms")
  set title (panel == 0 ? "tasks one by one" : "200 tasks at once")
  plot table using first:xtic(1) title "without stealing" lc rgb "#c0504d", \
       table using first + 1 title "with stealing" lc rgb "#4f81bd", \
       table using ($0 - 0.17):first:(label(column(first))) with labels notitle \
         offset 0, 0.5 font ",8", \
       table using ($0 + 0.17):first + 1:(label(column(first + 1))) with labels notitle \
         offset 0, 0.5 font ",8"
}
unset multiplot
