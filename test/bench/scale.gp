# How one light getwork grows. curve, picture: the table of figures/scale and the file to draw.
set terminal svg size 720,420 font 'sans-serif,12' background '#ffffff'
set output picture
set logscale x
set logscale y
set xlabel 'so many'
set ylabel 'one getwork, median, ms'
set key outside right top
set grid ytics lc rgb '#dddddd'
set style data linespoints
pick(name) = sprintf("< awk -F '\\t' '$1 == \"%s\" && $2 > 0 { print $2, $3 }' '%s'", name, curve)
plot pick('loans') title 'loans, and work on them' lw 2 pt 7, \
     pick('tasks') title 'tasks' lw 2 pt 5, \
     pick('held') title 'held back in front' lw 2 pt 9, \
     pick('kept') title 'the same, list kept' lw 2 pt 13
