# Draws one race, a lane for each user. timeline.awk wrote texts.gp, bars and marks. The colours are
# Okabe and Ito's, which colour-blind people can tell apart. Bars and marks differ in shape, too.

set encoding utf8
plain = 0x333333
bad = 0xD55E00
load 'texts.gp'

color(k) = k eq 'waited' ? 0x8CCBF0 : k eq 'query' ? 0xE69F00 : k eq 'paused' ? 0x999999 : \
	k eq 'retry' ? 0xCC79A7 : k eq 'served' ? 0x009E73 : k eq 'nothing' ? 0x000000 : \
	k eq 'error' ? 0xD55E00 : k eq 'killed' ? 0x000000 : 0xD55E00
label(k) = k eq 'waited' ? 'waited' : k eq 'query' ? 'ran the heavy query' : \
	k eq 'paused' ? 'stood still' : k eq 'retry' ? 'retry' : k eq 'served' ? 'served' : \
	k eq 'nothing' ? 'no work' : k eq 'error' ? 'error' : k eq 'killed' ? 'killed' : \
	'never served'
# Half of a bar's height. A lane is 1 high.
half(k) = k eq 'query' ? 0.36 : k eq 'waited' ? 0.14 : 0.22
shape(k) = k eq 'retry' ? 9 : k eq 'served' ? 7 : k eq 'nothing' ? 6 : k eq 'error' ? 13 : \
	k eq 'killed' ? 2 : 12
size(k) = k eq 'killed' || k eq 'late' ? 0.9 : 0.75

# In pixels; a character of text is about this wide.
letter = 7.4
lane = 24
left = 24 + letter * names_width
tooks = 14 + letter * tooks_width
right = tooks + 30 + letter * notes_width
across = 560
wide = left + across + right
wide = wide > 48 + 10 * title_width ? wide : 48 + 10 * title_width
swatch = 26
entry(k) = swatch + letter * strlen(label(k)) + 20

# This legend breaks into rows. gnuplot's own does not.
rows = 1
x = 24
do for [k in bars . ' ' . marks] {
	if (x > 24 && x + entry(k) > wide) {
		rows = rows + 1
		x = 24
	}
	x = x + entry(k)
}
legend = title eq '' ? 24 : 58
top = legend + 22 * rows
bottom = 58
high = top + lane * lanes + bottom

set terminal svg size wide,high noenhanced font 'sans-serif,13' background rgb 'white'
set lmargin at screen left / wide
set rmargin at screen (left + across) / wide
set tmargin at screen 1 - 1.0 * top / high
set bmargin at screen 1.0 * bottom / high

x = 24
y = legend
do for [k in bars . ' ' . marks] {
	if (x > 24 && x + entry(k) > wide) {
		x = 24
		y = y + 22
	}
	at = 1 - 1.0 * y / high
	if (strstrt(' ' . bars . ' ', ' ' . k . ' ')) {
		set object rectangle \
			from screen 1.0 * x / wide, at - half(k) * lane / high \
			to screen (x + swatch - 6.0) / wide, at + half(k) * lane / high \
			fillcolor rgb color(k) fillstyle solid noborder
	} else {
		set label '' at screen (x + 10.0) / wide, at point pointtype shape(k) \
			pointsize size(k) linewidth 2 linecolor rgb color(k)
	}
	set label label(k) at screen (x + swatch * 1.0) / wide, at textcolor rgb plain
	x = x + entry(k)
}

set xrange [0:end * 1.015]
set yrange [lanes + 0.5:0.5]
unset key
unset ytics
set border 1 linecolor rgb 0x999999
set xtics out nomirror scale 0.5 textcolor rgb plain offset 0,0.2
set xlabel unit eq 'ms' ? 'milliseconds since the start' : 'seconds since the start' \
	textcolor rgb plain offset 0,0.5
set grid xtics back linetype 1 linecolor rgb 0xE4E4E4

if (title ne '') {
	set label title at screen 24.0 / wide, 1 - 26.0 / high font 'sans-serif,17' \
		textcolor rgb 0x000000
}
beyond(pixels) = (left + across + pixels) / wide
height(i) = 1 - (top + lane * (i - 0.5)) / high
do for [i = 1:lanes] {
	set label name[i] at screen (left - 8.0) / wide, height(i) right textcolor rgb 0x000000
	set label took[i] at screen beyond(tooks), height(i) right textcolor rgb plain
	set label note[i] at screen beyond(tooks + 12), height(i) left textcolor rgb ink[i]
}

set style fill solid 1 noborder
plot for [k in bars] 'bars' \
		using (strcol(1) eq k ? $2 : NaN):4:2:3:($4 - half(k)):($4 + half(k)) \
		with boxxyerror linecolor rgb color(k), \
	for [k in marks] 'marks' using (strcol(1) eq k ? $2 : NaN):3 \
		with points pointtype shape(k) pointsize size(k) linewidth 2 linecolor rgb color(k)
