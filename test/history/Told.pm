# Judges what the programs told those who called them, against what Judge.pm knows of the commits; and
# at the end, whether what was done was asked for by somebody.
package Judge;
use strict;
use warnings;
use List::Util qw(max min);

our ($LATE, $SEEN, @TIMES);

# told: one call of a program. Its answer is a list of objects, or one.
sub told
{
	my ($self, $call) = @_;
	my ($from, $to) = (micro($call->{from}), micro($call->{to}));
	my @answer = ref $call->{answer} eq 'ARRAY' ? @{$call->{answer}} : ($call->{answer} // ());
	my $user = defined $call->{user} ? $self->{users}{$call->{user}} : undef;

	if ($call->{call} eq 'fault') {
		push @{$self->{away}}, [ $from, $to // $from, $call->{nobody} // 1 ];
		return;
	}
	if ($call->{call} eq 'stop') {
		push @{$self->{stopped}{$call->{user}}}, [ $from, $to ];
		return;
	}
	$self->{count}{calls}++;
	if (!defined $call->{exit} || $call->{exit} =~ /^(?:5|6|129|130|143)$/
	    || $call->{call} eq 'any' || grep { is_doubt($_) } @answer) {
		# It may have been done or not, and if it was, the commit tells that it is whole.
		# Cron is nobody who asks or disposes of loans.
		my $whose = $call->{call} eq 'managetask' ? 'manager'
		    : defined $call->{user} ? $user : '?';
		push @{$self->{silent}{$whose}}, { from => $from, call => $call->{call},
		    task => $call->{task}, to => $to // 9e18 } if defined $whose;
	} elsif ($call->{call} =~ /^(?:getwork|disposition)$/ && $call->{exit} =~ /^[01]$/
	    && !@answer) {
		$self->broken('a call ended without an answer', task => $call->{task},
		    calls => [ $call ]);
	}
	$self->told_by_status($call, @answer);
	for my $o (grep { ref $_ eq 'HASH' } @answer) {
		if (defined $o->{result}) {
			$self->told_disposed($call, $o, $from, $to // 9e18);
		} elsif (exists $o->{status}) {
			$self->told_request($call, $o, $from, $to // 9e18);
		}
	}
	return if !defined $call->{exit} || !defined $user;
	$self->told_pipeline($call, $user, \@answer, $from, $to)
	    if $call->{call} eq 'checkwork' && $call->{exit} =~ /^[01]$/ && !defined $call->{of};
	$self->waited($call, $user, $from, $to) if $call->{call} eq 'getwork'
	    && $call->{exit} =~ /^[0-4]$/ && !$self->was_stopped($call, $from, $to);
}

# told_by_status: the exit status says whether there are loans, or whether all was done.
sub told_by_status
{
	my ($self, $call, @answer) = @_;
	my $said;

	return if ($call->{exit} // 5) !~ /^[0-4]$/ || grep { ref $_ ne 'HASH' } @answer;
	if ($call->{call} eq 'getwork' && @answer == 1 && defined $answer[0]{status}) {
		$said = { served => 0, partial => 0, empty => 1 }->{$answer[0]{status}} // 3;
	} elsif ($call->{call} eq 'disposition' && grep { defined $_->{result} } @answer) {
		$said = (grep { $_->{result} !~ /^(?:done|already)$/ } @answer) ? 3 : 0;
	} else {
		return;
	}
	$self->broken('a call ended with another status than its answer has', calls => [ $call ],
	    task => $call->{task}, detail => "exit status $call->{exit}")
	    if min($call->{exit}, 3) != $said;
}

# was_stopped: whether the process of the call may have stood still in it.
sub was_stopped
{
	my ($self, $call, $from, $to) = @_;
	return grep { $_->[0] <= $to && $from <= $_->[1] } @{$self->{stopped}{$call->{user}} // []};
}

# is_doubt: whether the answer says that there may be a request, of which it knows nothing.
sub is_doubt
{
	my ($o) = @_;
	return ref $o eq 'HASH' && !$o->{request_id}
	    && ($o->{error} // '') =~ /request may still be pending/;
}

sub told_request
{
	my ($self, $call, $o, $from, $to) = @_;
	my %where = (task => $o->{task}, request => $o->{request_id}, calls => [ $call ]);
	my $r = defined $o->{uuid} ? $self->{uuid}{$o->{uuid}} : undef;

	# It asked for it, but could not read what became of it.
	$r->{told} = 1 if $r && $r->{id} == ($o->{request_id} // 0);
	return if $o->{status} eq 'unknown' || !$self->judges($o->{task} || $call->{task} || 0);
	return if is_doubt($o);
	if (!$o->{request_id}) {
		# One that is cancelled from its INSERT on only keeps a lost INSERT from coming late.
		$self->broken('a request is there that was told not to be', %where)
		    if $r && !$r->{bars} && ($call->{exit} // 5) =~ /^[0-4]$/;
		$self->broken('an answer was told without a request', %where,
		    detail => "told $o->{status}")
		    if $call->{call} eq 'getwork' && (@{$o->{loans} // []}
			|| ($call->{exit} // 5) =~ /^[01]$/ && $o->{status} !~ /^(?:refused|cancelled)$/);
		return;
	}
	if (!$r || $r->{id} != $o->{request_id}) {
		$self->broken('a request was told that is not there', %where)
		    if $o->{status} ne 'refused';
		return;
	}
	# A call that could not read the answer does not name the user in it.
	$self->broken('a request was told to somebody else', %where,
	    detail => 'told ' . ($o->{user} // $call->{user}))
	    if $call->{call} eq 'getwork' && ($r->{user} != ($self->{users}{$call->{user}} // 0)
		|| defined $o->{user} && $r->{user} != ($self->{users}{$o->{user}} // 0)
		|| $r->{task} != ($call->{task} // $o->{task}) || $r->{task} != $o->{task});
	delete $self->{passed}{$r->{id}} if $o->{retries};
	# A request that is pending at the end of the call may end later. A process that was stopped
	# tells what it knew before.
	my $stopped = $self->was_stopped($call, $from, $to);
	my $then = ($call->{exit} // 5) =~ /^[0-4]$/ && !$stopped ? $to : $from;
	my $is = $o->{status} eq 'pending'
	    && (!$r->{ended} || $self->settled($r->{ended}{at}) + $SEEN > $then)
	    ? 'pending' : $r->{outcome};
	$self->broken('a request was told to stand otherwise than it does', %where,
	    detail => "told $o->{status}, and it is $r->{outcome}") if $o->{status} ne $is;
	for my $number (grep { defined $o->{$_} && $is ne 'pending' }
	    qw(asked requested assigned epoch)) {
		$self->broken('a request was told to stand otherwise than it does', %where,
		    detail => "told $number $o->{$number}, and it is " . ($r->{$number} // 'none'))
		    if $o->{$number} != ($r->{$number} // 0);
	}
	my %told = map { $_->{loan_id} => $_ } @{$o->{loans} // []};
	$self->broken('a request was told with one loan twice', %where)
	    if keys %told != @{$o->{loans} // []};
	for my $loan (sort keys %told) {
		my $given = $r->{loans}{$loan};
		my $lease = told_time($told{$loan}{lease_expires_at});
		$self->broken('a loan was told that was not given', %where, loan => $loan)
		    unless $given && $given->{token} == $told{$loan}{token}
		    && ($given->{lease} // '') eq ($lease // '');
	}
	return if $o->{status} !~ /^(?:served|partial|empty)$/ || !$r->{ended};
	for my $loan (sort grep { !$told{$_} } keys %{$r->{loans}}) {
		$self->broken('a loan was given that was not told', %where, loan => $loan,
		    commits => [ $r->{ended} ]);
	}
	$self->broken('a request was told before its commit', %where, commits => [ $r->{ended} ])
	    if $r->{ended}{at} > $to;
	if ($call->{call} eq 'getwork' && !$stopped) {
		$self->broken('a request was told long after its commit', %where,
		    commits => [ $r->{ended} ])
		    if $self->takes_long(max($from, $r->{ended}{at}), $to);
		$self->broken('a request was made long after its call began', %where,
		    commits => [ $r->{made} ]) if $self->takes_long($from, $r->{made}{at});
	}
	$self->broken('a request was told that had ended before the call', %where,
	    commits => [ $r->{ended} ])
	    if $r->{ended}{at} < $from && !$o->{repeated} && $call->{call} eq 'getwork'
	    && !$self->{behind};
}

# takes_long: whether that is longer than the bound, without the time of faults.
sub takes_long
{
	my ($self, $from, $to) = @_;
	return $to - $from - $self->away_in($from, $to) > $self->{bound};
}

# told_time: "2026-11-26T06:59:10.568758Z" as the tables have it.
sub told_time
{
	my ($text) = @_;
	return undef unless defined $text;
	$text =~ tr/T/ /;
	$text =~ s/Z\z//;
	return $text;
}

my %EVENT = (assigned => 'renewed');

sub told_disposed
{
	my ($self, $call, $o, $from, $to) = @_;
	my $manager = $call->{call} eq 'managetask';
	my %where = (task => $o->{task}, loan => $o->{loan_id}, calls => [ $call ],
	    detail => "told $o->{result}, $o->{state}");

	return if $o->{result} ne 'done' || !$self->judges($o->{task});
	if ($manager) {
		my $since = $self->{since}{"$o->{task} $o->{loan_id} $o->{token}"};
		my $rows = $self->{dispositions}{"$o->{task} $o->{loan_id} $o->{token} returned"}
		    // [];
		$self->broken('a correction was told that was not made', %where)
		    unless $o->{state} eq 'assigned' ? defined $since && $since <= $to
		    : grep { defined $_->{manager} && $_->{at} >= $from && $_->{at} <= $to } @$rows;
		push @{$self->{corrected}{"$o->{task} $o->{loan_id}"}}, { from => $from, to => $to };
		return;
	}
	my $event = $EVENT{$o->{state}} // $o->{state};
	my $rows = $self->{dispositions}{"$o->{task} $o->{loan_id} $o->{token} $event"} // [];
	my $user = $self->{users}{$call->{user}} // 0;
	my ($mine) = grep { $_->{user} == $user && !defined $_->{manager} && $_->{at} <= $to
		&& ($o->{repeated} || $_->{at} >= $from && !$_->{told}) } @$rows;
	return $self->broken('a disposition was told that was not made', %where) unless $mine;
	$mine->{told} = 1;
	# Who completes a loan late is told when its lease has ended.
	$self->broken('a disposition was told with other times than it has', %where)
	    if grep { exists $o->{$_} && (told_time($o->{$_}) // '') ne ($mine->{$_} // '')
		&& !($o->{late} && $_ eq 'lease_expires_at') } @TIMES;
	$self->broken('a loan was returned for another time than was said', %where,
	    detail => "said $call->{return_after} s, and it is available at $mine->{available_at}")
	    if defined $call->{return_after} && $event eq 'returned' && !$o->{repeated}
	    && micro_of($mine->{available_at}) != $mine->{made} + $call->{return_after} * 1e6;
}

# told_pipeline: each loan that it shows was the user's at some moment of the call, and each loan
# that was the user's all the time is shown. A commit is seen a little later than it is logged.
sub told_pipeline
{
	my ($self, $call, $user, $answer, $from, $to) = @_;
	my $mine = $self->pipeline_of($user);
	my (%shown, @longer);

	for my $o (grep { ref $_ eq 'HASH' && defined $_->{loan_id} && $self->judges($_->{task}) }
	    @$answer) {
		my $h = $mine->{all}{"$o->{task} $o->{loan_id} $o->{token}"};
		$shown{"$o->{task} $o->{loan_id} $o->{token}"} = 1;
		$self->broken('a loan was shown to somebody who did not have it',
		    task => $o->{task}, loan => $o->{loan_id}, calls => [ $call ])
		    unless $h && $h->{since} <= $to
		    && $self->settled($h->{until} // 9e18) + $SEEN >= $from;
	}
	# The times of commits are in their order but for those that have hung.
	for my $h (reverse @{$mine->{ended}}) {
		last if $h->{until} + $LATE <= $to;
		push @longer, $h if $h->{until} > $to;
	}
	for my $h (sort { $a->{key} cmp $b->{key} } values %{$mine->{open}}, @longer) {
		$self->broken('a loan was not shown to its user', task => $h->{task},
		    loan => $h->{loan}, calls => [ $call ])
		    if !$shown{$h->{key}} && $self->settled($h->{since}) + $SEEN < $from
		    && (!defined $call->{task} || $call->{task} == $h->{task});
	}
}

# settled: when all that was to happen by then has happened. In a fault of the server a COMMIT may
# hang, and what it has made shows when that is over.
sub settled
{
	my ($self, $at) = @_;

	for my $away (sort { $a->[0] <=> $b->[0] } @{$self->{away}}) {
		$at = $away->[1] if $away->[0] <= $at && $at < $away->[1];
	}
	return $at;
}

# waited: nobody waits for an answer on which no process works. It looks for a time of the call in
# which its request was pending and no round was on the way; of that, the time of faults in which
# nobody can be asked to get on does not count.
sub waited
{
	my ($self, $call, $user, $from, $to) = @_;

	return if !defined $call->{task} || $call->{no_wait} || !$self->judges($call->{task});
	# A user has one pending request of a task, so they have ended in their order.
	for my $r (reverse @{$self->{line}{"$user $call->{task}"} // []}) {
		last if $r->{ended} && $r->{ended}{at} + $LATE < $from;
		my $since = $r->{made}{at} > $from ? $r->{made}{at} : $from;
		my $until = $r->{ended} && $r->{ended}{at} < $to ? $r->{ended}{at} : $to;
		next unless $self->takes_long($since, $until);
		$self->{count}{waits}++;
		my $idle = 0;
		for my $busy (sort { $a->[0] <=> $b->[0] }
		    @{$self->{rounds}{$call->{task}} // []}, $self->silent_in($call->{task}),
		    [ $until, $until ]) {
			next if $busy->[1] < $since;
			my $end = $busy->[0] < $until ? $busy->[0] : $until;
			$idle = $end - $since - $self->away_in($since, $end) if $end > $since;
			last if $idle > $self->{bound} || $busy->[1] >= $until;
			$since = $busy->[1] if $busy->[1] > $since;
		}
		$self->broken('somebody waited while nobody led', task => $call->{task},
		    request => $r->{id}, calls => [ $call ], commits => [ $r->{made} ],
		    detail => sprintf 'for %.1f s', $idle / 1e6)
		    if $idle > $self->{bound};
	}
}

# silent_in: when calls may have led this task that told nothing. Of a leader who is killed there is no
# round.
sub silent_in
{
	my ($self, $task) = @_;
	return map { [ @$_{qw(from to)} ] } grep { $_->{call} =~ /^(?:getwork|any)$/
		&& (!defined $_->{task} || $_->{task} == $task) }
	    map { @$_ } values %{$self->{silent}};
}

# away_in: how much of that time was within faults in which nobody is served. Others are shorter than
# the bound.
sub away_in
{
	my ($self, $from, $to) = @_;
	my ($sum, $at) = (0, $from);

	for my $away (sort { $a->[0] <=> $b->[0] } @{$self->{away}}) {
		my $begin = $away->[0] > $at ? $away->[0] : $at;
		my $end = $away->[1] < $to ? $away->[1] : $to;
		next if $end <= $begin || !$away->[2];
		$sum += $end - $begin;
		$at = $end;
	}
	return $sum;
}

# --- the end -------------------------------------------------------------------------------------

# finish: what was done must have been asked for, by a call that told so or could not tell. A call
# makes one request, and disposes of loans in one commit. A row that is cancelled from the beginning
# only takes a UUID: its call was refused, and an INSERT of it may still have been on its way.
sub finish
{
	my ($self) = @_;

	# What a fault has made of it shows only now, since a fault may be told later than the call.
	$_->{to} = $self->settled($_->{to}) + $LATE for map { @$_ } values %{$self->{silent}};
	for my $long (@{$self->{waited_long}}) {
		my ($from, $to) = @$long{qw(at until)};
		$self->broken('a change tells another time than its commit', %{$long->{where}})
		    if $to - $from - $self->away_in($from, $to) > $self->{bound} + $LATE;
	}
	for my $id (sort { $a <=> $b } keys %{$self->{passed}}) {
		my $p = $self->{passed}{$id};
		# In a fault somebody may have held the request.
		next if $self->settled($p->{at}) > $p->{at};
		$self->broken('a request was served before an older one', request => $p->{by},
		    task => $self->{requests}{$id}{task}, commits => [ $p->{commit} ],
		    detail => sprintf "request %d asked before, at %s, and was left by who led "
			. "from %s to %s", $id, time_text($self->{requests}{$id}{made}{at}),
			time_text($p->{began}), time_text($p->{at}));
	}
	return unless $self->{count}{calls};
	for my $r (sort { $a->{made}{at} <=> $b->{made}{at} } values %{$self->{requests}}) {
		$self->broken('a request was made that nobody asked for', task => $r->{task},
		    request => $r->{id}, user => $self->name_of($r->{user}),
		    commits => [ $r->{made} ])
		    unless $r->{told} || $r->{bars}
		    || ($r->{by_manager} ? $self->was_corrected($r->{made}, map { "$r->{task} $_" }
			keys %{$r->{loans}})
		    : $self->may_be('request', $r->{user}, $r->{task}, $r->{made}{at}, $r->{id}));
	}
	for my $e (sort { $a->{at} <=> $b->{at} || $a->{loan} <=> $b->{loan} }
	    map { @$_ } values %{$self->{dispositions}}) {
		$self->broken('a loan was disposed of though nobody said so', task => $e->{task},
		    loan => $e->{loan}, user => $self->name_of($e->{user}), commits => [ $e ])
		    unless $e->{told}
		    || (defined $e->{manager} ? $self->was_corrected($e, "$e->{task} $e->{loan}")
		    : $self->may_be('disposition', $e->{user}, $e->{task}, $e->{at}, $e->{gtid}));
	}
}

# was_corrected: whether a manager has told so of one of these loans, or may have done this commit.
# What is told of one loan is one commit.
sub was_corrected
{
	my ($self, $commit, @loans) = @_;
	my ($one) = grep { $_->{from} <= $commit->{at} && $commit->{at} <= $_->{to}
		&& ($_->{commit} // $commit->{gtid}) eq $commit->{gtid} }
	    map { @{$self->{corrected}{$_} // []} } @loans;

	$one->{commit} = $commit->{gtid} if $one;
	return $one || $self->may_be('disposition', 'manager', undef, $commit->{at},
	    $commit->{gtid});
}

# may_be: whether a call of the user that told nothing may have done this then, in this task: a
# request, or a disposition. It has done one of each at most, so of those calls the first to end is
# taken.
sub may_be
{
	my ($self, $kind, $user, $task, $at, $what) = @_;
	my %may = (request => 'getwork any', disposition => 'disposition managetask any');
	my @may = sort { $a->{to} <=> $b->{to} }
	    grep { $_->{from} <= $at && $at <= $_->{to} && ($_->{$kind} // $what) eq $what
		&& " $may{$kind} " =~ / $_->{call} /
		&& (!defined $task || !defined $_->{task} || $_->{task} == $task) }
	    @{$self->{silent}{$user} // []}, @{$self->{silent}{'?'} // []};

	return 0 unless @may;
	my ($known) = grep { defined $_->{$kind} } @may;
	($known // $may[0])->{$kind} = $what;
	return 1;
}

1;
