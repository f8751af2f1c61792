# Turns the events of a race into the parts of its picture, for lanes.awk and timeline.awk. Needs
# text.awk. It reads lines sorted by MS, with tabs between, and with their numbers in the file:
#
#   LINE  MS  USER  EVENT  DETAIL
#
# It writes these lines, with tabs between and with texts that are safe to show:
#
#   race     END  UNIT  PER        the last moment; "s" or "ms", and that unit in ms
#   lane     N  NAME  ASKED  END  TOOK  NOTE  TONE
#                                  TOOK: from asked to its end; NOTE: the outcome; TONE: "bad" for
#                                  a bad outcome, else "plain"
#   segment  N  FROM  TO  KIND     waited, query or paused
#   mark     N  AT  KIND           retry, or the end: served, nothing, error, killed, late
#
# All times are milliseconds since the gate opened. Lanes are numbered in the order of asking.

BEGIN {
	FS = OFS = "\t"
	prepare_text()
	words("asked waits leads queried retry served nothing error killed paused resumed late" \
	    " done ended", known)
	words("served nothing error killed late done", final)
	said["nothing"] = "no work"
	said["error"] = "error"
	said["killed"] = "killed"
	said["late"] = "never served"
	said["done"] = "in the background"
	said["open"] = "no answer"
}

function words(text, set,    list, n) {
	for (n = split(text, list, " "); n > 0; n--)
		set[list[n]] = 1
}

function fault(text) {
	print "line " $1 ": " text > "/dev/stderr"
	faulty = 1
	exit 2
}

NF == 2 && $2 == "" { next }
NF < 4 { fault("an event is MS, USER, EVENT and DETAIL with tabs between") }
$2 !~ /^-?[0-9]+$/ || length($2) > 12 { fault("'" cut($2, 20) "' is no number of milliseconds") }
$4 == "judged" || $4 == "isolation" || $4 == "notes" || $4 == "sees" { next }
!($4 in known) { fault("'" cut($4, 20) "' is no event") }

{
	n++
	# By the clock an event may lie just before the opening of the gate.
	at[n] = larger($2, 0)
	who[n] = $3
	event[n] = $4
	detail[n] = $5
	for (i = 6; i <= NF; i++)
		detail[n] = detail[n] "\t" $i
	if ($4 == "asked")
		asks[$3] = 1
	if ($4 in final)
		answered[$3] = 1
}

function begin(user, now) {
	lane[user] = ++lanes
	name[lanes] = user
	asked[user] = since[user] = now
	state[user] = "waited"
}

# Ends the user's present segment. A query is shown however short it was.
function turn(user, now,    kind) {
	kind = still[user] ? "paused" : state[user]
	if (now > since[user] || kind == "query")
		body[++bodies] = "segment" OFS lane[user] OFS since[user] OFS now OFS kind
	since[user] = now
}

function mark(user, now, kind) {
	body[++bodies] = "mark" OFS lane[user] OFS now OFS kind
}

function finish(user, now, kind, text) {
	turn(user, now)
	ended[user] = now
	outcome[user] = kind
	why[user] = text
	if (kind != "open" && kind != "done")
		mark(user, now, kind)
	if (kind == "served")
		hold(user, text)
}

# What is no loan, such as a row, can be given to several users.
function hold(user, text,    list, i) {
	got[user] = text
	if (text !~ /^[0-9 ]*$/)
		return
	loans[user] = split(text, list, " ")
	held[user] = text
	for (i = 1; i <= loans[user]; i++)
		if (!((user, list[i]) in has)) {
			has[user, list[i]] = 1
			holders[list[i]]++
		}
}

function given_twice(user,    list, seen, i, sum) {
	for (i = split(held[user], list, " "); i > 0; i--)
		if (holders[list[i]] > 1 && !(list[i] in seen)) {
			seen[list[i]] = 1
			sum++
		}
	return sum + 0
}

# A query that begins during a query is another one.
function change(user, now, to) {
	if (!still[user] && (to != state[user] || to == "query"))
		turn(user, now)
	state[user] = to
}

function happens(user, now, what, text) {
	if (what in final)
		finish(user, now, what, text)
	else if (what == "paused" || what == "resumed") {
		if (still[user] != (what == "paused"))
			turn(user, now)
		still[user] = what == "paused"
	} else if (what != "asked")
		change(user, now, what == "leads" ? "query" : "waited")
	if (what == "retry") {
		retries[user]++
		mark(user, now, "retry")
	}
}

# Handles one event. A user that was stopped before it asked stands still from the start. The end of
# a process counts only if the user got no answer, in whatever order the two events were written.
function take(user, now, what, text) {
	if (user in ended || what == "ended" && (user in answered || !(user in lane)))
		return
	if (what == "ended") {
		finish(user, now, "open", "")
		return
	}
	last = larger(last, now)
	if (!(user in lane)) {
		if (user in asks && what != "asked" && !(what in final)) {
			still[user] = what == "paused" || still[user] && what != "resumed"
			return
		}
		begin(user, now)
	}
	happens(user, now, what, text)
}

function counted(n, one, many) {
	return n " " (n == 1 ? one : many)
}

function note(user,    kind, text) {
	kind = outcome[user]
	text = "got " got[user]
	if (kind in said)
		text = said[kind]
	else if (user in loans)
		text = counted(loans[user], "loan", "loans")
	if (given_twice(user) > 0)
		text = text ", " given_twice(user) " given twice"
	if (retries[user] > 0)
		text = text ", " counted(retries[user], "retry", "retries")
	if ((kind == "error" || kind == "late") && why[user] != "")
		text = text ": " why[user]
	return cut(text, 120)
}

function tone(user) {
	if (outcome[user] == "served" && given_twice(user) == 0 ||
	    outcome[user] == "nothing" || outcome[user] == "done")
		return "plain"
	return "bad"
}

function duration(ms) {
	if (per == 1)
		return ms " ms"
	return sprintf(last < 10000 ? "%.2f s" : last < 1000000 ? "%.1f s" : "%.0f s", ms / 1000)
}

END {
	if (faulty)
		exit 2
	for (i = 1; i <= n; i++)
		take(who[i], at[i], event[i], detail[i])
	for (i = 1; i <= lanes; i++) {
		if (!(name[i] in ended))
			finish(name[i], last, "open", "")
		last = larger(last, ended[name[i]])
	}
	per = last < 1000 ? 1 : 1000
	if (lanes > 0)
		print "race", larger(last, 1), per == 1 ? "ms" : "s", per
	for (i = 1; i <= lanes; i++)
		print "lane", i, clean(name[i]), asked[name[i]], ended[name[i]],
		    duration(ended[name[i]] - asked[name[i]]), note(name[i]), tone(name[i])
	for (i = 1; i <= bodies; i++)
		print body[i]
}
