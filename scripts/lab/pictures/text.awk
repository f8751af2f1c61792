# Makes text of the database or of a program safe for a terminal or a picture. It escapes characters
# that steer a terminal, break a line or turn the direction of text, and bytes that are no UTF-8. It
# writes them as getwork does: \n, \x1b, \u202e. It must run in the C locale, where every awk sees
# bytes.

function prepare_text(    i, n, list) {
	for (i = 1; i < 256; i++)
		byte_value[sprintf("%c", i)] = i
	n = split("768-879 1155-1161 1425-1469 1611-1631 6832-6911 7616-7679 8203-8205 " \
	    "8400-8447 65024-65039 65056-65071 917760-917999", list, " ")
	narrow_ranges = ranges(list, n, narrow_first, narrow_last)
	n = split("4352-4447 11904-12350 12353-42191 44032-55203 63744-64255 65072-65135 " \
	    "65281-65376 65504-65510 127744-128591 128640-128767 129280-129535 " \
	    "131072-262141", list, " ")
	wide_ranges = ranges(list, n, wide_first, wide_last)
}

function ranges(list, n, first, last,    i, ends) {
	for (i = 1; i <= n; i++) {
		split(list[i], ends, "-")
		first[i] = ends[1] + 0
		last[i] = ends[2] + 0
	}
	return n
}

function within(code, n, first, last,    i) {
	for (i = 1; i <= n && code >= first[i]; i++)
		if (code <= last[i])
			return 1
	return 0
}

# Returns the length in bytes of the character at this place, or 0 where it is no UTF-8. The global
# variable code gets its number.
function decode(text, at,    first, bytes, i, next_byte) {
	code = first = byte_value[substr(text, at, 1)]
	if (first < 128)
		return 1
	if (first < 194 || first > 244)
		return 0
	bytes = first >= 240 ? 4 : first >= 224 ? 3 : 2
	code = first - (bytes == 4 ? 240 : bytes == 3 ? 224 : 192)
	for (i = 1; i < bytes; i++) {
		next_byte = byte_value[substr(text, at + i, 1)]
		if (next_byte < 128 || next_byte > 191)
			return 0
		code = code * 64 + next_byte - 128
	}
	if (bytes == 3 && code < 2048 || bytes == 4 && (code < 65536 || code > 1114111) ||
	    code >= 55296 && code <= 57343)
		return 0
	return bytes
}

# Control characters, those that turn the direction of text or break a line, and those that XML does
# not allow.
function unfit(code) {
	return code < 32 || code >= 127 && code < 160 || code == 1564 || code == 8206 ||
	    code == 8207 || code >= 8232 && code <= 8238 || code >= 8294 && code <= 8297 ||
	    code == 65279 || code == 65534 || code == 65535
}

# Takes the text apart: piece[i] is shown, and is columns[i] wide. Returns how many pieces there
# are.
function pieces(text, piece, columns,    at, n, bytes, character) {
	for (at = 1; at <= length(text); at += bytes) {
		bytes = decode(text, at)
		character = substr(text, at, bytes > 0 ? bytes : 1)
		n++
		if (bytes == 0) {
			bytes = 1
			piece[n] = sprintf("\\x%02x", byte_value[character])
		} else if (character == "\n")
			piece[n] = "\\n"
		else if (character == "\t")
			piece[n] = "\\t"
		else if (character == "\r")
			piece[n] = "\\r"
		else if (unfit(code))
			piece[n] = sprintf(code < 128 ? "\\x%02x" : "\\u%04x", code)
		else
			piece[n] = character
		if (piece[n] != character)
			columns[n] = length(piece[n])
		else if (code < 768)
			columns[n] = 1
		else if (within(code, narrow_ranges, narrow_first, narrow_last))
			columns[n] = 0
		else
			columns[n] = 1 + within(code, wide_ranges, wide_first, wide_last)
	}
	return n
}

function clean(text,    piece, columns, n, i, out) {
	n = pieces(text, piece, columns)
	for (i = 1; i <= n; i++)
		out = out piece[i]
	return out
}

function width(text,    piece, columns, n, i, sum) {
	n = pieces(text, piece, columns)
	for (i = 1; i <= n; i++)
		sum += columns[i]
	return sum + 0
}

# Cuts the text to at most so many columns, and ends it with "…" where it does not fit.
function cut(text, most,    piece, columns, n, i, sum, out) {
	if (width(text) <= most)
		return clean(text)
	n = pieces(text, piece, columns)
	for (i = 1; i <= n && sum + columns[i] < most; i++) {
		sum += columns[i]
		out = out piece[i]
	}
	sub(/ +$/, "", out)
	return out "…"
}

function blanks(n,    out) {
	while (n-- > 0)
		out = out " "
	return out
}

function larger(a, b) {
	return a + 0 > b + 0 ? a + 0 : b + 0
}

function smaller(a, b) {
	return a + 0 < b + 0 ? a + 0 : b + 0
}

# Between single quotes gnuplot treats only the single quote as special.
function quoted(text) {
	gsub(/'/, "''", text)
	return "'" text "'"
}
