# SPDX-License-Identifier: MIT
# What is to happen in one run, by chance from a seed: some requesters on a fresh task, and faults.
# A plan is
#
#	{ loans => 2, lease => 0, stuck => 0, broken => 0,
#	  requesters => [ { after => 'begin', ms => 12, count => 1, waits => 'blocking',
#	                    args => [...], leaves => 'completed' }, ... ],
#	  acts => [ { after => 'asked 0', ms => 40, do => 'kill', who => 0 }, ... ] }
#
# Each requester and each act comes some milliseconds after something else: after the begin of the
# run, after the requester's request was seen in the table ("asked 0"), after its process has ended
# ("ended 0"), or after the pause. So faults meet the programs on a loaded machine, too. If a
# requester gets loans, it leaves the first one completed or returned, or as it is.
package Plan;
use strict;
use warnings;
use Exporter qw(import);
use FindBin;
use List::Util qw(uniq);
use lib $FindBin::Bin;
use Trace;

our @EXPORT_OK = qw(one_of chance act begin_with faults);

sub one_of { return $_[ int rand @_ ] }
sub chance { return rand() < $_[0] }

sub requester
{
	my ($after, $ms) = @_;
	my $waits = one_of(('blocking') x 6, ('no-wait') x 4, 'polling');
	my %r = (after => $after, ms => $ms, count => chance(0.25) ? 2 : 1, waits => $waits,
	    leaves => chance(0.25) ? one_of('completed', 'returned') : undef);

	$r{args} = $waits eq 'no-wait' ? ['--no-wait', '--no-refill'] :
	    $waits eq 'polling' ? ['--poll', 1] : [];
	if ($waits eq 'blocking' && chance(0.15)) {
		$r{args} = ['--timeout', one_of(0, 1), '--no-refill'];
		$r{signalled} = 1;
	}
	return \%r;
}

sub act
{
	my ($plan, $do, $after, $ms, $who) = @_;
	push @{$plan->{acts}}, { do => $do, after => $after, ms => $ms, who => $who };
}

# One more requester, as far as the model has room for it.
sub add
{
	my ($plan, $requester) = @_;
	push @{$plan->{requesters}}, $requester if @{$plan->{requesters}} < $Trace::REQUESTERS;
}

# begin_with SEED: all that follows comes from it.
sub begin_with
{
	srand $_[0];
	rand for 1 .. 3;
}

# faults SEED, FAULT, NAME...: which of these strike. If no fault is named, those of seeds in a row
# differ.
sub faults
{
	my ($seed, $fault, @names) = @_;
	my @faults = ($fault // $names[$seed % @names]);

	@faults = () if chance(0.1) && !defined $fault;
	push @faults, one_of(@names) if chance(0.3);
	return @faults;
}

sub is_held { return scalar grep { $_->{do} eq 'hold' } @{$_[0]{acts}} }

# Each fault adds to the plan what it needs.
my %FAULT = (
	kill => sub {
		my ($plan, $who) = @_;

		# Where the leader is held, neither it nor who waits for it has an answer yet.
		if (chance(0.5) && !is_held($plan)) {
			$who = 0;
			@{$plan->{requesters}[0]}{qw(waits args signalled)} = ('blocking', [], 0);
			act($plan, 'hold', 'begin', 0);
			act($plan, 'let go', "ended $who", rand 20);
		}
		act($plan, 'kill', "asked $who", rand 40, $who);
		# A later leader finds the request out of date.
		if (chance(0.5)) {
			act($plan, 'neglect', "ended $who", 0, $who);
			add($plan, requester("ended $who", 10));
		}
	},
	lose => sub { act($_[0], 'lose', "asked $_[1]", rand(40), $_[1]) },
	stop => sub {
		my ($plan, $who) = @_;
		my $ms = rand 30;
		act($plan, 'stop', "asked $who", $ms, $who);
		act($plan, 'lose', "asked $who", $ms + rand 20, $who);
		act($plan, 'continue', "asked $who", $ms + 20 + rand 100, $who);
	},
	# A foreign session keeps the first leader from its COMMIT for so long that others come.
	hold => sub {
		my ($plan) = @_;
		return if is_held($plan);
		act($plan, 'hold', 'begin', 0);
		add($plan, { %{requester('asked 0', 20 + rand 20)}, waits => 'no-wait',
		    args => ['--no-wait', '--no-refill'], signalled => 0 });
		act($plan, 'let go', 'asked ' . $#{$plan->{requesters}}, 10 + rand 20);
		$plan->{loans} = 3;
	},
	signal => sub { act($_[0], 'signal', "asked $_[1]", rand(40), $_[1]) },
	pause => sub {
		act($_[0], 'pause', one_of('begin', 'asked 0'), rand 20);
		act($_[0], 'resume', 'paused', rand 150);
	},
	break => sub {
		$_[0]{broken} = 1;
		act($_[0], 'mend', "asked $_[1]", rand 60);
	},
	stick => sub { $_[0]{stuck} = 1 },
	lapse => sub {
		my ($plan) = @_;
		$plan->{lease} = 1;
		$plan->{loans} = 2 if $plan->{loans} < 2;
		act($plan, 'lapse', one_of('begin', 'asked 0'), rand 30);
	},
);
our @FAULTS = sort keys %FAULT;

# Most ask at nearly the same time, others while a leader is at work.
sub begins
{
	return chance(0.6) ? ('begin', rand 15) : (one_of('asked 0', 'ended 0'), rand 25);
}

# new SEED, FAULT: the plan.
sub new
{
	my ($class, $seed, $fault) = @_;
	begin_with($seed);
	my $n = one_of(2, 3, 3, 3, 4);
	my $plan = bless { seed => $seed, loans => one_of(1, 2, 2, 3, 3), lease => 0, stuck => 0,
	    broken => 0, acts => [],
	    requesters => [ requester('begin', rand 10), map { requester(begins()) } 2 .. $n ] },
	    $class;
	my @faults = faults($seed, $fault, @FAULTS);

	# These two add one.
	if ($n > 3 && grep { $_ eq 'hold' || $_ eq 'kill' } @faults) {
		$n = 3;
		pop @{$plan->{requesters}};
	}
	$FAULT{$_}($plan, int rand $n) for uniq(@faults);
	return $plan;
}

1;
