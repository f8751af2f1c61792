# Draws how long a request with a light query takes as the tables grow. curve: the table that
# figures/scale writes; picture: the file to draw.
set terminal svg size 720,420 font 'sans-serif,12' background '#ffffff'
set output picture
set logscale x
set logscale y
set xlabel 'number'
set ylabel 'one request, median, ms'
set key outside right top
set grid ytics lc rgb '#dddddd'
set style data linespoints
pick(name) = sprintf("< awk -F '\\t' '$1 == \"%s\" && $2 > 0 { print $2, $3 }' '%s'", name, curve)
plot pick('loans') title 'loans with their rows of work' lw 2 pt 7, \
     pick('tasks') title 'tasks' lw 2 pt 5, \
     pick('held') title 'loans held back' lw 2 pt 9, \
     pick('kept') title 'loans held back, list kept' lw 2 pt 13
