#!/usr/bin/env bash
# `make dist` and `make deb`: the tarball builds the packages, lintian finds no fault in them, and
# in a new Debian 12 that has nothing but them lockq works against a server outside: from an empty
# database to two people served by one query, and a C program that is compiled there. MariaDB's
# server is refused.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

[ "$(id -u)" -eq 0 ] || {
	echo '1..0 # SKIP debootstrap and chroot need root'
	exit 0
}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/packages.XXXXXX")
root=$scratch/root
export LOCKQ_SANDBOX_DIR=$scratch/box
# shellcheck disable=SC2154 # status, out and err are set by run
cleanup() {
	[ -z "${maria-}" ] || kill "$maria" 2>/dev/null
	"$top/scripts/sandbox" destroy >/dev/null 2>&1
	umount "$root/proc" 2>/dev/null
	rm -rf --one-file-system "$scratch"
}
trap cleanup EXIT

# must DESCRIPTION COMMAND…: the rest makes no sense if this fails.
must() {
	local description=$1
	shift
	run "$@"
	ok "$status" "$description"
	[ "$status" -eq 0 ] || {
		tail -n 20 <<<"$out$err" | sed 's/^/#   /' >&2
		finish
		exit 1
	}
}

# --- the packages, from a copy of the checkout ----------------------------------------------------

must 'what the packages need is installed' "$top/scripts/setup" packages
must 'a copy of the checkout' git clone -q "$top" "$scratch/copy"
must 'make deb: lintian finds no fault' make -C "$scratch/copy" deb
version=$(lockq_version)
debs=("$scratch/copy/build/deb"/*.deb)
names=$(for deb in "${debs[@]}"; do dpkg-deb --field "$deb" Package; done | grep -v dbgsym | sort |
	tr '\n' ' ')
is "$names" 'liblockq-dev liblockq0 lockq ' 'there are three packages'
is "$(for deb in "${debs[@]}"; do dpkg-deb --field "$deb" Version; done | sort -u)" "$version" \
	'their version is that of lockq.h'
sum=$(sha256sum <"$scratch/copy/build/dist/lockq-$version.tar.gz")
(umask 077; git clone -q "$top" "$scratch/other")
find "$scratch/other" -name '*.c' -exec touch {} +
must 'make dist' make -C "$scratch/other" dist
is "$(sha256sum <"$scratch/other/build/dist/lockq-$version.tar.gz")" "$sum" \
	'the same commit gives the same tarball'
tar -C "$scratch" -xf "$scratch/copy/build/dist/lockq-$version.tar.gz"
must 'make install from the tarball, without git' env -u LOCKQ_DEFAULTS_FILE make \
	-C "$scratch/lockq-$version" install prefix="$scratch/prefix"
is "$("$scratch/prefix/bin/getwork" --version)" "getwork (lockq) $version" 'what it builds runs'

# --- a new Debian with nothing but the packages ---------------------------------------------------

# shellcheck disable=SC2016 # apt-get expands these
mirror=$(apt-get indextargets --format '$(CREATED_BY)|$(ORIGIN)|$(RELEASE)|$(REPO_URI)' |
	awk -F'|' '$1 == "Packages" && $2 == "Debian" && $3 !~ /[-\/]/ { print $4; exit }')
must 'debootstrap' debootstrap --variant=minbase bookworm "$root" "$mirror"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc" 2>/dev/null
mkdir "$root/packages"
for deb in "${debs[@]}"; do
	case $deb in
	*dbgsym*) ;;
	*) cp "$deb" "$root/packages" ;;
	esac
done
rm -rf "$scratch/copy" "$scratch/other" "$scratch/lockq-$version" "$scratch/prefix"

inside() {
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@"
}
must 'apt-get update' inside apt-get -q update
must 'the packages are installed with what they depend on' inside sh -c \
	'apt-get -q -y --no-install-recommends install /packages/*.deb'
for program in getwork checkwork disposition runwork refill managetask lockqstat seedloans \
	lockq-migrate; do
	is "$(inside "$program" --version)" "$program (lockq) $version" "$program --version"
	ok "$([ -e "$root/usr/share/man/man1/$program.1.gz" ]; echo $?)" "$program has its page"
	ok "$([ -e "$root/usr/share/bash-completion/completions/$program" ]; echo $?)" \
		"$program has its completion"
done
is "$(inside getent passwd lockq | cut -d : -f 1)" lockq 'there is a user lockq for the timers'
is "$(cd "$root/lib/systemd/system" && echo lockq-*)" \
	'lockq-expire.service lockq-expire.timer lockq-failed@.service lockq-metrics.service '\
'lockq-metrics.timer lockq-purge.service '\
'lockq-purge.timer lockq-refill.service' 'the units are there'
is "$(find "$root/etc/systemd/system" -name 'lockq*' 2>/dev/null)" '' 'and none is enabled'
is "$(cat "$root"/lib/systemd/system/lockq-*.service | grep -c ExecStart=/usr/bin)" 4 \
	'they start the programs of the package'
ok "$([ -e "$root/usr/share/doc/lockq/examples/lockq.cnf" ]; echo $?)" 'a sample option file'

# --- against a server outside ---------------------------------------------------------------------

port=$(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1,
	LocalAddr => "127.0.0.1")->sockport')
export LOCKQ_MYSQLD_ARGS="--log-bin=binlog --skip-networking=OFF --bind-address=127.0.0.1
	--port=$port"
must 'a server' "$top/scripts/sandbox" start
sql "CREATE DATABASE bank CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs;
     CREATE USER owner IDENTIFIED BY 'the-owner-s-1', clerk IDENTIFIED BY 'the-clerk-s-1';
     GRANT ALL ON bank.* TO owner WITH GRANT OPTION;
     GRANT CREATE ROLE, ROLE_ADMIN ON *.* TO owner"
sed -e 's/^host=.*/host=127.0.0.1/' -e '/^ssl-ca=/d' -e 's/^ssl-mode=.*/ssl-mode=REQUIRED/' \
	-e "s/^user=.*/user=clerk/; s/^password=.*/password=the-clerk-s-1\nport=$port/" \
	"$root/usr/share/doc/lockq/examples/lockq.cnf" >"$root/root/.my.cnf"
printf '%s\n' '[client]' host=127.0.0.1 "port=$port" user=owner password=the-owner-s-1 \
	'[lockq_seed]' database=bank >"$root/root/owner.cnf"
chmod 600 "$root/root/.my.cnf" "$root/root/owner.cnf"
sql 'REVOKE ROLE_ADMIN ON *.* FROM owner'
run inside lockq-migrate --database bank -- --defaults-file=/root/owner.cnf
is "$status:$err" "4:lockq-migrate: 'owner'@'%' lacks ROLE_ADMIN: let an administrator run \
\"GRANT ROLE_ADMIN ON *.* TO 'owner'@'%'\"" 'what a migration lacks is said'
sql 'GRANT ROLE_ADMIN ON *.* TO owner'
must 'lockq-migrate makes the tables' inside lockq-migrate --database bank --example -- \
	--defaults-file=/root/owner.cnf
must 'seedloans fills them' inside seedloans --defaults-file /root/owner.cnf --loans 2000 --heavy 20
sql "GRANT lockq_worker@bank TO clerk; SET DEFAULT ROLE ALL TO clerk"
inside getwork --user oliver --task 7 --count 2 --json >"$scratch/oliver" &
oliver=$!
await "SELECT COUNT(*) FROM bank.work_requested WHERE outcome = 'pending'" 1
inside getwork --user tracy --task 7 --count 2 --json >"$scratch/tracy" &
tracy=$!
wait "$oliver"
is $? 0 'one person is served'
wait "$tracy"
is $? 0 'another one, too'
is "$(jq -s 'map(.loans[].loan_id) | unique | length' "$scratch/oliver" "$scratch/tracy")" 4 \
	'with four loans, each given once'
is "$(sql "SELECT COUNT(*) FROM bank.leader_run WHERE how = 'query'")" 1 'by one query'
loan=$(jq -r '.loans[0].loan_id' "$scratch/oliver")
run inside disposition --user oliver --task 7 --loan "$loan" --complete
is "$status:$out" "0:loan $loan: completed" 'disposition'
run inside checkwork --user tracy --task 7 --json
is "$status:$(wc -l <<<"$out")" 0:2 'checkwork'

# --- for C programmers ----------------------------------------------------------------------------

must 'a compiler' inside apt-get -q -y --no-install-recommends install gcc libc6-dev pkg-config
# shellcheck disable=SC2016 # that shell expands it
must 'the example compiles by pkg-config alone' inside sh -c \
	'cd /tmp && cp /usr/share/doc/liblockq-dev/examples/ask.c* . && { gunzip ask.c.gz || :; } &&
	cc ask.c $(pkg-config --cflags --libs lockq) -o ask'
run inside /tmp/ask ben 7 2
is "$status:$(grep -Ec '^loan [0-9]+: (completed|returned)$' <<<"$out")" 0:2 'and works'

# --- against MariaDB's server ---------------------------------------------------------------------

# Its package would start it.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
must "MariaDB's server" inside apt-get -q -y --no-install-recommends install mariadb-server
must 'a data directory' inside mariadb-install-db --user=root --datadir=/maria --skip-test-db \
	--auth-root-authentication-method=normal
inside mariadbd --no-defaults --user=root --datadir=/maria --socket=/maria/sock --skip-networking \
	>"$scratch/maria.log" 2>&1 &
maria=$!
maria_answers() {
	inside mysqladmin --no-defaults --socket=/maria/sock --user=root ping >/dev/null 2>&1
}
wait_for maria_answers
printf '%s\n' '[client]' socket=/maria/sock user=root >"$root/root/maria.cnf"
run inside lockq-migrate --database bank -- --defaults-file=/root/maria.cnf
needs='lockq needs MySQL [0-9.]+ or later'
like "$status:$err" "^4:lockq-migrate: the server is MariaDB \\(1[^)]*\\): $needs\$" \
	'lockq-migrate refuses it'
run inside getwork --defaults-file /root/maria.cnf --user oliver --task 7
like "$status:$err" "^5:getwork: .*the server is MariaDB 1[^:]*: $needs" 'getwork, too'
kill "$maria"
wait "$maria"

must 'the packages are removed' inside apt-get -q -y purge lockq liblockq0 liblockq-dev
is "$(find "$root/usr" "$root/etc" "$root/lib" -name '*lockq*' ! -path '*/dpkg/*')" '' \
	'and leave nothing'
finish
