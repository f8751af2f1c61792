# SPDX-License-Identifier: MIT
# The server on which runs are recorded, as its administrator sees it: the tasks, what the programs
# can't do, and the binary log.
package Server;
use strict;
use warnings;
use IPC::Open2;
use FindBin;
use lib "$FindBin::Bin/../history";
use Binlog;

my $FIRST_TASK = 7_700_000;
my $USERS = 5;

# session [REDIRECTION]: a client whose errors go where this one's go, or elsewhere.
sub session
{
	my ($errors) = @_;
	my $folder = $ENV{LOCKQ_SANDBOX_DIR} // "$FindBin::Bin/../../build/sandbox";

	local $ENV{MYSQL_TEST_LOGIN_FILE} = "$folder/no-login-file";
	my $pid = open2(my $out, my $in, 'sh', '-c', 'exec mysql "$@" ' . ($errors // ''), 'sh',
	    "--defaults-file=$folder/admin.cnf", '--database=lockq', '--batch',
	    '--skip-column-names', '--unbuffered', '--force');
	return { pid => $pid, in => $in, out => $out };
}

sub new
{
	my ($class) = @_;
	local $SIG{PIPE} = 'IGNORE';
	my $self = bless { main => session(), tasks => [] }, $class;

	die "record: no server answers: start one with 'scripts/sandbox start'\n"
	    unless join('', $self->ask('SELECT 1')) eq '1';
	return $self;
}

# ask SQL [SESSION]: the lines of the answer.
sub ask
{
	my ($self, $sql, $session) = @_;
	my ($in, $out) = @{$session // $self->{main}}{qw(in out)};
	my $mark = 'end of answer ' . ++$self->{asked};
	my @lines;

	print $in "$sql;\nSELECT '$mark';\n";
	while (defined(my $line = <$out>)) {
		chomp $line;
		return @lines if $line eq $mark;
		push @lines, $line;
	}
	die "record: the administrator's session is lost\n";
}

# The query costs real work for each loan. All tasks use the same views, of one, two or three loans.
sub make_views
{
	my ($self) = @_;

	$self->ask('DROP TABLE IF EXISTS trace_loan;
	    CREATE TABLE trace_loan (loan_id BIGINT UNSIGNED PRIMARY KEY);
	    INSERT INTO trace_loan VALUES (1), (2), (3)');
	for my $n (1 .. 3) {
		my $loans = "SELECT loan_id, loan_id AS priority FROM trace_loan
		    WHERE loan_id <= $n
		      AND SHA2(REPEAT(CONCAT('loan ', loan_id), 50000), 512) <> ''";

		$self->ask("CREATE OR REPLACE VIEW trace_$n AS $loans;
		    CREATE OR REPLACE VIEW trace_broken_$n AS $loans
		      AND loan_id > (SELECT a.loan_id FROM trace_loan AS a);
		    GRANT SELECT ON trace_$n TO lockq_worker\@lockq, lockq_query\@lockq;
		    GRANT SELECT ON trace_broken_$n TO lockq_worker\@lockq, lockq_query\@lockq");
	}
}

# The views of the tasks that keep a list. The one that is asked about some loans is light, so that
# it answers in its 250 ms. Where a loan is to disappear, the task has a view of its own.
sub make_check_views
{
	my ($self, @plans) = @_;

	$self->ask('DROP TABLE IF EXISTS trace_kept;
	    CREATE TABLE trace_kept (task_id INT UNSIGNED, loan_id BIGINT UNSIGNED,
	        PRIMARY KEY (task_id, loan_id))');
	$self->ask("CREATE OR REPLACE VIEW trace_check_$_ AS
	      SELECT loan_id FROM trace_loan WHERE loan_id <= $_;
	    GRANT SELECT ON trace_check_$_ TO lockq_worker\@lockq, lockq_query\@lockq") for 1 .. 3;
}

sub make_own_view
{
	my ($self, $task, $loans) = @_;

	$self->ask("INSERT INTO trace_kept SELECT $task, loan_id FROM trace_loan
	      WHERE loan_id <= $loans;
	    CREATE OR REPLACE VIEW trace_own_$task AS
	      SELECT loan_id, loan_id AS priority FROM trace_kept WHERE task_id = $task;
	    GRANT SELECT ON trace_own_$task TO lockq_worker\@lockq, lockq_query\@lockq");
	return ("'trace_own_$task'") x 2;
}

# A list of all loans, as a leader has written it.
sub make_list
{
	my ($self, $task, $loans, $view) = @_;

	$self->ask("INSERT INTO kept_loan (task_id, epoch, position, loan_id, version)
	      SELECT $task, 1, 999999 + l.loan_id, l.loan_id, COALESCE(w.version, 0)
	        FROM trace_loan AS l LEFT JOIN work AS w
	          ON w.task_id = $task AND w.loan_id = l.loan_id
	       WHERE l.loan_id <= $loans;
	    INSERT INTO kept_list (task_id, epoch, candidates_view, as_of, length, complete,
	        query_ms, check_ms) VALUES ($task, 1, $view, NOW(6), $loans, TRUE, 5, 1);
	    UPDATE task_lock SET epoch = 1 WHERE task_id = $task");
}

# make PLAN...: a fresh task for each; returns their numbers. A completed loan is held for ever, as
# if the view did not show it any more.
sub make
{
	my ($self, @plans) = @_;
	my $task = $FIRST_TASK;
	my @stuck;

	$self->forget;
	$self->make_views;
	$self->make_check_views if grep { $_->{lists} } @plans;
	$self->ask("INSERT IGNORE INTO app_user (name) VALUES ('trace-$_')") for 1 .. $USERS;
	for my $plan (@plans) {
		my ($view, $check) = ("'trace_" . ($plan->{broken} ? 'broken_' : '') . "$plan->{loans}'",
		    $plan->{lists} ? "'trace_check_$plan->{loans}'" : 'NULL');
		my $ttl = $plan->{lists} ? 3600 : 0;

		push @{$self->{tasks}}, ++$task;
		push @stuck, $task if $plan->{stuck};
		($view, $check) = $self->make_own_view($task, $plan->{loans}) if $plan->{hides};
		$self->ask("INSERT INTO task (task_id, name, candidates_view, check_view, cache_ttl,
		        complete_hold)
		      VALUES ($task, 'trace $plan->{seed}', $view, $check, $ttl, 31536000);
		    CALL task_rows($task)");
		$self->lend($task, 2, 'assigned') if $plan->{lease};
		$self->lend($task, 1, 'returned') if $plan->{returned};
		$self->make_list($task, $plan->{loans}, $view) if $plan->{listed};
	}
	$self->{users} = { map { split /\t/ } $self->ask("SELECT user_id, name FROM app_user
	    WHERE name LIKE 'trace-%'") };
	# A foreign session holds the row on which followers wait.
	if (@stuck) {
		$self->{foreign} = session();
		$self->ask('START TRANSACTION; SELECT task_id FROM task_wake WHERE task_id IN ('
		    . join(',', @stuck) . ') FOR UPDATE', $self->{foreign});
	}
	$self->ask('FLUSH BINARY LOGS');
	($self->{log}) = ($self->ask('SHOW BINARY LOGS'))[-1] =~ /^(\S+)/;
	return @{$self->{tasks}};
}

# Somebody has the loan already, with a lease, or has returned it.
sub lend
{
	my ($self, $task, $loan, $state) = @_;
	my $available = $state eq 'returned' ? 'NOW(6)' : 'NULL';
	my $expires = $state eq 'returned' ? 'NULL' : 'NOW(6) + INTERVAL 1 DAY';

	$self->ask("INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested,
	        assigned, outcome, epoch, served_at)
	      SELECT UUID(), user_id, 'trace', $task, 1, 1, 1, 'served', 0, NOW(6)
	        FROM app_user WHERE name = 'trace-$USERS';
	    INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,
	        request_id, available_at, lease_expires_at, at)
	      SELECT task_id, $loan, '$state', user_id, account, 0, 1, request_id,
	             $available, $expires, NOW(6)
	        FROM work_requested WHERE task_id = $task;
	    INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,
	        assigned_at, available_at, lease_expires_at, changed_at, due_at)
	      SELECT task_id, loan_id, user_id, event, token, version, request_id, at,
	             available_at, lease_expires_at, at, lease_expires_at
	        FROM work_log WHERE task_id = $task");
}

sub lapse
{
	my ($self, $task) = @_;
	$self->ask("UPDATE work SET lease_expires_at = NOW(6), due_at = NOW(6)
	    WHERE task_id = $task AND loan_id = 2 AND version = 1");
}

# neglect: nobody has looked after the user's request for long. As cron does, this takes the task's
# lock first: a leader passes over a request that is locked at that moment. While this waits for the
# lock nobody would let a leader go that is kept from its COMMIT, and the leader would give up.
sub neglect
{
	my ($self, $task, $user) = @_;
	$self->let_go($task);
	$self->ask("START TRANSACTION;
	    SELECT epoch FROM task_lock WHERE task_id = $task FOR UPDATE;
	    UPDATE work_requested SET seen_at = '2001-01-01'
	     WHERE task_id = $task AND pending = 1 AND user_id =
	           (SELECT user_id FROM app_user WHERE name = '$user');
	    COMMIT");
}

# requests TASK...: whose requests there are, each as "TASK USER".
sub requests
{
	my ($self, @tasks) = @_;
	my @lines = $self->ask('SELECT r.task_id, u.name
	    FROM work_requested AS r FORCE INDEX (work_requested_line)
	    JOIN app_user AS u ON u.user_id = r.user_id
	    WHERE r.task_id IN (' . join(',', @tasks) . ')');
	return map { tr/\t/ /r } @lines;
}

# end_sessions ID...: one that has ended by itself meanwhile is no fault, so what the client says of
# it is not shown.
sub end_sessions
{
	my ($self, @ids) = @_;

	$self->{killer} //= session('2>/dev/null');
	$self->ask(join(';', map { "KILL $_" } @ids), $self->{killer});
}

sub mend
{
	my ($self, $task) = @_;
	$self->ask("UPDATE task SET candidates_view = REPLACE(candidates_view, 'broken_', '')
	    WHERE task_id = $task");
}

# hide TASK, LOAN: the task's own view does not show the loan any more.
sub hide
{
	my ($self, $task, $loan) = @_;
	$self->ask("DELETE FROM trace_kept WHERE task_id = $task AND loan_id = $loan");
}

# age TASK: its newest list gets older than cache_ttl.
sub age
{
	my ($self, $task) = @_;
	$self->ask("UPDATE kept_list SET as_of = '2001-01-01' WHERE task_id = $task
	    ORDER BY epoch DESC LIMIT 1");
}

# hold TASK, EPOCH: the leader of the epoch can't record its round, and so not commit, until
# let_go().
sub hold
{
	my ($self, $task, $epoch) = @_;
	$self->{holds}{$task} = session();
	$self->ask("START TRANSACTION;
	    INSERT IGNORE INTO leader_run (task_id, epoch, user, how, started_at, ended_at)
	    VALUES ($task, $epoch, 'trace', 'query', NOW(6), NOW(6))", $self->{holds}{$task});
}

sub let_go
{
	my ($self, $task) = @_;
	my $session = delete $self->{holds}{$task};
	hang_up($session) if $session;
}

# Its transaction is rolled back.
sub hang_up
{
	my ($session) = @_;
	close $session->{in};
	close $session->{out};
	waitpid $session->{pid}, 0;
}

# commits: an iterator of the transactions since make(). Those of killed programs have to end first.
sub commits
{
	my ($self, $scratch) = @_;
	my $folder = ($self->ask('SELECT @@log_bin_basename'))[0] =~ s{/[^/]*$}{}r;
	my $columns = "$scratch/columns";
	my $looks = 6000;

	$self->release;
	while (($self->ask('SELECT COUNT(*) FROM performance_schema.threads
	    WHERE processlist_user = \'lockq_app\''))[0] != 0) {
		die "record: sessions of programs that have ended do not end\n" if $looks-- == 0;
		select undef, undef, undef, 0.01;
	}
	my @logs = map { /^(\S+)/ && $1 ge $self->{log} ? "$folder/$1" : () }
	    $self->ask('SHOW BINARY LOGS');
	open my $out, '>', $columns or die "record: $columns: $!\n";
	print $out "$_\n" for $self->ask(Binlog::columns_query('trace_kept'));
	close $out;
	my $log = Binlog->open(columns => Binlog::read_columns($columns), files => \@logs,
	    database => 'lockq', tables => [qw(task task_lock work_requested work work_log
	    leader_run kept_list kept_loan trace_kept)]);
	return $log;
}

# release: the foreign sessions give back what they hold.
sub release
{
	my ($self) = @_;
	$self->let_go($_) for keys %{$self->{holds}};
	hang_up(delete $self->{foreign}) if $self->{foreign};
}

sub forget
{
	my ($self) = @_;
	my $which = "task_id BETWEEN $FIRST_TASK AND $FIRST_TASK + 99999";

	$self->ask("DELETE FROM $_ WHERE $which") for qw(work_log work work_requested leader_run
	    task_refill kept_loan kept_list manage_log task task_lock task_wake);
	$self->ask("DELETE FROM app_user WHERE name LIKE 'trace-%';
	    DROP TABLE IF EXISTS trace_loan, trace_kept");
	$self->ask("DROP VIEW IF EXISTS trace_$_, trace_broken_$_, trace_check_$_") for 1 .. 3;
	my @own = $self->ask("SELECT table_name FROM information_schema.views
	    WHERE table_schema = DATABASE() AND table_name LIKE 'trace\\_own\\_%'");
	$self->ask('DROP VIEW ' . join ', ', @own) if @own;
	$self->{tasks} = [];
}

1;
