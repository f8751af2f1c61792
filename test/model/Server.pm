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

sub session
{
	my $folder = $ENV{LOCKQ_SANDBOX_DIR} // "$FindBin::Bin/../../build/sandbox";

	local $ENV{MYSQL_TEST_LOGIN_FILE} = "$folder/no-login-file";
	my $pid = open2(my $out, my $in, 'mysql', "--defaults-file=$folder/admin.cnf",
	    '--database=lockq', '--batch', '--skip-column-names', '--unbuffered', '--force');
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

# make PLAN...: a fresh task for each; returns their numbers. A completed loan is held for ever, as
# if the view did not show it any more.
sub make
{
	my ($self, @plans) = @_;
	my $task = $FIRST_TASK;
	my @stuck;

	$self->forget;
	$self->make_views;
	$self->ask("INSERT IGNORE INTO app_user (name) VALUES ('trace-$_')") for 1 .. $USERS;
	for my $plan (@plans) {
		my $view = ($plan->{broken} ? 'trace_broken_' : 'trace_') . $plan->{loans};

		push @{$self->{tasks}}, ++$task;
		push @stuck, $task if $plan->{stuck};
		$self->ask("INSERT INTO task (task_id, name, candidates_view, complete_hold)
		      VALUES ($task, 'trace $plan->{seed}', '$view', 31536000);
		    CALL task_rows($task)");
		$self->lend($task) if $plan->{lease};
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

# Somebody has loan 2 already, with a lease.
sub lend
{
	my ($self, $task) = @_;

	$self->ask("INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested,
	        assigned, outcome, epoch, served_at)
	      SELECT UUID(), user_id, 'trace', $task, 1, 1, 1, 'served', 0, NOW(6)
	        FROM app_user WHERE name = 'trace-$USERS';
	    INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,
	        request_id, lease_expires_at, at)
	      SELECT task_id, 2, 'assigned', user_id, account, 0, 1, request_id,
	             NOW(6) + INTERVAL 1 DAY, NOW(6)
	        FROM work_requested WHERE task_id = $task;
	    INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,
	        assigned_at, lease_expires_at, changed_at, due_at)
	      SELECT task_id, loan_id, user_id, 'assigned', token, version, request_id, at,
	             lease_expires_at, at, lease_expires_at
	        FROM work_log WHERE task_id = $task");
}

sub lapse
{
	my ($self, $task) = @_;
	$self->ask("UPDATE work SET lease_expires_at = NOW(6), due_at = NOW(6)
	    WHERE task_id = $task AND loan_id = 2 AND version = 1");
}

# neglect: nobody has looked after the user's request for long. As cron does, this takes the task's
# lock first: a leader passes over a request that is locked at that moment.
sub neglect
{
	my ($self, $task, $user) = @_;
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

sub mend
{
	my ($self, $task) = @_;
	$self->ask("UPDATE task SET candidates_view = REPLACE(candidates_view, 'broken_', '')
	    WHERE task_id = $task");
}

# hold TASK: its first leader can't record its round, and so not commit, until let_go().
sub hold
{
	my ($self, $task) = @_;
	$self->{holds}{$task} = session();
	$self->ask("START TRANSACTION;
	    INSERT IGNORE INTO leader_run (task_id, epoch, user, how, started_at, ended_at)
	    VALUES ($task, 1, 'trace', 'query', NOW(6), NOW(6))", $self->{holds}{$task});
}

sub let_go
{
	my ($self, $task) = @_;
	hang_up(delete $self->{holds}{$task});
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
	my ($self) = @_;
	my $folder = ($self->ask('SELECT @@log_bin_basename'))[0] =~ s{/[^/]*$}{}r;
	my $columns = "/tmp/lockq-columns.$$";

	$self->release;
	while (($self->ask('SELECT COUNT(*) FROM performance_schema.threads
	    WHERE processlist_user = \'lockq_app\''))[0] != 0) {
		select undef, undef, undef, 0.01;
	}
	my @logs = map { /^(\S+)/ && $1 ge $self->{log} ? "$folder/$1" : () }
	    $self->ask('SHOW BINARY LOGS');
	open my $out, '>', $columns or die "record: $columns: $!\n";
	print $out "$_\n" for $self->ask(Binlog::columns_query());
	close $out;
	my $log = Binlog->open(columns => Binlog::read_columns($columns), files => \@logs,
	    database => 'lockq', tables => [qw(task task_lock work_requested work work_log
	    leader_run)]);
	unlink $columns;
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
	    task_refill manage_log task task_lock task_wake);
	$self->ask("DELETE FROM app_user WHERE name LIKE 'trace-%';
	    DROP TABLE IF EXISTS trace_loan");
	$self->ask("DROP VIEW IF EXISTS trace_$_, trace_broken_$_") for 1 .. 3;
	$self->{tasks} = [];
}

1;
