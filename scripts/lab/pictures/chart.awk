# Turns the rows of figures.jq into gnuplot statements for chart.gp, in the folder $TO of the
# environment. Needs text.awk.

BEGIN {
	FS = "\t"
	prepare_text()
	texts_file = ENVIRON["TO"] "/texts.gp"
}

function put(statement) {
	print statement > texts_file
}

function counted(n, one, many) {
	return n " " (n == 1 ? one : many)
}

function listed(list, item) {
	return list (list == "" ? "" : ", ") item
}

# The first row tells what was the same for all patterns.
NR == 1 {
	if ($1 != "")
		about = listed(about, counted($1, "user", "users"))
	if ($2 > 1)
		about = listed(about, "on " $2 " machines")
	if ($3 != "")
		about = listed(about, counted($3, "loan", "loans") " each")
	if ($4 != "")
		about = listed(about, "a heavy query of " $4 " s")
	if ($5 > 0)
		about = listed(about, $5 " s between one and the next")
	if ($6 > 1)
		about = listed(about, $6 " rounds (queries and seconds: median; the rest: sum)")
	next
}

function seconds(ms) {
	if (ms < 100)
		return sprintf("%.3f", ms / 1000)
	return sprintf(ms < 10000 ? "%.2f" : ms < 1000000 ? "%.1f" : "%.0f", ms / 1000)
}

function served_text(first, last, never,    out) {
	out = "nobody"
	if (first != "-" && last != "-")
		out = seconds(first) " – " seconds(last)
	if (out != "nobody" && never > 0)
		out = out ", " never " never"
	return out
}

function trouble_text(errors, retries,    out) {
	if (errors > 0)
		out = counted(errors, "error", "errors")
	if (retries > 0)
		out = listed(out, counted(retries, "retry", "retries"))
	return out == "" ? "0" : out
}

# A heading stands in a row of its own.
{
	rows++
	heading[rows] = NF == 1
	name[rows] = cut($1, 28)
	names = larger(names, width(name[rows]))
	if (NF == 1)
		next
	ours[rows] = $1 ~ /^lockq(:|$)/
	queries[rows] = $2
	first[rows] = $3 == "-" || $4 == "-" ? 0 : $3 / 1000
	last[rows] = $3 == "-" || $4 == "-" ? 0 : $4 / 1000
	seconds_text[rows] = served_text($3, $4, $8)
	twice[rows] = $5
	errors[rows] = $6
	retries[rows] = $7
	troubles[rows] = trouble_text($6, $7)
}

# The width of the longest text beside a bar.
function longest(texts,    i, most) {
	for (i = 1; i <= rows; i++)
		most = larger(most, width(texts[i]))
	return most + 0
}

function put_numbers(array_name, values,    i) {
	put("array " array_name "[" rows "]")
	for (i = 1; i <= rows; i++)
		put(sprintf("%s[%d] = %.3f", array_name, i, values[i]))
}

function put_texts(array_name, values,    i) {
	put("array " array_name "[" rows "]")
	for (i = 1; i <= rows; i++)
		put(array_name "[" i "] = " quoted(values[i]))
}

END {
	title = cut(ENVIRON["TITLE"], 110)
	put("title = " quoted(title))
	put("title_width = " width(title))
	put("about = " quoted(about))
	put("rows = " rows)
	put("names_width = " names)
	put("seconds_width = " longest(seconds_text))
	put("trouble_width = " longest(troubles))
	put_texts("name", name)
	put_numbers("kind", heading)
	put_numbers("queries", queries)
	put_numbers("first", first)
	put_numbers("last", last)
	put_texts("seconds_text", seconds_text)
	put_numbers("twice", twice)
	put_numbers("errors", errors)
	put_numbers("retries", retries)
	put_numbers("ours", ours)
	put_texts("trouble_text", troubles)
}
