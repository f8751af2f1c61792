# Draws a race in characters, from what segments.awk wrote, as wide as $WIDTH of the environment.
# Needs text.awk.

BEGIN {
	FS = "\t"
	prepare_text()
	screen = ENVIRON["WIDTH"]
	# A later layer hides an earlier one. Only ends come after the query, and they stand behind
	# it, so a query is never hidden.
	layers = split("waited paused retry query served nothing error killed late", layer, " ")
	sign["waited"] = "."; sign["query"] = "="; sign["paused"] = "z"; sign["retry"] = "r"
	sign["served"] = "*"; sign["nothing"] = "o"; sign["error"] = "!"
	sign["killed"] = "X"; sign["late"] = "?"
	signs = split("waited query paused retry served nothing error killed late", legend, " ")
	meaning["waited"] = "waited"; meaning["query"] = "ran the heavy query"
	meaning["paused"] = "stood still"; meaning["retry"] = "retry"
	meaning["served"] = "served"; meaning["nothing"] = "no work"
	meaning["error"] = "error"; meaning["killed"] = "killed"
	meaning["late"] = "never served"
}

$1 == "race" { end = $2 + 0; unit = $3; per = $4 + 0 }
$1 == "lane" {
	lanes++
	name[lanes] = $3
	took[lanes] = $6
	note[lanes] = $7
	names = larger(names, width($3))
	tooks = larger(tooks, length($6))
	notes = larger(notes, width($7))
}
$1 == "segment" { add($5, $2, $3, $4) }
$1 == "mark" { add($4, $2, $3, $3) }

function add(kind, number, from, to) {
	count[kind]++
	in_lane[kind, count[kind]] = number
	starts[kind, count[kind]] = from
	stops[kind, count[kind]] = to
}

# A lane has so many cells, and one more for the mark at its end.
function measure(    room) {
	names = smaller(names, larger(8, int(screen / 5)))
	room = screen - 2 - names - 1 - 1 - tooks - 2
	notes = smaller(notes, larger(7, int(room * 0.4)))
	cells = room - notes - 1
}

function cell(ms) {
	return smaller(int(ms * cells / end), cells - 1)
}

function is_end(kind) {
	return kind != "waited" && kind != "paused" && kind != "query" && kind != "retry"
}

function paint(kind, i,    number, from, to, c) {
	number = in_lane[kind, i]
	from = cell(starts[kind, i])
	to = kind == "retry" ? from : larger(from, int(stops[kind, i] * cells / end) - 1)
	# The end stands behind the rest, even where all of that took less than a cell.
	if (is_end(kind))
		from = to = larger(int(stops[kind, i] * cells / end), reach[number])
	for (c = from; c <= to; c++)
		grid[number, c] = kind
	reach[number] = larger(reach[number], to + 1)
}

function lane_text(number,    c, kind, out) {
	for (c = 0; c <= cells; c++) {
		kind = grid[number, c]
		out = out (kind == "" ? " " : sign[kind])
		appears[kind] = 1
	}
	return out
}

# The step is 1, 2 or 5 times a power of ten, with room for its label.
function tick_step(    step, rough) {
	rough = end / per * 8 / cells
	for (step = 0.000001; step * 10 <= rough; )
		step *= 10
	return step * (rough <= step ? 1 : rough <= 2 * step ? 2 : rough <= 5 * step ? 5 : 10)
}

function print_axis(    step, i, at, text, labels, rule) {
	step = larger(tick_step(), per == 1 ? 1 : 0)
	for (i = 0; i * step * per <= end; i++) {
		at = int(i * step * per * cells / end)
		text = sprintf("%.6g %s", i * step, unit)
		rule = rule (i == 0 ? "" : dashes(at - length(rule))) "|"
		if (at + length(text) <= cells + 1 && (i == 0 || at > length(labels)))
			labels = labels blanks(at - length(labels)) text
	}
	print "  " blanks(names) " " labels
	print "  " blanks(names) " " rule dashes(cells - length(rule))
}

function dashes(n,    out) {
	out = blanks(n)
	gsub(/ /, "-", out)
	return out
}

function print_lane(number,    shown) {
	shown = cut(name[number], names)
	print "  " shown blanks(names - width(shown)) " " lane_text(number) " " \
	    blanks(tooks - length(took[number])) took[number] "  " cut(note[number], notes)
}

function print_legend(    i, kind, text, line) {
	for (i = 1; i <= signs; i++) {
		kind = legend[i]
		if (!(kind in appears))
			continue
		text = sign[kind]
		if (kind == "waited" || kind == "query" || kind == "paused")
			text = text text text text
		text = text " " meaning[kind]
		if (line != "" && length(line) + 3 + length(text) > screen) {
			print line
			line = ""
		}
		line = line (line == "" ? "  " : "   ") text
	}
	print line
}

END {
	measure()
	for (i = 1; i <= layers; i++)
		for (k = 1; k <= count[layer[i]]; k++)
			paint(layer[i], k)
	print_axis()
	for (i = 1; i <= lanes; i++)
		print_lane(i)
	print_legend()
}
