#!/usr/bin/env bash
# --ssl-mode, with MySQL's client library and with MariaDB's, which the programs under the
# sanitizers use. The test has a server of its own, with TLS and then without it. The server's
# general log says whether each connection used TLS. The table in SECURITY.md is what came of each
# mode: LOCKQ_TLS_TABLE=FILE writes it to that file.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"
# shellcheck source=test/support/replica.sh
. "$(dirname "$0")/../../support/replica.sh"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq.XXXXXX")
export LOCKQ_SANDBOX_DIR=$scratch/s
# shellcheck disable=SC2154 # status and err are set by run
trap '"$top/scripts/sandbox" destroy 2>/dev/null; rm -rf "$scratch"' EXIT
port=$(free_port) door_port=$(free_port)
modes=(DISABLED PREFERRED REQUIRED VERIFY_CA VERIFY_IDENTITY)
builds=(build build/asan)
[ -x "$top/build/asan/bin/checkwork" ] || {
	builds=(build)
	ok 0 '# SKIP MariaDB: make check-rest builds build/asan'
}

# start OPTION…: starts the server, with these options besides its own.
start() {
	LOCKQ_MYSQLD_ARGS="--innodb-buffer-pool-size=64M --general-log --log-output=TABLE
		--skip-networking=OFF --bind-address=127.0.0.2,127.0.0.3 --port=$port $*" \
		"$top/scripts/sandbox" start >"$scratch/log" 2>&1 && return 0
	sed 's/^/# /' "$scratch/log" >&2
	return 1
}

# certificate NAME: makes a key and a self-signed certificate of 127.0.0.2. From 127.0.0.1 MariaDB's
# library takes any certificate, since its 3.4.
certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" \
		-addext subjectAltName=IP:127.0.0.2 -keyout "$scratch/$1.key" \
		-out "$scratch/$1.pem" 2>"$scratch/log" || sed 's/^/# /' "$scratch/log" >&2
}

# options FILE ACCOUNT LINE…: makes an option file for that account, with these lines in [client].
options() {
	local umask
	umask=$(umask)
	umask 077
	{
		printf '%s\n' '[client]' "port=$port" "${@:3}"
		printf '%s\n' '[lockq]' "user=$2" "password=$2" database=lockq
	} >"$scratch/$1"
	umask "$umask"
}

# comes FILE [OPTION…]: sets $how: how checkwork of $build connects, or its exit status if it can't.
comes() {
	sql 'TRUNCATE mysql.general_log'
	run timeout "$patience" "$top/$build/bin/checkwork" --user race-1 \
		--defaults-file "$scratch/$1" "${@:2}"
	how=$status
	[ "$status" -ne 0 ] || how=$(sql "
		SELECT GROUP_CONCAT(DISTINCT SUBSTRING_INDEX(argument, ' using ', -1))
		  FROM mysql.general_log WHERE command_type = 'Connect' AND argument LIKE 'test_%'")
}

# comes_by HOW DESCRIPTION FILE [OPTION…]
comes_by() {
	comes "${@:3}"
	is "$how" "$1" "$build: $2"
}

# refused PATTERN DESCRIPTION FILE [OPTION…]
refused() {
	comes "${@:3}"
	like "$how: $err" "^5: checkwork: .*$1" "$build: $2"
}

# outcomes NAME FILE: what comes of each mode, for each client, with that option file; a line each
# in the file NAME. A client that is refused after it logged in has sent the password.
outcomes() {
	local mode
	for build in "${builds[@]}"; do
		for mode in "${modes[@]}"; do
			comes "$2" --ssl-mode "$mode"
			case $how in
			SSL/TLS) echo TLS ;;
			TCP/IP) echo 'plain text' ;;
			5)
				if [ "$(sql "SELECT COUNT(*) FROM mysql.general_log
					WHERE command_type = 'Connect' AND argument LIKE 'test_%'
					  AND thread_id NOT IN (SELECT thread_id
					      FROM mysql.general_log
					     WHERE argument LIKE 'Access denied%')")" -gt 0 ]; then
					echo 'refused after the login'
				else
					echo refused
				fi ;;
			*) echo "exit $how" ;;
			esac
		done
	done >"$scratch/$1"
}

# table: the rows of SECURITY.md, from the files that outcomes made.
table() {
	local client mode
	for client in "MySQL's" "MariaDB's"; do
		for mode in "${modes[@]}"; do
			printf "| %s | \`%s\`\n" "$client" "$mode"
		done
	done >"$scratch/rows"
	paste -d '|' "$scratch/rows" "$scratch/with" "$scratch/sealed_with" "$scratch/without" |
		sed 's/|/ | /g; s/  */ /g; s/^ //; s/$/ |/'
}

certificate server
certificate other
options tcp test_any host=127.0.0.2
options sealed test_sealed host=127.0.0.2
options socket test_any "socket=$LOCKQ_SANDBOX_DIR/mysql.sock"
options protocol test_any host=127.0.0.2 protocol=tcp
options known test_any host=127.0.0.2 "ssl-ca=$scratch/server.pem"
options known_sealed test_sealed host=127.0.0.2 "ssl-ca=$scratch/server.pem"
options misnamed test_any host=127.0.0.3 "ssl-ca=$scratch/server.pem"
options unknown test_any host=127.0.0.2 "ssl-ca=$scratch/other.pem"
options behind test_any host=127.0.0.2 "port=$door_port"
options required test_any host=127.0.0.2 ssl-mode=REQUIRED
options verify test_any host=127.0.0.3 "ssl-ca=$scratch/server.pem" ssl-verify-server-cert=1 \
	ssl-mode=REQUIRED
options remote test_any host=127.0.0.2 protocol=socket
options lax test_any host=127.0.0.3 "ssl-ca=$scratch/server.pem" ssl-verify-server-cert=0

start "--ssl-cert=$scratch/server.pem --ssl-key=$scratch/server.key" || exit 1
task=261
make_users 2
make_task $task 100 1
sql "CREATE USER test_any IDENTIFIED BY 'test_any';
     CREATE USER test_sealed IDENTIFIED BY 'test_sealed' REQUIRE SSL;
     GRANT lockq_worker@lockq TO test_any, test_sealed;
     SET DEFAULT ROLE ALL TO test_any, test_sealed;
     CREATE OR REPLACE VIEW test_candidates_$task AS
       SELECT loan_id, line AS priority FROM test_loan_$task WHERE SLEEP(0.04) = 0"

# --- a server with TLS ----------------------------------------------------------------------------

# works_over_tls USER: getwork of $build, in the background.
works_over_tls() {
	timeout "$patience" "$top/$build/bin/getwork" --user "$1" --task $task \
		--defaults-file "$scratch/sealed" >"$scratch/$1" 2>&1 &
}

# The query takes so long that the lock connection is pinged meanwhile.
workers=()
for build in "${builds[@]}"; do
	works_over_tls "race-$((${#workers[@]} + 1))"
	workers+=($!)
done
for worker in "${workers[@]}"; do
	wait "$worker"
	is $? 0 'leading and following work over TLS'
done

# The server forgets the passwords that it has seen. MariaDB's library asks for the key by itself.
sql 'FLUSH PRIVILEGES'
build=build
refused 'use TLS, or say get-server-public-key in the option file' \
	'DISABLED: a password of caching_sha2_password needs a key' tcp --ssl-mode DISABLED

for build in "${builds[@]}"; do
	# The account's password is in the server's cache from here on, so it does without TLS.
	comes_by Socket 'a socket needs no TLS' socket
	comes_by Socket 'PREFERRED: a socket needs no TLS' socket --ssl-mode PREFERRED
	comes_by SSL/TLS 'TLS is used if the server has it' tcp
	comes_by SSL/TLS 'TLS is used if an option file names the protocol' protocol
	comes_by SSL/TLS 'PREFERRED: TLS' tcp --ssl-mode PREFERRED
	comes_by SSL/TLS 'REQUIRED: TLS' tcp --ssl-mode REQUIRED
	comes_by TCP/IP 'DISABLED: plain text' tcp --ssl-mode DISABLED
	comes_by TCP/IP 'DISABLED: plain text, although an option file names a CA' known \
		--ssl-mode DISABLED
	comes_by SSL/TLS 'an account that requires TLS' sealed
	refused 'Access denied' 'that account is refused without TLS' sealed --ssl-mode DISABLED
	comes_by SSL/TLS 'VERIFY_IDENTITY: the host that the certificate names' known \
		--ssl-mode VERIFY_IDENTITY
	refused '; option' 'another host is refused' misnamed --ssl-mode VERIFY_IDENTITY
	refused '; option' 'an unknown certificate is refused' unknown \
		--ssl-mode VERIFY_IDENTITY
	refused '; option' 'any certificate is refused without a CA' tcp \
		--ssl-mode VERIFY_IDENTITY
	refused '; option' 'an option file can not weaken that' lax \
		--ssl-mode VERIFY_IDENTITY
	refused '; option' 'an option file can demand it' verify
	comes_by SSL/TLS 'protocol=socket does not turn TLS off for another host' remote
	comes_by SSL/TLS 'an option file can demand TLS' required
	if [ "$build" = build ]; then
		comes_by SSL/TLS 'REQUIRED: TLS, also through a socket' socket --ssl-mode REQUIRED
		comes_by SSL/TLS 'VERIFY_CA: a certificate of another host' misnamed \
			--ssl-mode VERIFY_CA
		refused '; option' 'an unknown certificate is refused' unknown \
			--ssl-mode VERIFY_CA
	else
		comes socket --ssl-mode REQUIRED
		like "$how" '^(SSL/TLS|5)$' "$build: REQUIRED: no plain text through a socket"
		refused '"VERIFY_CA".*VERIFY_IDENTITY' 'VERIFY_CA: it names VERIFY_IDENTITY' \
			known --ssl-mode VERIFY_CA
	fi
done

# --- a connection that breaks off in the middle of TLS --------------------------------------------

# A door before the server. At the first connection it closes when the client asks for TLS, as a
# router does that has no primary yet.
perl -MIO::Socket::INET -MIO::Select -e '
	my ($port, $behind) = @ARGV;
	$| = 1;
	my $door = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.2", LocalPort => $port,
	    ReuseAddr => 1) or die "$port: $!";
	for (my $n = 0; my $client = $door->accept; $n++) {
		my $server = IO::Socket::INET->new("127.0.0.2:$behind") or die "$behind: $!";
		my %other = ($client => $server, $server => $client);
		my $both = IO::Select->new($client, $server);
		PASS: for (;;) {
			for my $side ($both->can_read) {
				last PASS unless sysread $side, my $said, 65536;
				last PASS if $n == 0 && $side == $client;
				syswrite $other{$side}, $said;
			}
		}
		print "closed\n";
	}' "$door_port" "$port" >"$scratch/door" &
door=$!
build=build
wait_for grep -q "^ *[0-9]*: 0200007F:$(printf %04X "$door_port") " /proc/net/tcp
comes_by SSL/TLS 'it is tried again' behind
is "$(head -n 1 "$scratch/door")" closed 'it had been closed'
kill "$door"

outcomes with known
outcomes sealed_with known_sealed

# --- a server without TLS -------------------------------------------------------------------------

"$top/scripts/sandbox" stop 2>/dev/null
start --tls-version= || exit 1
for build in "${builds[@]}"; do
	comes_by Socket 'no TLS: through a socket' socket
	comes_by TCP/IP 'no TLS: plain text' tcp
	comes_by TCP/IP 'PREFERRED: plain text' tcp --ssl-mode PREFERRED
	refused '' 'REQUIRED: refused' tcp --ssl-mode REQUIRED
	refused '' 'REQUIRED in an option file: refused' required
	refused '' 'VERIFY_IDENTITY: refused' known --ssl-mode VERIFY_IDENTITY
	refused '' 'REQUIRED through a socket: refused' socket --ssl-mode REQUIRED
	[ "$build" = build ] || refused '"REQUIRED".*not encrypted: connect over TCP to' \
		'the line tells the next step' tcp --ssl-mode REQUIRED
done
outcomes without known
table >"$scratch/table"
[ -z "${LOCKQ_TLS_TABLE-}" ] || cp "$scratch/table" "$LOCKQ_TLS_TABLE"
rows=$((${#builds[@]} * ${#modes[@]}))
ok "$(diff <(grep -E "^\| (MySQL|MariaDB)'s" "$top/SECURITY.md" | head -n "$rows") \
	<(head -n "$rows" "$scratch/table") >&2; echo $?)" \
	'SECURITY.md has the table of what came of each mode'

finish
