# scaling.gp: workers and arrivals over time, a panel for each policy. Wants `table` (a block for each
# policy), `image`, `heading`, `blocks`, `policies` (their names) and `task` (seconds). Both axes have the
# same height: as many workers are busy as the arrivals reach up to.
set terminal pngcairo size 1100,340 font "DejaVu Sans,10"
set output image
set datafile separator "\t"
set multiplot layout 1,blocks title heading font ",12"
stats table using 3 nooutput
most = STATS_max * 1.25
set yrange [0:most]
set y2range [0:most / task]
set xlabel "seconds"
set ylabel "workers"
set y2label "tasks per second"
set ytics nomirror
set y2tics
set grid ytics lc rgb "#dddddd"
set key top left reverse Left
do for [block = 0:blocks - 1] {
  set title word(policies, block + 1)
  plot table index block using 1:2 axes x1y2 with filledcurves y1=0 lc rgb "#c9d8ea" \
         title "arrivals", \
       table index block using 1:3 with steps lw 2 lc rgb "#c0504d" title "workers"
}
unset multiplot
