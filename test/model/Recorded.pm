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

# What a leader's transaction did.
sub committed
{
	my ($run, $leads, @changes) = @_;
	my $how = { 'query' => 'query', 'query on the lock connection' => 'query',
	    'hand-over' => 'hand-over', 'failed' => 'failed' }->{$leads->{row}{how}}
	    or return strange('not in the model', $leads);
	my (@ends, %loan, @logged);

	$run->{retried}{$leads->{row}{user}} = 1 if $leads->{row}{retries} > 0;

	for my $change (@changes) {
		my ($table, $row) = @$change{qw(table row)};
		if ($table eq 'work_requested') {
			push @ends, [ $run->{number}{$row->{request_id}}, $row->{outcome} ];
		} elsif ($table eq 'work') {
			$loan{$row->{loan_id}} = given($run, $row);
		} elsif ($table eq 'work_log' && $row->{event} eq 'assigned') {
			push @logged, "$row->{loan_id} " . given($run, $row);
		} elsif ($table eq 'task_lock') {
			return strange('an epoch of its own', $change)
			    if $row->{epoch} != $leads->{row}{epoch};
		} elsif ($table ne 'work_log' && $table ne 'leader_run') {
			return strange('in a round', $change);
		}
	}
	return strange('work and work_log differ', $leads)
	    if join(',', sort @logged) ne join ',', sort map { "$_ $loan{$_}" } keys %loan;
	return join ' ', 'committed', $run->{requester}{$leads->{row}{user}},
	    "epoch=$leads->{row}{epoch}", "how=$how",
	    (map { "$_->[0]=$_->[1]" } sort { $a->[0] <=> $b->[0] } @ends),
	    map { "loan$_=$loan{$_}" } sort keys %loan;
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

my %OF = (work_requested => \&of_request, work => \&of_loan, task => \&of_task,
    work_log => sub { '' }, task_lock => sub { strange('without a round', $_[1]) });

# lines_of RUN, CHANGES: of one transaction in the run's task.
sub lines_of
{
	my ($run, @changes) = @_;
	my ($leads) = grep { $_->{table} eq 'leader_run' } @changes;

	return committed($run, $leads, @changes) if $leads;
	return grep { $_ ne '' } map { $OF{$_->{table}}($run, $_) } @changes;
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

# What the run was like.
sub head
{
	my ($run) = @_;
	my $plan = $run->{plan};
	my @lines = ("# seed $plan->{seed}, task $run->{task}",
	    join(' ', 'loans', 1 .. $plan->{loans}),
	    $plan->{lease} ? 'lease 2' : (), $plan->{stuck} ? 'stuck' : ());

	for my $call (sort { $run->{requester}{$a->{user}} <=> $run->{requester}{$b->{user}} }
	    grep { defined $run->{requester}{$_->{user}} } @{$run->{calls}}) {
		push @lines, join ' ', 'requester', $run->{requester}{$call->{user}},
		    "count=$call->{count}", "waits=$call->{waits}",
		    $call->{signal} != 0 ? 'killed' : (), $call->{lost} ? 'lost' : (),
		    $call->{signalled} ? 'signalled' : (), $call->{disposal} ? 'disposes' : (),
		    $run->{retried}{$call->{user}} && !$call->{lost} ? 'retried' : ();
	}
	return @lines;
}

# Requesters are numbered in the order of their requests.
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
}

# trace RUN, USERS, TRANSACTIONS: the lines, of the transactions with their changes to the run's
# task, in the order of the commits.
sub trace
{
	my ($run, $users, @transactions) = @_;
	my (@lines, @ends);

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
