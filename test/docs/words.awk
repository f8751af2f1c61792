# The words that a reader of an mdoc page is to see, one a line, as "LINE WORD". A word is made of
# letters, digits and underscores. What mdoc takes for a macro in the middle of a line is left out
# only where it is one of those that these pages call there; any other macro's name is a word, which
# must be seen: "So", "In" and "At" begin sentences, and mdoc does not print them unless they are
# quoted or begin with \&.

BEGIN {
	split("Ar Cm Dq Dv Ev Fa Fl Fn Nm Ns Oc Oo Op Pa Pq Ql Sx Sy Ta Va Vt Xr", names, " ")
	for (i in names)
		called[names[i]] = 1
	# "No" ends what these begin, and nothing else.
	split("Ar Cm Dv Ev Fl Fn Nm Pa Ql Va Vt Xr", names, " ")
	for (i in names)
		ends_by_no[names[i]] = 1
	# Their arguments are not printed.
	split("Bd Bl Dd Dt Os", names, " ")
	for (i in names)
		silent[names[i]] = 1
}

function show(text,    n, i, words) {
	gsub(/\\&/, "", text)
	gsub(/\\\([a-z][a-z]/, " ", text)
	gsub(/\\[-e]/, " ", text)
	n = split(text, words, /[^A-Za-z0-9_]+/)
	for (i = 1; i <= n; i++)
		if (words[i] != "")
			print NR, words[i]
}

# A macro's arguments, in args[]; quoted[] tells which of them mdoc does not look at.
function split_line(line,    n, end) {
	n = 0
	while (sub(/^[ \t]+/, "", line) || line != "") {
		if (line == "")
			break
		quoted[++n] = line ~ /^"/
		if (quoted[n])
			line = substr(line, 2)
		end = match(line, quoted[n] ? "\"" : "[ \t]")
		args[n] = end > 0 ? substr(line, 1, end - 1) : line
		line = end > 0 ? substr(line, end + 1) : ""
	}
	return n
}

function is_called(i) {
	return !quoted[i] && (args[i] in called || (args[i] == "No" && begun))
}

/^\.\\"/ { next }

/^\./ {
	n = split_line(substr($0, 2))
	if (args[1] in silent)
		next
	line = ""
	glued = 1
	opened = args[1] in ends_by_no
	begun = 0
	for (i = 2; i <= n; i++) {
		if (is_called(i)) {
			glued = glued || args[i] == "Ns"
			opened = args[i] in ends_by_no
			begun = 0
		} else {
			line = line (glued ? "" : " ") args[i]
			glued = 0
			begun = begun || opened
		}
	}
	show(line)
	next
}

{ show($0) }
