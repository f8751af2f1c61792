# Draws the patterns side by side, a row for each pattern and a panel for each question. chart.awk
# wrote texts.gp. The colours are Okabe and Ito's, which colour-blind people can tell apart.
# Everything is placed in pixels, from the upper left corner.

set encoding utf8
load 'texts.gp'

plain = 0x333333
faint = 0x8C8C8C
blue = 0x0072B2
sky = 0x8CCBF0
orange = 0xE69F00
# Only broken promises, and a race in which nobody was served, are red.
red = 0xD55E00
dark = 0x555555
purple = 0xCC79A7
grey = 0xE8E8E8
green = 0xDDF3E4

# A character of text is about this wide.
letter = 7.2
row = 26
edge = 24
panels = 4
array heading[panels] = ['Heavy queries run', 'Seconds until served', 'Promises broken', \
	'What users saw']
# The longest bar leaves room for the longest text beside it.
array room[panels] = [40, 12 + letter * seconds_width, 40, 12 + letter * trouble_width]
bar = 110
broad(p) = bar + room[p] > 150 ? bar + room[p] : 150
array begin[panels]
begin[1] = edge + 7.6 * names_width + 16
do for [p = 2:panels] {
	begin[p] = begin[p - 1] + broad(p - 1) + 24
}
wide = begin[panels] + broad(panels) + edge - 8
wide = wide > 48 + 10 * title_width ? wide : 48 + 10 * title_width
about_at = title eq '' ? 24 : 54
top = (about eq '' ? about_at - 24 : about_at) + 66
high = top + row * rows + 20
middle(i) = top + row * (i - 0.5)

set terminal svg size wide,high noenhanced font 'sans-serif,13' background rgb 'white'
set margins 0, 0, 0, 0
set xrange [0:wide]
set yrange [high:0]
unset key
unset tics
unset border

if (title ne '') {
	set label title at edge, 28 font 'sans-serif,17' textcolor rgb 0x000000
}
set label about at edge, about_at textcolor rgb plain
do for [i = 1:rows] {
	if (kind[i] > 0 || ours[i] > 0) {
		set object rectangle from edge - 10, middle(i) - row / 2 \
			to wide - edge + 10, middle(i) + row / 2 \
			behind fillcolor rgb (ours[i] > 0 ? green : grey) fillstyle solid noborder
	}
	if (kind[i] > 0) {
		set label name[i] at edge, middle(i) font 'sans-serif,14' textcolor rgb 0x000000
	} else {
		set label name[i] at begin[1] - 12, middle(i) right textcolor rgb 0x000000
	}
}

# Under a panel's heading stand its colours, with a word for each.
array color_of[6] = [orange, blue, sky, red, dark, purple]
array word_of[6] = ['in all', 'the first', 'the last', 'as users were told', 'errors', 'retries']
array panel_of[6] = [1, 2, 2, 3, 4, 4]
do for [p = 1:panels] {
	set label heading[p] at begin[p], top - 36 textcolor rgb 0x000000
	x = begin[p]
	do for [k = 1:6] {
		if (panel_of[k] == p) {
			set object rectangle from x, top - 21 to x + 10, top - 11 \
				fillcolor rgb color_of[k] fillstyle solid noborder
			set label word_of[k] at x + 15, top - 16 font 'sans-serif,12' \
				textcolor rgb plain
			x = x + 28 + 6.6 * strlen(word_of[k])
		}
	}
	set arrow from begin[p], top to begin[p], top + row * rows nohead linecolor rgb faint
}

# The longest bar of each panel, or 0.
array most[panels] = [0, 0, 0, 0]
do for [i = 1:rows] {
	most[1] = queries[i] > most[1] ? queries[i] : most[1]
	most[2] = last[i] > most[2] ? last[i] : most[2]
	most[3] = twice[i] > most[3] ? twice[i] : most[3]
	most[4] = errors[i] + retries[i] > most[4] ? errors[i] + retries[i] : most[4]
}
place(p, n) = begin[p] + (most[p] > 0 ? 1.0 * n / most[p] : 0) * (broad(p) - room[p])

# Each bar begins and ends here. The second part of a bar begins where the first one ends.
do for [i = 1:rows] {
	array from[6] = [0, 0, first[i], 0, 0, errors[i]]
	array to[6] = [queries[i], first[i], last[i], twice[i], errors[i], errors[i] + retries[i]]
	do for [k = 1:6] {
		if (to[k] > from[k]) {
			set object rectangle from place(panel_of[k], from[k]), middle(i) - 8 \
				to place(panel_of[k], to[k]), middle(i) + 8 \
				fillcolor rgb color_of[k] fillstyle solid noborder
		}
	}
	if (kind[i] > 0) {
		continue
	}
	set label sprintf('%.6g', queries[i]) at place(1, queries[i]) + 6, middle(i) \
		textcolor rgb plain
	set label seconds_text[i] at place(2, last[i]) + 6, middle(i) \
		textcolor rgb (last[i] > 0 ? plain : red)
	set label sprintf('%.6g', twice[i]) at place(3, twice[i]) + 6, middle(i) \
		font (twice[i] > 0 ? 'sans-serif,16' : 'sans-serif,13') \
		textcolor rgb (twice[i] > 0 ? red : faint)
	set label trouble_text[i] at place(4, errors[i] + retries[i]) + 6, middle(i) \
		textcolor rgb (errors[i] + retries[i] > 0 ? plain : faint)
}

plot NaN
