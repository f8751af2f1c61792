# SPDX-License-Identifier: MIT
# Makes traces of what was recorded: the transactions of the binary log, in the order of their
# commits, and what the programs have told. Nothing is put into an order that is not certain: a
# program has ended before a commit if it was seen to have ended before the server began that.
package Recorded;
use strict;
use warnings;

# What is not known to happen is a line that no trace has, so the trace is refused.
sub strange
{
	my ($what, $change) = @_;
	my $row = $change->{row} // $change->{was};
	return "strange: $what: $change->{do} $change->{table} "
	    . join ' ', map { "$_=" . ($row->{$_} // 'NULL') } sort keys %$row;
}

sub is_changed
{
	my ($change, $column) = @_;
	return ($change->{was}{$column} // '') ne ($change->{row}{$column} // '');
}

# Of a row of work or work_log.
sub given
{
	my ($run, $row) = @_;
	return ($run->{number}{$row->{request_id}} // 'nobody') . "/$row->{version}";
}

# How requests end in a transaction, and who gets which loans there, as the words of a line; undef
# if work and work_log differ.
sub ends_and_loans
{
	my ($run, @changes) = @_;
	my (@ends, %loan, @logged);

	for my $change (@changes) {
		my ($table, $row) = @$change{qw(table row)};
		if ($table eq 'work_requested') {
			push @ends, [ $run->{number}{$row->{request_id}}, $row->{outcome} ];
		} elsif ($table eq 'work') {
			$loan{$row->{loan_id}} = given($run, $row);
		} elsif ($table eq 'work_log' && $row->{event} eq 'assigned') {
			push @logged, "$row->{loan_id} " . given($run, $row);
		}
	}
	return undef
	    if join(',', sort @logged) ne join ',', sort map { "$_ $loan{$_}" } keys %loan;
	return join ' ', (map { "$_->[0]=$_->[1]" } sort { $a->[0] <=> $b->[0] } @ends),
	    map { "loan$_=$loan{$_}" } sort keys %loan;
}

# The list that a round writes, as words of its line. Without one the run can't be compared: a view
# was too slow to tell whether some loans match.
sub kept
{
	my ($run, $epoch, @changes) = @_;
	my %kept = map { $_->{table} eq 'kept_loan' ? ($_->{row}{loan_id} => $_->{row}{version}) : () }
	    @changes;

	if (grep { $_->{table} eq 'kept_list' } @changes) {
		$run->{list} = $epoch;
		$run->{over} = 0;
	} else {
		$run->{without_list} = 1;
	}
	return map { "kept$_=$kept{$_}" } sort keys %kept;
}

# What a leader's transaction did.
sub committed
{
	my ($run, $leads, @changes) = @_;
	my $epoch = $leads->{row}{epoch};
	my $how = { 'query' => 'query', 'query on the lock connection' => 'query',
	    'hand-over' => 'hand-over', 'failed' => 'failed' }->{$leads->{row}{how}}
	    or return strange('not in the model', $leads);

	$run->{retried}{$leads->{row}{user}} = 1 if $leads->{row}{retries} > 0;
	for my $change (@changes) {
		my ($table, $row) = @$change{qw(table row)};
		if ($table =~ /^(?:task_lock|kept_list|kept_loan)$/) {
			return strange('an epoch of its own', $change)
			    if !defined $row || $row->{epoch} != $epoch;
		} elsif ($table !~ /^(?:work_requested|work|work_log|leader_run)$/) {
			return strange('in a round', $change);
		}
	}
	my $words = ends_and_loans($run, @changes)
	    // return strange('work and work_log differ', $leads);
	return join ' ', 'committed', $run->{requester}{$leads->{row}{user}}, "epoch=$epoch",
	    "how=$how", $words eq '' ? () : $words, kept($run, $epoch, @changes);
}

# The loans whose rows of a list are deleted, by their numbers.
sub rows_gone
{
	my ($epoch, @changes) = @_;
	return map { $_->{table} eq 'kept_loan' && $_->{do} eq 'delete'
	    && $_->{was}{epoch} == $epoch ? ($_->{was}{loan_id} => 1) : () } @changes;
}

# What has gone from the list without being given, as words. Of lists that are not used any more
# anybody may delete anything.
sub gone
{
	my ($run, $epoch, %gone) = @_;
	return $epoch != $run->{list} || $run->{over} ? () : map { "gone$_" } sort keys %gone;
}

# What a transaction did that has taken loans of a list for a request.
sub taken
{
	my ($run, $request, @changes) = @_;
	my $epoch = $request->{row}{epoch};
	my %gone = rows_gone($epoch, @changes);
	my $words = ends_and_loans($run, @changes)
	    // return strange('work and work_log differ', $request);

	for my $change (@changes) {
		my $table = $change->{table};
		return strange('in a take', $change)
		    if $table !~ /^(?:work_requested|work|work_log|kept_list|kept_loan)$/;
		return strange('taken without a row of the list', $change)
		    if $table eq 'work' && !delete $gone{$change->{row}{loan_id}};
	}
	return join ' ', 'taken', $run->{number}{$request->{row}{request_id}}, "list=$epoch",
	    $words, gone($run, $epoch, %gone);
}

# Rows of the newest list that go although nobody gets their loans; '' if there are none.
sub dropped
{
	my ($run, @changes) = @_;
	my @gone = gone($run, $run->{list}, rows_gone($run->{list}, @changes));
	return @gone > 0 ? join ' ', 'dropped', "list=$run->{list}", @gone : '';
}

# What a change of one request means, outside a round; '' for seen_at, which waiting moves on.
sub of_request
{
	my ($run, $change) = @_;
	my ($was, $row) = @$change{qw(was row)};
	my $who = $run->{number}{$row->{request_id}};

	return "asked $who" if $change->{do} eq 'insert' && $row->{outcome} eq 'pending';
	return strange('a request', $change) if $change->{do} ne 'update';
	return "cancelled $who" if $row->{outcome} eq 'cancelled' && $was->{outcome} eq 'pending';
	return strange('a request', $change) if is_changed($change, 'outcome');
	return $row->{seen_at} lt $was->{seen_at} ? "neglected $who" : '';
}

sub of_loan
{
	my ($run, $change) = @_;
	my ($was, $row) = @$change{qw(was row)};
	my $who = $run->{number}{$row->{request_id}};

	return "lapsed $row->{loan_id}" if $change->{do} eq 'update'
	    && $row->{version} == $was->{version} && is_changed($change, 'lease_expires_at');
	return strange('a loan', $change) if $change->{do} ne 'update' || !defined $who
	    || $was->{state} ne 'assigned' || $row->{state} !~ /^(?:completed|returned)$/;
	return "disposed $who loan$row->{loan_id}=$row->{state}/$row->{version}";
}

sub of_task
{
	my ($run, $change) = @_;
	return '' if $change->{do} ne 'update' || !is_changed($change, 'paused');
	return defined $change->{row}{paused} ? 'paused' : 'resumed';
}

# Of kept_list. Takers move its head on, and lists that are not used any more are deleted.
sub of_list
{
	my ($run, $change) = @_;
	my $epoch = ($change->{row} // $change->{was})->{epoch};

	return strange('a list', $change) if $change->{do} eq 'insert'
	    || ($change->{do} eq 'delete' && $epoch == $run->{list});
	return '' unless $change->{do} eq 'update' && is_changed($change, 'as_of');
	$run->{over} = 1 if $epoch == $run->{list};
	return $epoch == $run->{list} ? 'aged' : '';
}

# Of the table that the view is of.
sub of_shown
{
	my ($run, $change) = @_;
	return $change->{do} eq 'delete' ? "unshown $change->{was}{loan_id}" : '';
}

my %OF = (work_requested => \&of_request, work => \&of_loan, task => \&of_task,
    work_log => sub { '' }, task_lock => sub { strange('without a round', $_[1]) },
    kept_list => \&of_list, kept_loan => sub { '' }, trace_kept => \&of_shown);

# lines_of RUN, CHANGES: of one transaction in the run's task.
sub lines_of
{
	my ($run, @changes) = @_;
	my ($leads) = grep { $_->{table} eq 'leader_run' } @changes;

	return committed($run, $leads, @changes) if $leads;
	my ($request) = grep { $_->{table} eq 'work_requested' && ($_->{row}{source} // '') eq 'list'
	    && ($_->{was}{outcome} // 'pending') eq 'pending' } @changes;

	return taken($run, $request, @changes) if $request;
	return grep { $_ ne '' } dropped($run, @changes),
	    map { $OF{$_->{table}}($run, $_) } @changes;
}

# The line that a call's end is; undef if it has made no request.
sub end_of
{
	my ($run, $call) = @_;
	my $who = $run->{requester}{$call->{user}} // return undef;
	my $answer = $call->{answer} // {};
	my $status = $answer->{status} // 'nothing';

	return "killed $who" if $call->{signal} != 0;
	return "put-off $who" if $status eq 'pending';
	return join ' ', 'answered', $who, $status, sort map { $_->{loan_id} }
	    @{$answer->{loans} // []};
}

# What happened to a call's process, as words. In 250 ms a view has to tell whether loans match; a
# lock wait ends after a second, and a check is too old then.
my ($SLOW_S, $LATE_S) = (0.25, 1);

sub fates
{
	my ($run, $call) = @_;
	my $lasted = $run->{plan}{lists} ? $call->{ended} - $call->{begun} : 0;

	return ($call->{signal} != 0 ? 'killed' : (), $call->{lost} ? 'lost' : (),
	    $call->{signalled} ? 'signalled' : (), $call->{disposal} ? 'disposes' : (),
	    $run->{retried}{$call->{user}} && ($run->{plan}{lists} || !$call->{lost}) ?
	    'retried' : (),
	    $lasted >= $SLOW_S ? 'slow' : (), $lasted >= $LATE_S ? 'late' : ());
}

# What the run was like.
sub head
{
	my ($run) = @_;
	my $plan = $run->{plan};
	my @lines = ("# seed $plan->{seed}, task $run->{task}",
	    join(' ', 'loans', 1 .. $plan->{loans}),
	    $plan->{lease} ? 'lease 2' : (), $plan->{stuck} ? 'stuck' : (),
	    $plan->{listed} ? 'list' : (), $plan->{returned} ? 'returned 1' : ());

	for my $call (sort { $run->{requester}{$a->{user}} <=> $run->{requester}{$b->{user}} }
	    grep { defined $run->{requester}{$_->{user}} } @{$run->{calls}}) {
		push @lines, join ' ', 'requester', $run->{requester}{$call->{user}},
		    "count=$call->{count}", "waits=$call->{waits}", fates($run, $call);
	}
	push @lines, join ' ', 'refill', fates($run, $run->{refill}) if $run->{refill};
	return @lines;
}

# Requesters are numbered in the order of their requests. A call that was killed before it had one
# may have deleted rows of the list, so it comes last.
sub number_requesters
{
	my ($run, $users, @transactions) = @_;
	my %user_of;

	for my $change (map { @{$_->{changes}} } @transactions) {
		$user_of{$change->{row}{request_id}} = $users->{$change->{row}{user_id}}
		    if $change->{table} eq 'work_requested' && $change->{do} eq 'insert';
	}
	my $n = 0;
	for my $request (sort { $a <=> $b } keys %user_of) {
		$run->{number}{$request} = ++$n;
		$run->{requester}{$user_of{$request}} = $n;
	}
	return unless $run->{plan}{lists};
	$run->{requester}{'(refill)'} = 'refill';
	for my $call (@{$run->{calls}}) {
		$run->{requester}{$call->{user}} //= ++$n if $call->{signal} != 0;
	}
}

# trace RUN, USERS, TRANSACTIONS: the lines, of the transactions with their changes to the run's
# task, in the order of the commits.
sub trace
{
	my ($run, $users, @transactions) = @_;
	my (@lines, @ends);

	@$run{qw(list over)} = ($run->{plan}{listed} // 0, 0);
	number_requesters($run, $users, @transactions);
	for my $call (sort { $a->{ended} <=> $b->{ended} } @{$run->{calls}}) {
		my $line = end_of($run, $call);
		# A killed program's session may end later.
		push @ends, [ $line =~ /^killed/ ? 9e99 : $call->{ended} * 1e6, $line ]
		    if defined $line;
	}
	@ends = sort { $a->[0] <=> $b->[0] } @ends;
	for my $transaction (@transactions) {
		push @lines, (shift @ends)->[1] while @ends && $ends[0][0] < $transaction->{at};
		push @lines, lines_of($run, @{$transaction->{changes}});
	}
	@lines = (@lines, map { $_->[1] } @ends);
	return (head($run), @lines);
}

# by_task LOG: the transactions by task. One that changed several tasks is several.
sub by_task
{
	my ($log) = @_;
	my %of;

	while (my $transaction = $log->next) {
		my %part;
		for my $change (@{$transaction->{changes}}) {
			push @{$part{($change->{row} // $change->{was})->{task_id}}}, $change;
		}
		push @{$of{$_}}, { at => $transaction->{at}, changes => $part{$_} } for keys %part;
	}
	return \%of;
}

1;
