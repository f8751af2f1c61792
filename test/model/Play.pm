# SPDX-License-Identifier: MIT
# Plays plans on a real server: starts the programs, does to them what the plan says, and notes when
# each has ended and what it told.
package Play;
use strict;
use warnings;
use JSON::PP;
use POSIX qw(:sys_wait_h _exit);
use Time::HiRes qw(time sleep);

my $TICK = 0.006;
# For one run.
my $PATIENCE_S = 120;

# new SERVER, FOLDER: the programs are those of $PATH, and write to files in the folder.
sub new
{
	my ($class, $server, $folder) = @_;
	return bless { server => $server, folder => $folder, running => {} }, $class;
}

# start RUN, CALL, COMMAND...: the call's process gets the command.
sub start
{
	my ($self, $run, $call, @command) = @_;
	my $file = "$self->{folder}/" . ++$self->{files};

	pipe(my $begins, my $until) or die "record: pipe: $!\n"; # the exec closes $until
	defined(my $pid = fork) or die "record: fork: $!\n";
	if ($pid == 0) {
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', "$file.out";
		open STDERR, '>', "$file.err";
		exec @command or _exit(127);
	}
	close $until;
	@$call{qw(pid file run begun begins)} = ($pid, $file, $run, time, $begins);
	$self->{running}{$pid} = $call;
	$run->{running}++;
}

sub slurp
{
	my ($file) = @_;
	local $/;
	open my $in, '<', $file or return '';
	return scalar(<$in>) // '';
}

# A call is over. What it told is kept with the time at which this is certain.
sub ended
{
	my ($self, $call, $status) = @_;

	$call->{ended} = time;
	$call->{signal} = $status & 127;
	$call->{exit} = $status >> 8;
	die "record: seed $call->{run}{plan}{seed}: a program was ended by signal $call->{signal}\n"
	    if $call->{signal} && !$call->{killed} && !($call->{signalled} && $call->{signal} == 2);
	$call->{run}{running}--;
	$call->{answer} = eval { decode_json(slurp("$call->{file}.out")) };
	$call->{said} = slurp("$call->{file}.err");
	unlink "$call->{file}.out", "$call->{file}.err";
	delete $call->{pid};
	my $loans = $call->{answer}{loans} // [];
	return unless defined $call->{leaves} && @$loans;
	my $how = $call->{leaves} eq 'completed' ? ['--complete'] : ['--return-after', '0s'];
	$self->start($call->{run}, $call->{disposal} = {}, 'disposition', '--user', $call->{user},
	    '--task', $call->{run}{task}, '--loan', $loans->[0]{loan_id}, @$how);
}

my %ACT = (
	kill => sub {
		my ($self, $run, $call) = @_;
		$call->{killed} = 1;
		kill 'KILL', $call->{pid};
	},
	# Before the exec this would stop a copy of this program, which holds all its pipes.
	stop => sub {
		my ($self, $run, $call) = @_;
		readline $call->{begins};
		kill 'STOP', $call->{pid};
	},
	continue => sub { my ($self, $run, $call) = @_; kill 'CONT', $call->{pid} },
	signal => sub {
		my ($self, $run, $call) = @_;
		$call->{signalled} = 1;
		kill 'INT', $call->{pid};
	},
	# An administrator ends the sessions, as the server does after wait_timeout.
	lose => sub {
		my ($self, $run, $call) = @_;
		$call->{lost} = 1;
		my @ids = $self->{server}->ask('SELECT processlist_id
		    FROM performance_schema.session_connect_attrs
		    WHERE attr_name = \'_pid\' AND attr_value = ' . "'$call->{pid}'");
		$self->{server}->end_sessions(@ids) if @ids;
	},
);
my %ACT_OF_ALL = (
	neglect => sub {
		my ($self, $run, $act) = @_;
		my $call = $run->{calls}[$act->{who}];
		$self->{server}->neglect($run->{task}, $call->{user});
	},
	pause => sub {
		my ($self, $run) = @_;
		$self->start($run, $run->{pausing} = {}, 'managetask', 'pause', $run->{task},
		    '--reason', 'trace');
	},
	resume => sub {
		my ($self, $run) = @_;
		$self->start($run, {}, 'managetask', 'enable', $run->{task});
	},
	refill => sub {
		my ($self, $run) = @_;
		$self->start($run, $run->{refill} = { user => '(refill)' }, 'refill', '--task',
		    $run->{task});
	},
	hide => sub { my ($self, $run, $act) = @_; $self->{server}->hide($run->{task}, $act->{who}) },
	age => sub { my ($self, $run) = @_; $self->{server}->age($run->{task}) },
	hold => sub {
		my ($self, $run) = @_;
		$self->{server}->hold($run->{task}, 1 + ($run->{plan}{listed} // 0));
	},
	'let go' => sub { my ($self, $run) = @_; $self->{server}->let_go($run->{task}) },
	mend => sub { my ($self, $run) = @_; $self->{server}->mend($run->{task}) },
	lapse => sub { my ($self, $run) = @_; $self->{server}->lapse($run->{task}) },
);

sub call_of
{
	my ($run, $who) = @_;
	return $who eq 'refill' ? $run->{refill} // {} : $run->{calls}[$who];
}

sub act
{
	my ($self, $run, $act) = @_;
	return $ACT_OF_ALL{$act->{do}}($self, $run, $act) if $ACT_OF_ALL{$act->{do}};
	my $call = call_of($run, $act->{who});
	$ACT{$act->{do}}($self, $run, $call) if defined $call->{pid};
}

sub call
{
	my ($self, $run, $call) = @_;
	$self->start($run, $call, 'getwork', '--user', $call->{user}, '--task', $run->{task},
	    '--count', $call->{count}, @{$call->{args}}, '--no-refill', '--json');
}

sub begin
{
	my ($self, $plan, $task) = @_;
	my $run = { plan => $plan, task => $task, since => time, running => 0,
	    calls => $plan->{requesters}, todo => [ @{$plan->{acts}}, @{$plan->{requesters}} ] };
	my $n = 0;

	$_->{user} = 'trace-' . ++$n for @{$run->{calls}};
	return $run;
}

# The time at which something has happened in the run; undef if it has not.
sub time_of
{
	my ($run, $what) = @_;
	my ($event, $who) = split ' ', $what;

	return $run->{since} if $event eq 'begin';
	return $run->{pausing}{ended} if $event eq 'paused';
	my $call = call_of($run, $who);
	return $call->{begun} if $event eq 'begun';
	return $event eq 'asked' ? $call->{asked} // $call->{ended} : $call->{ended};
}

# Does what is due.
sub go_on
{
	my ($self, $run) = @_;
	my @later;

	for my $item (@{$run->{todo}}) {
		my $since = time_of($run, $item->{after});
		if (!defined $since || time < $since + $item->{ms} / 1000) {
			push @later, $item;
		} elsif (defined $item->{do}) {
			$self->act($run, $item);
		} else {
			$self->call($run, $item);
		}
	}
	$run->{todo} = \@later;
}

# Notes whose requests are in the table by now.
sub look_for_requests
{
	my ($self, @runs) = @_;
	my %call = map { my $run = $_; map { ("$run->{task} $_->{user}" => $_) } @{$run->{calls}} }
	    @runs;

	for ($self->{server}->requests(map { $_->{task} } @runs)) {
		$call{$_}{asked} //= time if $call{$_};
	}
}

# play RUNS, JOBS: all of the [PLAN, TASK], some at a time; returns how each went.
sub play
{
	my ($self, $plans, $jobs) = @_;
	my @waiting = @$plans;
	my (@open, @over);

	while (@waiting || @open) {
		die 'record: runs do not end: seeds '
		    . join(', ', map { $_->{plan}{seed} } @open) . "\n"
		    if grep { time > $_->{since} + $PATIENCE_S } @open;
		push @open, $self->begin(@{shift @waiting}) while @waiting && @open < $jobs;
		while ((my $pid = waitpid -1, WNOHANG) > 0) {
			my $call = delete $self->{running}{$pid};
			$self->ended($call, $?) if defined $call;
		}
		my @curious = grep { grep { $_->{after} =~ /^asked/ } @{$_->{todo}} } @open;
		$self->look_for_requests(@curious) if @curious;
		$self->go_on($_) for @open;
		push @over, grep { !@{$_->{todo}} && $_->{running} == 0 } @open;
		@open = grep { @{$_->{todo}} || $_->{running} > 0 } @open;
		sleep $TICK;
	}
	return @over;
}

# end: kills what still runs, where the recording itself has failed.
sub end
{
	my ($self) = @_;
	kill 'KILL', keys %{$self->{running}};
}

1;
