# What the programs about the peers share. Sourced; $top is the project.
# shellcheck shell=bash disable=SC2034,SC2154
all_peers=(laravel delayed_job theschwartz)
peers_dir=$top/build/peers

is_peer() {
	[[ " ${all_peers[*]} " == *" $1 "* ]]
}

# program_of PEER: sets the array program: an interpreter and the peer's program.
program_of() {
	case $1 in
	laravel) program=(php "$top/test/bench/peers/laravel.php") ;;
	delayed_job) program=(ruby "$top/test/bench/peers/delayed_job.rb") ;;
	theschwartz) program=(perl "$top/test/bench/peers/theschwartz.pl") ;;
	esac
}

# table_of PEER: sets $table, where its jobs are.
table_of() {
	case $1 in
	laravel) table='jobs' ;;
	delayed_job) table=delayed_jobs ;;
	theschwartz) table=job ;;
	esac
}

administer() {
	"$top/scripts/sandbox" mysql --batch --skip-column-names "$@"
}

# make_account FILE: gives the peers' account a new password and writes it to an option file. All of
# their clients can log in with caching_sha2_password, through the socket.
make_account() {
	local password socket
	password=$(od -An -v -N24 -tx1 /dev/urandom | tr -d ' \n')
	socket=$(administer --execute='SELECT @@socket')
	administer <<-END
		CREATE USER IF NOT EXISTS lockq_peers@localhost;
		ALTER USER lockq_peers@localhost IDENTIFIED BY '$password';
		GRANT ALL ON \`lockq\_peers\`.* TO lockq_peers@localhost;
	END
	(umask 077 && cat >"$1") <<-END
		[client]
		user=lockq_peers
		password=$password
		socket="$socket"
		database=lockq_peers
	END
}

forget_account() {
	administer --execute='DROP DATABASE IF EXISTS lockq_peers;
		DROP USER IF EXISTS lockq_peers@localhost'
}

# One run at a time, because all runs use the same database.
lock_peers() {
	mkdir -p "$peers_dir"
	exec {peers_lock}>"$peers_dir/run.lock"
	flock --nonblock "$peers_lock" || {
		echo 'another run of the peers is at work here: wait for it' >&2
		exit 1
	}
}

# make_tables PEER: lets the peer make its tables in the empty database lockq_peers, and one job.
make_tables() {
	program_of "$1"
	if ! timeout 120 "${program[@]}" tables >"$scratch/said" 2>&1; then
		tail -n 3 "$scratch/said" >&2
		return 1
	fi
	table_of "$1"
	[ "$(administer --execute="SELECT COUNT(*) FROM lockq_peers.$table" 2>/dev/null)" = 1 ] || {
		tail -n 3 "$scratch/said" >&2
		echo "$1 made no job" >&2
		return 1
	}
}

# theschwartz.pl reads this.
export PEERS_SCHEMA=$peers_dir/theschwartz/schema.sql
