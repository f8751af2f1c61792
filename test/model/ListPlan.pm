# SPDX-License-Identifier: MIT
# Plans like those of Plan.pm, in which loans are taken from a kept list: the task has one at the
# start, or its first leader writes it. They have besides
#
#	lists => 1, listed => 1         there is a list of all loans at the start
#	returned => 1                   loan 1 was returned before
#	hides => 1                      the task's view is its own
#
# and acts that Plan.pm lacks: a refill, a list that gets older than cache_ttl, and a loan that the
# view does not show any more.
package ListPlan;
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(uniq);
use Plan qw(one_of chance act begin_with faults);

sub requester
{
	my ($after, $ms) = @_;
	my $waits = one_of(('blocking') x 6, ('no-wait') x 4);

	return { after => $after, ms => $ms, count => chance(0.2) ? 2 : 1, waits => $waits,
	    args => $waits eq 'no-wait' ? ['--no-wait', '--no-refill'] : [],
	    leaves => chance(0.35) ? one_of('completed', 'returned', 'returned') : undef };
}

# A call that takes from the list is over soon after its request can be seen, so faults come after
# its begin. Which process they meet may be the refill.
sub victim
{
	my ($plan, $who) = @_;
	return grep({ $_->{do} eq 'refill' } @{$plan->{acts}}) && chance(0.4) ? 'refill' : $who;
}

# What happens to a list is seen where there is one in time.
sub needs_list
{
	my ($plan, $chance) = @_;
	$plan->{listed} = 1 if chance($chance);
	$plan->{loans} = 3 if chance(0.5);
}

# Most of those who are not the first come some milliseconds after something.
sub others_come
{
	my ($plan, $after, $ms) = @_;
	my (undef, @others) = @{$plan->{requesters}};

	@$_{qw(after ms)} = ($after, $ms + rand 20) for grep { chance(0.7) } @others;
}

my %FAULT = (
	kill => sub {
		my ($plan, $who) = ($_[0], victim(@_));
		act($plan, 'kill', "begun $who", 5 + rand 30, $who);
	},
	lose => sub {
		my ($plan, $who) = ($_[0], victim(@_));
		act($plan, 'lose', "begun $who", 10 + rand 50, $who);
	},
	stop => sub {
		my ($plan, $who) = ($_[0], victim(@_));
		my $ms = 10 + rand 50;
		act($plan, 'stop', "begun $who", $ms, $who);
		act($plan, 'lose', "begun $who", $ms + rand 30, $who) if chance(0.7);
		act($plan, 'continue', "begun $who", $ms + 30 + rand 70, $who);
	},
	# A foreign session keeps the first leader from its COMMIT for so long that others come. They
	# get loans of the list that it leaves.
	hold => sub {
		my ($plan) = @_;
		$plan->{listed} = 0 if chance(0.8);
		$plan->{loans} = 3;
		act($plan, 'hold', 'begin', 0);
		act($plan, 'let go', 'asked 0', 40 + rand 40);
		others_come($plan, 'asked 0', 0);
	},
	pause => sub {
		my ($plan) = @_;
		act($plan, 'pause', one_of('begin', 'begun 0', 'ended 0'), rand 30);
		act($plan, 'resume', 'paused', rand 150);
	},
	hide => sub {
		my ($plan) = @_;
		$plan->{hides} = 1;
		needs_list($plan, 0.9);
		act($plan, 'hide', one_of('begin', 'begun 0', 'ended 0'), rand 15,
		    1 + int rand $plan->{loans});
		others_come($plan, 'ended 0', 15);
	},
	age => sub {
		my ($plan) = @_;
		needs_list($plan, 0.7);
		act($plan, 'age', one_of('begin', 'begun 0', 'ended 0'), rand 30);
	},
	# Others come when there is a list anew.
	refill => sub {
		my ($plan) = @_;
		act($plan, 'refill', one_of('begin', 'begun 0', 'ended 0'), rand 20);
		$plan->{loans} = 3 if chance(0.7);
		others_come($plan, 'ended refill', 0);
	},
);
our @FAULTS = sort keys %FAULT;

# Half of them ask at nearly the same time, others while one takes or leads, or when it has ended.
sub begins
{
	return chance(0.5) ? ('begin', rand 15) : (one_of('begun 0', 'ended 0'), rand 40);
}

# new SEED, FAULT: as in Plan.pm.
sub new
{
	my ($class, $seed, $fault) = @_;
	begin_with($seed);
	my $n = one_of(2, (3) x 4);
	my $plan = bless { seed => $seed, loans => one_of(1, 2, (3) x 4), lists => 1,
	    listed => chance(0.5) ? 1 : 0, returned => chance(0.4) ? 1 : 0, acts => [],
	    requesters => [ requester('begin', rand 10), map { requester(begins()) } 2 .. $n ] },
	    $class;
	my @faults = faults($seed, $fault, @FAULTS);

	# The others may meet the refill.
	unshift @faults, one_of('refill', 'hold') if chance(0.4);
	$FAULT{$_}($plan, int rand $n) for uniq(@faults);
	return $plan;
}

1;
