# SPDX-License-Identifier: MIT
# The form of a trace: what a recorded run of the real programs showed, a line for each event, in an
# order that is certain. Requesters are numbered by their requests, so 1 is the oldest; loans in the
# order of the view. The lines at the top tell what the run was like:
#
#	loans 1 2 3
#	lease 2                         its lease may run out
#	requester 1 count=1 waits=blocking killed lost signalled disposes retried slow late
#	stuck                           a foreign session may hold task_wake
#	list                            all loans are in a kept list, of the epoch 1
#	returned 1                      it was returned before, and its row of work has version 1
#	refill killed lost slow late    a refill has run, too
#
# slow: the process lasted for 250 ms or longer, so it may have met a time limit of the library;
# late: for a second or longer. The others tell what happened:
#
#	asked 1
#	committed 1 epoch=1 how=query 1=served 2=empty loan1=1/1
#	cancelled 2
#	answered 1 served 1             by here it was told how its request ended, with these loans
#	put-off 2                       by here it was told that its request is pending
#	killed 3
#	disposed 1 loan1=returned/2
#	lapsed 2
#	neglected 3
#	paused
#	resumed
#	taken 2 list=1 2=served loan2=2/1 gone3
#	dropped list=1 gone3
#	unshown 3                       the view does not show it any more
#	aged                            the newest list is older than cache_ttl now
#
# "loan1=2/3": requester 2 has got the loan, and its row has version 3. Where a round writes a list,
# "kept3=1" is a row of that: loan 3 with version 1. "gone3" is a row of the newest list that was
# deleted, although nobody got the loan. rows.pml has the same numbers for these words.
package Trace;
use strict;
use warnings;

my %LINE = (asked => 1, committed => 2, cancelled => 3, answered => 4, 'put-off' => 5, killed => 6,
    disposed => 7, lapsed => 8, neglected => 9, paused => 10, resumed => 11, taken => 13,
    dropped => 14, unshown => 15, aged => 16);
my %HOW = (query => 0, 'hand-over' => 1, failed => 2);
my %WAITS = (blocking => 0, polling => 1, 'no-wait' => 2);
my %OUTCOME = (served => 2, partial => 3, empty => 4, cancelled => 5, expired => 6, failed => 7);
my %STATE = (completed => 2, returned => 3);
my @SET = qw(killed lost signalled disposes retried slow late);
our $REQUESTERS = 4;
our $LOANS = 3;
# In a trace of lists the refill has the last place.
our $REFILL = $REQUESTERS - 1;

# Of what is said in a line that is no line of a trace.
sub wrong
{
	my ($line, $what) = @_;
	die "\"$line\": $what\n";
}

sub number_of
{
	my ($line, $word, $table) = @_;
	return $table->{$word} // wrong($line, "\"$word\" is not known here");
}

sub requester
{
	my ($line, $word) = @_;
	return $REFILL if defined $word && $word eq 'refill';
	wrong($line, "\"$word\" is not a requester's number")
	    unless defined $word && $word =~ /^\d+$/ && $word >= 1 && $word <= $REQUESTERS;
	return $word - 1;
}

sub loan
{
	my ($line, $word) = @_;
	wrong($line, "\"$word\" is not a loan's number")
	    unless defined $word && $word =~ /^\d+$/ && $word >= 1 && $word <= $LOANS;
	return $word - 1;
}

# The first row: what the run was like.
sub head
{
	my (@lines) = @_;
	my %run = (members => 0, loans => 0, lease => 0, list => 0, returned => 0, stuck => 0,
	    failures => 0, map { $_ => 0 } @SET);
	my @count = (0) x $REQUESTERS;
	my @waits = (0) x $REQUESTERS;

	for my $line (@lines) {
		my ($kind, @words) = split ' ', $line;
		if ($kind eq 'loans') {
			$run{loans} |= 1 << loan($line, $_) for @words;
		} elsif ($kind eq 'lease') {
			wrong($line, 'the model has loan 2 for this') unless "@words" eq '2';
			$run{lease} = 1;
		} elsif ($kind eq 'stuck') {
			$run{stuck} = 20;
		} elsif ($kind eq 'list') {
			$run{list} = 1;
		} elsif ($kind eq 'returned') {
			$run{returned} |= 1 << loan($line, $_) for @words;
		} elsif ($kind =~ /^(?:requester|refill)$/) {
			my $r = $kind eq 'refill' ? $REFILL : requester($line, shift @words);
			$run{members} |= 1 << $r;
			for my $word (@words) {
				if ($word =~ /^count=([12])$/) {
					$count[$r] = $1;
				} elsif ($word =~ /^waits=(.*)/) {
					$waits[$r] = number_of($line, $1, \%WAITS);
				} else {
					wrong($line, "\"$word\" is not known here")
					    unless grep { $_ eq $word } @SET;
					$run{$word} |= 1 << $r;
				}
			}
		} elsif ($kind eq 'committed') {
			$run{failures} += $line =~ / how=failed /;
		}
	}
	return join ' ', @run{qw(members loans lease list returned)}, @run{@SET},
	    @run{qw(failures stuck)},
	    @count, @waits;
}

# The row of an event; undef for a line that tells what the run was like.
sub row
{
	my ($line) = @_;
	my ($kind, @words) = split ' ', $line;
	my ($who, $epoch, $how, $of, $state, $list, $gone) = (0) x 7;
	my @ends = (0) x $REQUESTERS;
	my @give = (0) x $LOANS;
	my @version = (0) x $LOANS;
	my @kept = (0) x $LOANS;

	return undef if $kind =~ /^(?:loans|lease|list|returned|stuck|requester|refill)$/;
	my $number = number_of($line, $kind, \%LINE);
	if ($kind =~ /^(?:lapsed|unshown)$/) {
		$who = loan($line, shift @words);
	} elsif ($kind !~ /^(?:paused|resumed|dropped|aged)$/) {
		$who = requester($line, shift @words);
	}
	if ($kind eq 'answered') {
		$ends[$who] = number_of($line, shift @words, \%OUTCOME);
		$give[loan($line, shift @words)] = $who + 1 while @words;
	}
	for my $word (@words) {
		if ($word =~ /^epoch=(\d+)$/) {
			$epoch = $1;
		} elsif ($word =~ /^how=(.*)/) {
			$how = number_of($line, $1, \%HOW);
		} elsif ($word =~ m{^loan(\d+)=(\w+)/(\d+)$}) {
			$of = loan($line, $1);
			$version[$of] = $3;
			if ($kind eq 'disposed') {
				$state = number_of($line, $2, \%STATE);
				$epoch = $3;
			} else {
				$give[$of] = requester($line, $2) + 1;
			}
		} elsif ($word =~ /^list=(\d+)$/) {
			$list = $1;
		} elsif ($word =~ /^kept(\d+)=(\d+)$/) {
			$kept[loan($line, $1)] = $2 + 1;
		} elsif ($word =~ /^gone(\d+)$/) {
			$gone |= 1 << loan($line, $1);
		} elsif ($word =~ /^(\d+)=(\w+)$/) {
			$ends[requester($line, $1)] = number_of($line, $2, \%OUTCOME);
		} else {
			wrong($line, "\"$word\" is not known here");
		}
	}
	return join ' ', $number, $who, $epoch, $how, $of, $state, $list, $gone, @ends, @give,
	    @version, @kept;
}

# numbers FREE, LINE...: the rows for rows.pml, and the place in LINE... of each row but the first.
sub numbers
{
	my ($free, @lines) = @_;
	my @rows = join ' ', @$free, head(grep { !/^#/ } @lines);
	my @places;

	for my $i (0 .. $#lines) {
		next if $lines[$i] =~ /^#|^\s*$/;
		my $row = row($lines[$i]);
		next unless defined $row;
		push @rows, $row;
		push @places, $i;
	}
	return (\@rows, \@places);
}

1;
