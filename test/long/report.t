#!/usr/bin/env bash
# What a browser without any network makes of the page of lockqstat --report: it asks for nothing,
# runs nothing, finds no fault, and everything fits, on a phone, a large screen and paper. And what
# promtool makes of the figures, of the rules in examples/, and of figures for which they fire.
#   LOCKQ_PICTURES=DIR  the pictures are kept there
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

scratch=$(mktemp -d)
bank=test_pictures
# shellcheck disable=SC2154 # status, out and err are set by run
cleanup() {
	"$top/scripts/sandbox" mysql --execute="DROP DATABASE IF EXISTS $bank"
	rm -rf "$scratch"
}
trap cleanup EXIT
run "$top/scripts/setup" pages
is "$status" 0 "a browser and promtool: $err"
browser=$(command -v chromium-headless-shell || command -v chromium)
PATH=$PATH:$top/build/promtool/usr/bin

# --- the page -------------------------------------------------------------------------------------

"$top/scripts/sandbox" database $bank >/dev/null 2>&1
ok $? 'a database'
"$top/scripts/sandbox" mysql "$bank" <"$top/test/long/day.sql"
ok $? 'with a day'
run lockqstat --database $bank --report "$scratch"
is "$status:$err" 0: 'a page'
page=$scratch/lockq.html
is "$(xmllint --noout "$page" 2>&1)" '' 'it is well formed'

# Where no new network can be had, the browser's own is not cut.
alone=(unshare --net --map-root-user)
"${alone[@]}" true 2>/dev/null || alone=()
pictures=${LOCKQ_PICTURES-$scratch/pictures}
mkdir -p "$pictures"
# looks WIDTH SCHEME: what browser.pl says is in $scratch/seen.
looks() {
	local name="$1 px, $2"
	run "${alone[@]}" perl "$top/test/support/browser.pl" "$browser" "$page" "$1" "$2" \
		"$pictures/$1-$2.png"
	is "$status:$err" 0: "a browser shows it: $name"
	printf '%s\n' "$out" >"$scratch/seen"
	is "$(jq -c '[.errors, .requests, .scripts]' <<<"$out")" '[[],[],0]' \
		"no error, nothing is asked for, nothing runs: $name"
	is "$(jq -c '[.overflow, .outside, .narrow]' "$scratch/seen")" '[0,[],[]]' \
		"everything fits: $name"
	is "$(jq '.small >= 9' <<<"$out")" true "and can be read: $name"
	is "$(jq '[.pictures[] | select(.width >= 250 and .height >= 20)] | length' <<<"$out")" \
		"$(grep -c '<svg role="img"' "$page")" "each picture has its size: $name"
	# One that shows a single colour has next to none.
	[ "$(stat -c %s "$pictures/$1-$2.png")" -gt 50000 ]
	ok $? "something is to be seen: $name"
}
for width in 360 768 961 1280; do
	looks $width light
done
light=$(jq -c '[.background, .ink]' "$scratch/seen")
looks 1280 dark
isnt=$(jq -c '[.background, .ink]' "$scratch/seen")
[ "$light" != "$isnt" ]
ok $? "the dark page has other colours: $isnt"
looks 700 print
is "$(jq -r .background "$scratch/seen")" 'rgb(255, 255, 255)' 'on paper the page is white'

# The browser notices what it must notice.
sed -e 's|</main>|<img src="other.png" /><div style="width: 2000px">wide</div></main>|' \
	"$page" >"$scratch/damaged.html"
run "${alone[@]}" perl "$top/test/support/browser.pl" "$browser" "$scratch/damaged.html" 360 light
is "$status:$(jq -c '[(.errors | length) > 0, .overflow > 0, (.outside | length) > 0]' <<<"$out")" \
	'0:[true,true,true]' 'a page that loads a picture and is too wide is noticed'

# --- figures and alerts ---------------------------------------------------------------------------

lockqstat --database $bank --metrics >"$scratch/lockq.prom"
run promtool check metrics <"$scratch/lockq.prom"
is "$status:$out$err" 0: 'promtool finds no fault in the figures'
cp "$top/examples/lockq-alerts.yml" "$top/test/long/alerts.yml" "$scratch"
run promtool check rules "$scratch/lockq-alerts.yml"
like "$status $out" '^0 .*' 'promtool reads the rules'
like "$out" "SUCCESS: $(grep -c 'alert:' "$scratch/lockq-alerts.yml") rules found" 'all of them'
fires() {
	(cd "$scratch" && promtool test rules alerts.yml) >"$scratch/said" 2>&1
}
fires
ok $? 'alerts fire when they must, and not before'
sed 's/^/#   /' "$scratch/said"
alerts=$(sed -n 's/.*alert: //p' "$top/examples/lockq-alerts.yml")
for alert in $alerts; do
	sed "/alert: $alert\$/,/labels:/s/\(expr: *\)[a-z].*/\1vector(0) > 1/" \
		"$top/examples/lockq-alerts.yml" | awk -v alert="$alert" '
		$0 ~ "alert: " alert "$" { inside = 1 }
		inside && /expr: >-/ { print "        expr: vector(0) > 1"; skip = 1; next }
		/^ *(for|labels):/ { skip = 0; inside = 0 }
		!skip' >"$scratch/lockq-alerts.yml"
	! fires
	ok $? "without $alert one is missed"
done
finish
