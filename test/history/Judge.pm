# Judges a history: what was committed, in the order of the commits (Binlog.pm), and what the
# programs told those who called them. Promise.pm says what is promised of one loan. Here stands
# what is promised of a commit, a request and a leader, and in Told.pm what is promised of an answer.
#
# A history comes in pieces: commits() takes what was committed, told() what calls told, and a call
# is told after everything that it committed. finish() judges what only the end shows. The history
# begins with the row of each task that is judged.
package Judge;
use strict;
use warnings;
use List::Util qw(max min);
use Time::Local qw(timegm);
use Promise;
use Told;

# What it reads of the history.
our @TABLES = qw(task task_lock app_user work_requested work work_log leader_run manage_log);
my %TABLES = map { $_ => 1 } @TABLES;

# A client that is killed may have sent what the server executes later, and a reader may begin just
# before a commit is seen. Microseconds.
our ($LATE, $SEEN) = (30_000_000, 2_000_000);
# How long a statement of its owner may hold a request, so that a leader passes it over.
my $HELD = 1_000_000;
# The time of a commit is that of another clock than the times in rows.
my $CLOCK = 1_000;
# So many of a user's last requests for a task a stream remembers for the calls that are told later.
my $KEPT = 1000;
our @TIMES = qw(available_at lease_expires_at excluded_until);
my %ENDS = map { $_ => 1 } qw(completed returned never renewed);

# promises: what can be broken. Those that are not of one loan stand in this file and in Told.pm alone.
sub promises
{
	my %seen;

	for my $file (__FILE__, $INC{'Told.pm'}) {
		open my $in, '<', $file or die "$file: $!\n";
		$seen{$_}++ for do { local $/; <$in> } =~ /->broken\('([^']+)'/g;
	}
	$seen{$_->[1]}++ for @Promise::PROMISES;
	return sort keys %seen;
}

# new: bound is how many microseconds a request may be pending while nobody leads and its owner
# waits; tasks are those that are judged, all where it is left out; say is called for each
# violation; behind: a server that answers may not know of the last commits yet; stream: each call
# is told within ten minutes of its commits.
sub new
{
	my ($class, %o) = @_;
	return bless { bound => $o{bound}, say => $o{say}, behind => $o{behind}, stream => $o{stream},
	    tasks => $o{tasks} && { map { $_ => 1 } @{$o{tasks}} },
	    count => { commits => 0, calls => 0, waits => 0, violations => 0 }, now => 0,
	    users => {}, task => {}, loans => {}, requests => {}, line => {}, runs => {},
	    epoch => {},
	    rounds => {}, removed => {}, passed => {}, dispositions => {}, uuid => {}, held => {},
	    silent => {}, away => [] }, $class;
}

# broken: WHAT is the promise. The others say where: task, loan, request, commits, calls, detail.
sub broken
{
	my ($self, $what, %where) = @_;
	my @line;

	for my $word (qw(task loan request user)) {
		push @line, "$word $where{$word}" if defined $where{$word};
	}
	for my $commit (grep { defined } @{$where{commits} // []}) {
		push @line, 'commit ' . (ref $commit ? $commit->{gtid} : $commit);
	}
	push @line, map { told_as($_) } grep { defined } @{$where{calls} // []};
	push @line, $where{detail} if defined $where{detail};
	$self->{count}{violations}++;
	$self->{say}->(join ', ', $what, @line);
}

sub told_as
{
	my ($call) = @_;
	return sprintf '%s of %s from %s to %s', $call->{call}, $call->{user} // '?', $call->{from},
	    $call->{to} // 'unknown';
}

sub micro { my ($seconds) = @_; return defined $seconds ? int($seconds * 1e6 + 0.5) : undef }

# micro_of: the microseconds since 1970 of a DATETIME(6).
my %day;
sub micro_of
{
	my ($text) = @_;
	my $date = substr $text, 0, 10;
	$day{$date} //= timegm(0, 0, 0, (split /-/, $date)[2], (split /-/, $date)[1] - 1,
	    (split /-/, $date)[0]);
	my ($h, $m, $s) = split /:/, substr($text, 11);
	return int(($day{$date} + $h * 3600 + $m * 60 + $s) * 1e6 + 0.5);
}

# time_text: the other way round.
sub time_text
{
	my ($micro) = @_;
	my @t = gmtime($micro / 1e6);
	return sprintf '%04d-%02d-%02d %02d:%02d:%02d.%06d', $t[5] + 1900, $t[4] + 1, @t[3, 2, 1, 0],
	    $micro % 1_000_000;
}

sub judges { my ($self, $task) = @_; return !$self->{tasks} || $self->{tasks}{$task} }

sub person { my ($self, $id, $name) = @_; $self->{users}{$name} = $id }

# --- one commit ----------------------------------------------------------------------------------

sub commit
{
	my ($self, $t) = @_;
	my (%by, %log);

	$self->{now} = $t->{at};
	for my $change (@{$t->{changes}}) {
		my $row = $change->{row} // $change->{was};
		next if defined $row->{task_id} && !$self->judges($row->{task_id})
		    || !$TABLES{$change->{table}};
		push @{$by{$change->{table}}}, $change;
	}
	return unless %by;
	$self->{count}{commits}++;
	for my $change (@{$by{app_user} // []}) {
		$self->person($change->{row}{user_id}, $change->{row}{name}) if $change->{row};
	}
	$self->see_task($t, $_) for @{$by{task} // []};
	for my $m (map { $_->{row} // () } @{$by{manage_log} // []}) {
		$self->{removed}{$m->{task_id}} = 1 if $m->{action} eq 'task removal begun';
	}
	my @ended = map { $self->request($t, $_) } @{$by{work_requested} // []};
	$self->leaders($t, \%by, \@ended);
	$self->loans($t, \%by);
	$self->given($t, \%by, \@ended);
	$self->in_order($t, \%by, \@ended);
}

# see_task: the settings of a task, and when it was paused: nobody leads it then.
sub see_task
{
	my ($self, $t, $change) = @_;
	my $id = ($change->{row} // $change->{was})->{task_id};
	my $paused = ($self->{task}{$id} // {})->{paused};

	if (defined $change->{row}{paused} && !defined $paused) {
		$self->{task}{$id}{since} = $t->{at};
	} elsif (defined $paused && !defined $change->{row}{paused}) {
		my $pause = [ $self->{task}{$id}{since}, $t->{at} ];
		push @{$self->{rounds}{$id}}, $pause;
		push @{$self->{pauses}{$id}}, $pause;
	}
	$self->{task}{$id} = { %{$change->{row} // {}}, changed => $t->{at},
	    since => ($self->{task}{$id} // {})->{since} };
	delete $self->{removed}{$id} if $change->{do} eq 'insert';
}

# --- requests ------------------------------------------------------------------------------------

# request: returns the request if this commit ends it.
sub request
{
	my ($self, $t, $change) = @_;
	my ($was, $row) = @$change{qw(was row)};
	my $id = ($row // $was)->{request_id};
	my $r = $self->{requests}{$id};
	my %where = (task => ($row // $was)->{task_id}, request => $id);

	if (!$row) {
		$self->broken('a request is gone before it has ended', %where, commits => [ $t ])
		    if $was->{outcome} eq 'pending';
		return;
	}
	if ($change->{do} eq 'insert') {
		my $line = $self->{line}{"$row->{user_id} $row->{task_id}"} //= [];
		my ($other) = grep { !defined $_->{ended} } @$line;

		$self->broken('two requests of one user are pending', %where,
		    commits => [ $other->{made}, $t ]) if $other && $row->{outcome} eq 'pending';
		$r = $self->{requests}{$id} = { id => $id, loans => {},
		    made => { gtid => $t->{gtid}, at => $t->{at}, seen => seen($t) },
		    by_manager => $row->{outcome} eq 'served' && !defined $row->{epoch},
		    bars => $row->{outcome} eq 'cancelled' };
		push @$line, $r;
		shift @$line if $self->{stream} && @$line > $KEPT;
		$self->{uuid}{$row->{uuid}} = $r;
	} elsif (!$r) {
		$self->broken('a request was changed that nobody has made', %where,
		    commits => [ $t ]);
		return;
	} elsif (defined $r->{ended}) {
		$self->broken('a request ended twice', %where, commits => [ $r->{ended}, $t ])
		    if grep { ($row->{$_} // '') ne ($was->{$_} // '') }
		    qw(outcome assigned requested epoch served_at source);
		return;
	}
	$self->broken('a request asks for something else than it did', %where,
	    commits => [ $r->{made}, $t ])
	    if $was && grep { ($row->{$_} // '') ne ($was->{$_} // '') }
	    qw(uuid user_id task_id asked);
	my $task = $self->{task}{$row->{task_id}} // {};
	$self->broken('a request has expired though somebody waited for it', %where,
	    commits => [ $t ])
	    if $row->{outcome} eq 'expired' && defined $task->{request_ttl}
	    && ($task->{changed} // 9e18) + $SEEN <= $t->{at}
	    && micro_of($was->{seen_at}) + $task->{request_ttl} * 1e6 > $t->{at} + $CLOCK;
	@$r{qw(task user asked requested outcome assigned epoch source checked)} =
	    @$row{qw(task_id user_id asked requested outcome assigned epoch source checked)};
	# Where it got less because of the user, and not because there was no more.
	$r->{special} = $row->{excluded} || defined $row->{fresh_after} || defined $row->{reason};
	$r->{seen} = seen($t);
	# Its owner has had it then: it says so, or it is over. In a task with a list, the owner may
	# also have looked there.
	delete $self->{passed}{$id}
	    if $self->{passed}{$id} && $t->{at} < $self->{passed}{$id}{until}
	    && ($row->{outcome} =~ /^(?:pending|cancelled)$/ || $task->{cache_ttl});
	my ($asked, $requested, $assigned) = @$row{qw(asked requested assigned)};
	my $right = {
		pending => !$assigned && $requested == $asked,
		served => $assigned == $asked && $requested == $asked,
		partial => $assigned > 0 && $assigned < $asked && $requested == $assigned,
	}->{$row->{outcome}} // (!$assigned && !$requested);
	$self->broken('the numbers of a request do not tell how it stands', %where,
	    commits => [ $t ], detail =>
	    "$row->{outcome}, asked $asked, requested $requested, assigned $assigned")
	    unless $right;
	$self->{pending}{$r->{task}}{$id} = $r;
	return if $row->{outcome} eq 'pending';
	delete $self->{pending}{$r->{task}}{$id};
	$r->{ended} = { gtid => $t->{gtid}, at => $t->{at} };
	return $r;
}

# given: a request and its loans are one commit.
sub given
{
	my ($self, $t, $by, $ended) = @_;
	my %loans;

	for my $e (map { $_->{row} // () } grep { $_->{do} eq 'insert' } @{$by->{work_log} // []}) {
		next if $e->{event} ne 'assigned';
		my $r = $self->{requests}{$e->{request_id}};
		$loans{$e->{request_id}}++;
		$self->broken('a loan was given to nobody who asked for it', task => $e->{task_id},
		    loan => $e->{loan_id}, request => $e->{request_id}, commits => [ $t ])
		    unless $r && $r->{ended} && $r->{ended}{gtid} eq $t->{gtid}
		    && $r->{user} == $e->{user_id} && $r->{task} == $e->{task_id};
		$self->broken('a loan has a token below the epoch of who gave it',
		    task => $e->{task_id}, loan => $e->{loan_id}, request => $e->{request_id},
		    commits => [ $t ], detail => "token $e->{token}, epoch $r->{epoch}")
		    if $r && $e->{token} < ($r->{epoch} // 0);
		$r->{loans}{$e->{loan_id}} = { token => $e->{token},
		    lease => $e->{lease_expires_at} } if $r;
		$self->broken('a request was ended by somebody who did not lead',
		    task => $e->{task_id}, request => $e->{request_id}, commits => [ $t ])
		    if $r && $r->{by_manager} && !defined $e->{manager};
	}
	for my $r (@$ended) {
		my $n = $loans{$r->{id}} // 0;
		$self->broken('a request says another number of loans than it was given',
		    task => $r->{task}, request => $r->{id}, commits => [ $t ],
		    detail => "it says $r->{assigned}, of $n")
		    if $n != $r->{assigned};
	}
}

# --- leaders -------------------------------------------------------------------------------------

sub leaders
{
	my ($self, $t, $by, $ended) = @_;
	my %raised;

	@$self{qw(found began)} = ({}, {});
	for my $change (grep { $_->{row} } @{$by->{task_lock} // []}) {
		my ($was, $row) = @$change{qw(was row)};
		my $task = $row->{task_id};
		my $known = $self->{epoch}{$task};

		$raised{$task} = $row->{epoch} if $was && $was->{epoch} != $row->{epoch};
		$self->broken('an epoch is not the one after the last', task => $task,
		    commits => [ $self->{raised_by}{$task}, $t ],
		    detail => 'after ' . ($known // $was->{epoch}) . " comes $row->{epoch}")
		    if $was ? $was->{epoch} != ($known // $was->{epoch})
			|| $row->{epoch} - $was->{epoch} != 0
			    && $row->{epoch} - $was->{epoch} != 1
		    : $row->{epoch} < ($known // 0);
		$self->{epoch}{$task} = $row->{epoch};
		$self->{holder}{$task} = $row->{holder};
	}
	for my $task (keys %raised) {
		$self->{raised_by}{$task} = $t->{gtid};
		my @runs = grep { $_->{do} eq 'insert' && $_->{row}{task_id} == $task }
		    @{$by->{leader_run} // []};
		$self->broken('an epoch has not the one leader who raised it', task => $task,
		    commits => [ $t ], detail => "epoch $raised{$task}")
		    unless @runs == 1 && $runs[0]{row}{epoch} == $raised{$task};
		$self->broken('somebody leads after the commit', task => $task, commits => [ $t ],
		    detail => $self->{holder}{$task}) if defined $self->{holder}{$task};
	}
	my @runs = map { $_->{row} } grep { $_->{do} eq 'insert' } @{$by->{leader_run} // []};
	for my $r (grep { is_led($_) } @$ended) {
		$self->broken('a request was ended by somebody who did not lead', task => $r->{task},
		    request => $r->{id}, commits => [ $t ])
		    unless grep { $_->{task_id} == $r->{task} } @runs;
	}
	for my $r (grep { $_->{outcome} eq 'failed' } @$ended) {
		$self->broken('a request has failed where no query did', task => $r->{task},
		    request => $r->{id}, commits => [ $t ])
		    unless grep { $_->{task_id} == $r->{task} && $_->{how} eq 'failed' } @runs;
	}
	for my $run (@runs) {
		my $task = $run->{task_id};
		my %mine = (task => $task, commits => [ $t ], detail => "epoch $run->{epoch}");
		my @mine = grep { $_->{task} == $task } @$ended;
		my $loans = grep { $_->{do} eq 'insert' && $_->{row}{event} eq 'assigned'
			&& $_->{row}{task_id} == $task } @{$by->{work_log} // []};

		$self->broken('an epoch has not the one leader who raised it', %mine)
		    if !defined $raised{$task};
		$self->broken('a leader says other numbers than it gave', %mine,
		    detail => "epoch $run->{epoch}: it says $run->{requests} requests, "
		    . "$run->{loans} loans, and ended " . @mine . " and gave $loans")
		    if $run->{requests} != @mine || $run->{loans} != $loans;
		for my $r (grep { is_led($_) } @mine) {
			$self->broken('a request does not name its leader', %mine,
			    request => $r->{id})
			    if ($r->{epoch} // 0) != $run->{epoch};
			$self->broken('no work was said by a leader who has not looked', %mine,
			    request => $r->{id})
			    if $r->{outcome} eq 'empty'
			    && $run->{how} !~ /^(?:query|crowded|elsewhere)$/;
			$self->broken('no work was said while the query had found some', %mine,
			    request => $r->{id})
			    if $r->{outcome} eq 'empty' && !$r->{special}
			    && !$self->limits($task)
			    && $run->{candidates} > $run->{dropped} + $run->{loans};
		}
		my $began = micro_of($run->{started_at});
		$self->broken('somebody began to lead while the task was paused', %mine)
		    if $self->is_paused($task, $began);
		$self->broken('two led at the same time', %mine)
		    if $began < ($self->{led_until}{$task} // 0) - $CLOCK;
		$self->{led_until}{$task} = $t->{at};
		$self->{runs}{$task}{$run->{epoch}} = $run->{as_of};
		# A hand-over has the list of the query before it.
		$self->{query_end}{$task} = { as_of => $run->{as_of},
		    at => time_text(micro_of($run->{as_of}) + $run->{query_ms} * 1000 + $SEEN) }
		    if defined $run->{as_of} && defined $run->{query_ms};
		my $query = $self->{query_end}{$task} // {};
		$self->{found}{$task} = $query->{at}
		    if defined $run->{as_of} && $run->{as_of} eq ($query->{as_of} // '');
		# It has read the task before its query, and a hand-over has not read it again.
		$self->{began}{$task} = min($began,
		    defined $run->{as_of} ? micro_of($run->{as_of}) : $began);
		push @{$self->{rounds}{$task}}, [ $began, $t->{at} ];
	}
}

# limits: whether the task itself keeps loans from users.
sub limits
{
	my ($self, $task) = @_;
	return grep { defined } @{$self->{task}{$task} // {}}{qw(max_pipeline not_same_user_as
	    not_again)};
}

# is_paused: whether the task was paused then, and had been so for a while.
sub is_paused
{
	my ($self, $task, $at) = @_;
	my $now = $self->{task}{$task} // {};

	return grep { defined $_->[0] && $_->[0] + $SEEN < $at && $at < $_->[1] }
	    @{$self->{pauses}{$task} // []}, defined $now->{paused} ? [ $now->{since}, 9e18 ] : ();
}

# is_led: whether only who leads can end the request so. From a list others take, too, and a manager
# gives to whom he likes.
sub is_led
{
	my ($r) = @_;
	return $r->{outcome} =~ /^(?:served|partial|empty)$/ && !defined $r->{source}
	    && !$r->{by_manager};
}

# in_order: those whose request a leader could see before it began get their loans first.
sub in_order
{
	my ($self, $t, $by, $ended) = @_;

	for my $run (map { $_->{row} } grep { $_->{do} eq 'insert' } @{$by->{leader_run} // []}) {
		my $task = $self->{task}{$run->{task_id}} // {};
		my ($last) = sort { $b <=> $a } map { $_->{id} }
		    grep { $_->{task} == $run->{task_id} && $_->{assigned} } @$ended;
		my $began = micro_of($run->{started_at});

		next if !$last || ($task->{share} // 'order') ne 'order'
		    || $self->limits($run->{task_id});
		for my $r ($self->pending_of($run->{task_id}), @$ended) {
			next if $r->{id} >= $last || $r->{task} != $run->{task_id} || $r->{special}
			    || $r->{made}{seen} >= $began;
			if (!defined $r->{ended}) {
				$self->{passed}{$r->{id}} //= { by => $last, commit => $t->{gtid},
				    at => $t->{at}, until => $t->{at} + $HELD, began => $began }
				    if $r->{seen} < $began;
			} elsif ($r->{outcome} =~ /^(?:partial|empty)$/) {
				$self->broken('a request was served before an older one',
				    task => $r->{task},
				    request => $last, commits => [ $t ],
				    detail => "request $r->{id} asked before, and got less");
			}
		}
	}
}

# seen: when everybody could see the commit. A COMMIT that waits for a group is seen later than its
# time, and on each member at another moment.
sub seen
{
	my ($t) = @_;
	return !defined $t->{here} || $t->{here} == $t->{at} ? $t->{at} + $CLOCK
	    : max($t->{at}, $t->{here}) + $SEEN;
}

sub pending_of { my ($self, $task) = @_; return values %{$self->{pending}{$task} // {}} }

# --- loans ---------------------------------------------------------------------------------------

sub loans
{
	my ($self, $t, $by) = @_;
	my (%events, %rows);

	for my $change (@{$by->{work_log} // []}) {
		my ($was, $row) = @$change{qw(was row)};
		if ($change->{do} eq 'insert') {
			push @{$events{"$row->{task_id} $row->{loan_id}"}}, $row;
			next;
		}
		my $is = $self->{loans}{"$was->{task_id} $was->{loan_id}"};
		my %where = (task => $was->{task_id}, loan => $was->{loan_id}, commits => [ $t ]);
		if ($row) {
			# A person who is forgotten is taken out of the log.
			$self->broken('a row of the log was changed', %where)
			    if grep { !/^(?:account|manager)$/
			    && ($was->{$_} // '') ne ($row->{$_} // '') }
			    keys %$row;
		} elsif ($is && $was->{version} >= ($is->{version} // 0)
		    && $is->{state} ne 'none') {
			$self->broken('the last row of the log of a loan is gone', %where);
		}
	}
	for my $change (@{$by->{work} // []}) {
		my $row = $change->{row} // $change->{was};
		push @{$rows{"$row->{task_id} $row->{loan_id}"}}, $change;
	}
	for my $key (sort keys %{{ %events, %rows }}) {
		$self->loan($t, $key, $events{$key} // [], $rows{$key} // []);
	}
	$self->rules($t, $_) for grep { $_->{event} eq 'assigned' && !defined $_->{manager} }
	    map { @$_ } values %events;
	$self->times($t, $_) for map { @$_ } values %events;
}

# rules: what a task says of how much a user may have, how often, and who may not have it, and when
# nobody gets any. A manager may give more.
sub rules
{
	my ($self, $t, $e) = @_;
	my $task = $self->{task}{$e->{task_id}} // {};
	my %where = (task => $e->{task_id}, loan => $e->{loan_id}, request => $e->{request_id});
	my $at = micro_of($e->{at});

	# Who gives it may have read the task before it was changed.
	return if ($task->{changed} // 9e18) + $SEEN > ($self->{began}{$e->{task_id}} // $at);
	my $completed = $self->{completed}{"$e->{task_id} $e->{loan_id} $e->{user_id}"};
	my $has = grep { $_->{task} == $e->{task_id} && ($_->{lease} // '9') gt $e->{at} }
	    values %{$self->pipeline_of($e->{user_id})->{open}};

	$self->broken('a user was given more loans than the task allows', %where,
	    commits => [ $t ], detail => "$has of $task->{max_pipeline}")
	    if defined $task->{max_pipeline} && $has > $task->{max_pipeline};
	$self->broken('a loan was given again to somebody who has completed it', %where,
	    commits => [ $completed, $t ])
	    if defined $task->{not_again} && $completed
	    && $t->{at} < $completed->{at} + $task->{not_again} * 3600e6;
	my $other = $self->other_task($task->{not_same_user_as}, $e);
	$self->broken('a loan was given to somebody who has had it in the other task', %where,
	    commits => [ $other, $t ])
	    if defined $other && $other->{at} + $SEEN < $t->{at};
	my $r = $self->{requests}{$e->{request_id}} // {};
	return if ($r->{source} // '') ne 'list';
	$self->broken('a loan was taken while the task was paused', %where, commits => [ $t ])
	    if $self->is_paused($e->{task_id}, $at);
	my $as_of = $self->{runs}{$e->{task_id}}{$r->{epoch}};
	$self->broken('a list was used for longer than the task says', %where, commits => [ $t ])
	    if defined $as_of && $at > micro_of($as_of) + $task->{cache_ttl} * 1e6 + $SEEN;
	$self->broken('a list was used without a fresh look at the view', %where,
	    commits => [ $t ])
	    if !$task->{use_unchecked} && (!defined $r->{checked}
		|| abs($at - micro_of($r->{checked})) > $SEEN);
}

# other_task: the commit in which the user got the loan, or has completed it, in the task that
# not_same_user_as names. Where two tasks give a loan at the same moment, neither sees the other.
sub other_task
{
	my ($self, $other, $e) = @_;

	return undef unless defined $other;
	my $has = $self->{has}{"$other $e->{loan_id}"};
	return { gtid => $has->{gtid}, at => $has->{since} } if $has && $has->{user} == $e->{user_id};
	return $self->{completed}{"$other $e->{loan_id} $e->{user_id}"};
}

# times: a row tells the time of its commit, and from then on a lease, or the time in which nobody gets
# the loan again, lasts as long as the task says. A return lasts three days at most.
sub times
{
	my ($self, $t, $e) = @_;
	my $task = $self->{task}{$e->{task_id}} // {};
	my %where = (task => $e->{task_id}, loan => $e->{loan_id}, commits => [ $t ]);
	my $at = micro_of($e->{at});
	my ($lease, $away) = map { defined $_ ? int((micro_of($_) - $at) / 1e6 + 0.5) : 0 }
	    @$e{qw(lease_expires_at available_at)};
	my $read = $e->{event} eq 'assigned' ? $self->{began}{$e->{task_id}} // $at : $at;

	# A transaction may wait for rows that others hold, and its COMMIT where the disk is full.
	my %told = (%where, detail => "$e->{event} at $e->{at}");
	$self->broken('a change tells another time than its commit', %told)
	    if $at > $t->{at} + $CLOCK;
	push @{$self->{waited_long}}, { at => $at, until => $t->{at}, where => \%told }
	    if $at + $self->{bound} + $LATE < $t->{at};
	$self->broken('a loan is returned for more than 72 hours', %where, detail => "$away s")
	    if $e->{event} eq 'returned' && $away > 72 * 3600;
	return if ($task->{changed} // 9e18) + $SEEN > $read;
	$self->broken('a loan was given for another time than the task says', %where,
	    detail => "$lease s")
	    if $e->{event} =~ /^(?:assigned|renewed)$/ && !defined $e->{manager}
	    && $lease != 60 * ($task->{lease_minutes} // 0);
	$self->broken('a completed loan comes back at another time than the task says', %where,
	    detail => "after $away s")
	    if $e->{event} eq 'completed' && $away != ($task->{complete_hold} // 0);
}

# loan: one loan in one commit. The log says what happened, and the row of work must follow it.
sub loan
{
	my ($self, $t, $key, $events, $changes) = @_;
	my ($task, $loan) = split / /, $key;
	my $is = $self->{loans}{$key} // { state => 'none' };
	my %where = (task => $task, loan => $loan, commits => [ $is->{commit}, $t ]);
	my $was = $is;

	for my $e (sort { $a->{version} <=> $b->{version}
	    || $a->{log_id} <=> $b->{log_id} } @$events) {
		my $r = $self->{requests}{$e->{request_id}};
		if ($e->{event} eq 'assigned' && $r && ($r->{source} // '') eq 'list') {
			my $as_of = $self->{runs}{$task}{$r->{epoch}};
			$self->broken('a list was used that no leader has made', %where,
			    request => $r->{id}) unless defined $as_of;
			$e->{from} = { as_of => $as_of // '', checked => $r->{checked} };
		} elsif ($e->{event} eq 'assigned' && !defined $e->{manager}
		    && defined $self->{found}{$task}) {
			$e->{from} = { as_of => $self->{found}{$task} };
		}
		$self->broken($_, %where, user => $self->name_of($e->{user_id}),
		    detail => $e->{event})
		    for Promise::broken($is, $e);
		$is = { %{Promise::after($is, $e)}, commit => $t->{gtid} };
		$self->holds($t, $task, $loan, $e) if $e->{event} ne 'available';
		$self->disposed($t, $e) if $ENDS{$e->{event}};
		$self->{completed}{"$key $e->{user_id}"} = { gtid => $t->{gtid}, at => $t->{at} }
		    if $e->{event} eq 'completed';
		# What was undone was not completed.
		delete $self->{completed}{"$key $e->{user_id}"}
		    if $e->{event} eq 'assigned' && defined $e->{manager};
	}
	$self->{loans}{$key} = $is;
	$self->follows(\%where, $was, $is, $events, $changes);
	$self->{loans}{$key} = { state => 'none' } if @$changes && !$changes->[-1]{row};
}

my @ROW = qw(state user_id token version request_id assigned_at available_at lease_expires_at note
    changed_at due_at);

# follows: the row of work was what the log said before, and is what the log says now.
sub follows
{
	my ($self, $where, $was, $is, $events, $changes) = @_;

	if (!@$changes) {
		$self->broken('the log has a change that the row of work has not', %$where)
		    if @$events;
		return;
	}
	my ($before, $after) = ($changes->[0]{was}, $changes->[-1]{row});
	$self->broken('the row of work was another one before', %$where,
	    detail => join(' ', differs($was, $before)))
	    if $before ? differs($was, $before) : $was->{state} ne 'none';
	if (!$after) {
		$self->broken('the row of work is gone', %$where)
		    unless $self->{removed}{$where->{task}};
	} elsif (!@$events && $before && differs($before, $after)) {
		$self->broken('the row of work was changed without a row of the log', %$where,
		    detail => join(' ', differs($before, $after)));
	} elsif (@$events && differs($is, $after)) {
		$self->broken('the row of work is not what the log says', %$where,
		    detail => join(' ', differs($is, $after)));
	} elsif (!@$events && !$before) {
		$self->broken('the row of work was made without a row of the log', %$where);
	}
}

sub differs
{
	my ($one, $other) = @_;
	return grep { ($one->{$_} // '') ne ($other->{$_} // '') } @ROW;
}

# holds: who has the loan from when to when, for those who look.
sub holds
{
	my ($self, $t, $task, $loan, $e) = @_;

	my $key = "$task $loan $e->{token}";
	my $has = $self->{has}{"$task $loan"};

	if ($has && $e->{event} eq 'renewed' && $has->{key} eq $key) {
		$has->{lease} = $e->{lease_expires_at};
		return;
	}
	if ($has) {
		my $of = $self->pipeline_of($has->{user});
		$has->{until} = $t->{at};
		delete $of->{open}{$has->{key}};
		push @{$of->{ended}}, $has;
		delete $self->{has}{"$task $loan"};
	}
	return unless $e->{event} =~ /^(?:assigned|renewed)$/;
	my $h = $self->{has}{"$task $loan"} = { user => $e->{user_id}, key => $key, task => $task,
	    loan => $loan, gtid => $t->{gtid}, since => $t->{at},
	    lease => $e->{lease_expires_at} };
	$self->{since}{$key} //= $t->{at};
	my $of = $self->pipeline_of($e->{user_id});
	$of->{all}{$key} = $of->{open}{$key} = $h;
	# In a stream a call is judged minutes after its commits, at most.
	while ($self->{stream} && @{$of->{ended}} && $of->{ended}[0]{until} < $t->{at} - 600e6) {
		my $old = shift @{$of->{ended}};
		delete $of->{all}{$old->{key}} if $of->{all}{$old->{key}} == $old;
	}
}

# pipeline_of: what the user has had in the last minutes, by task, loan and token: all of it, what
# has not ended, and what has, in the order of the commits.
sub pipeline_of
{
	my ($self, $user) = @_;
	return $self->{pipeline}{$user} //= { all => {}, open => {}, ended => [] };
}

# disposed: a call is whole, so all that it has done to loans is one commit.
sub disposed
{
	my ($self, $t, $e) = @_;

	if (defined $e->{uuid}) {
		my $first = $self->{call_of}{$e->{uuid}} //= { gtid => $t->{gtid}, at => $t->{at} };
		$self->broken('a disposition was done in two halves', task => $e->{task_id},
		    loan => $e->{loan_id}, commits => [ $first, $t ])
		    if $first->{gtid} ne $t->{gtid};
	}
	push @{$self->{dispositions}{"$e->{task_id} $e->{loan_id} $e->{token} $e->{event}"}},
	    { at => $t->{at}, gtid => $t->{gtid}, user => $e->{user_id}, manager => $e->{manager},
	      task => $e->{task_id}, loan => $e->{loan_id}, made => micro_of($e->{at}),
	      map { $_ => $e->{$_} } @TIMES };
}

sub name_of
{
	my ($self, $id) = @_;
	my ($name) = grep { $self->{users}{$_} == $id } keys %{$self->{users}};
	return $name // "number $id";
}

1;
