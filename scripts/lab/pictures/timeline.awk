# Turns what segments.awk wrote into data for timeline.gp, in the folder $TO of the environment:
# bars, marks, and all texts as gnuplot statements. Needs text.awk.

BEGIN {
	FS = "\t"
	OFS = " "
	prepare_text()
	bars_file = ENVIRON["TO"] "/bars"
	marks_file = ENVIRON["TO"] "/marks"
	texts_file = ENVIRON["TO"] "/texts.gp"
	printf "" > bars_file
	printf "" > marks_file
}

function put(statement) {
	print statement > texts_file
}

$1 == "race" {
	per = $4
	put(sprintf("end = %.3f", $2 / per))
	put("unit = " quoted($3))
}

$1 == "lane" {
	lanes++
	name[lanes] = cut($3, 24)
	took[lanes] = $6
	note[lanes] = cut($7, 44)
	tone[lanes] = $8
	names = larger(names, width(name[lanes]))
	tooks = larger(tooks, length($6))
	notes = larger(notes, width(note[lanes]))
}

$1 == "segment" {
	print $5, $3 / per, $4 / per, $2 > bars_file
	appears[$5] = 1
}

$1 == "mark" {
	print $4, $3 / per, $2 > marks_file
	appears[$4] = 1
}

# The kinds of a list that appear in this race, in the order of the list, for the legend.
function present(list,    kind, n, i, out) {
	n = split(list, kind, " ")
	for (i = 1; i <= n; i++)
		if (kind[i] in appears)
			out = out (out == "" ? "" : " ") kind[i]
	return quoted(out)
}

END {
	title = cut(ENVIRON["TITLE"], 110)
	put("title = " quoted(title))
	put("title_width = " width(title))
	put("bars = " present("waited query paused"))
	put("marks = " present("retry served nothing error killed late"))
	put("lanes = " lanes)
	put("names_width = " names)
	put("tooks_width = " tooks)
	put("notes_width = " notes)
	put("array name[" lanes "]")
	put("array took[" lanes "]")
	put("array note[" lanes "]")
	put("array ink[" lanes "]")
	for (i = 1; i <= lanes; i++) {
		put("name[" i "] = " quoted(name[i]))
		put("took[" i "] = " quoted(took[i]))
		put("note[" i "] = " quoted(note[i]))
		put("ink[" i "] = " (tone[i] == "bad" ? "bad" : "plain"))
	}
}
