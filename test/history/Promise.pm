# What lockq promises about one loan in one task. This is the definition: a history is right if it
# breaks none of these promises, whatever else the programs do. It knows nothing of how lockq works.
#
# $is is how the loan stands, as a row of the table work would tell it: state is "none" where it has
# no row, and "assigned" while somebody has it. $e is what happens to it, as a row of work_log. Of a
# loan that was taken from a kept list, $e->{from} has two times: as_of, when the list's query
# began, and checked, when the view was asked about the loan (or undef). Times are texts that sort.
package Promise;
use strict;
use warnings;

# A manager gives the loan back to the user who has said something of it,
sub is_undone
{
	my ($is, $e) = @_;
	return defined $e->{manager} && $e->{user_id} == $is->{user_id}
	    && $is->{state} =~ /^(?:completed|returned|never)$/ && !defined $is->{lease_expires_at};
}

# or moves it from one user to another one, in the same moment.
sub is_moved
{
	my ($is, $e) = @_;
	return defined $e->{manager} && $is->{state} eq 'returned' && $is->{changed_at} eq $e->{at}
	    && ($is->{manager} // '') eq $e->{manager} && $e->{user_id} != $is->{user_id};
}

# A time that is not there has not come.
sub has_come { my ($time, $at) = @_; return defined $time && $time le $at }
sub is_later { my ($time, $at) = @_; return defined $time && $time gt $at }

my $DISPOSED = 'completed returned never renewed';

# Each promise: for which events it holds, what is said when it is broken, and when it is broken.
our @PROMISES = (
	# One holder.
	[ 'assigned', 'a loan was given while somebody has it',
	    sub { my ($is, $e) = @_; $is->{state} eq 'assigned' } ],
	[ 'assigned', 'a loan was given although it is never to be given',
	    sub { my ($is, $e) = @_; $is->{state} eq 'never' && !is_undone($is, $e) } ],
	[ 'assigned', 'a loan was given before its time',
	    sub { my ($is, $e) = @_;
		is_later($is->{available_at}, $e->{at}) && !is_undone($is, $e) } ],
	[ 'assigned', 'a loan was given to somebody from whom it is kept',
	    sub { my ($is, $e) = @_;
		is_later($is->{kept_from}{$e->{user_id}}, $e->{at}) && !is_undone($is, $e) } ],
	[ 'assigned', 'a loan was given from a list that did not know its last change',
	    sub { my ($is, $e) = @_;
		$e->{from} && $is->{state} ne 'none' && $e->{from}{as_of} lt $is->{ended}
		    && !is_later($e->{from}{checked}, $is->{ended}) } ],
	[ 'assigned', 'a loan was given with a note that nobody wrote',
	    sub { my ($is, $e) = @_;
		!defined $e->{manager} && ($e->{note} // '') ne ($is->{note} // '') } ],

	# Only the holder says what became of it, once, and in time.
	[ $DISPOSED, 'a loan was disposed of while nobody has it',
	    sub { my ($is, $e) = @_; $is->{state} ne 'assigned'
		&& !($e->{event} =~ /^(completed|returned|renewed)$/ && $is->{state} eq 'returned'
		    && defined $is->{lease_expires_at}) } ],
	[ "$DISPOSED expired available",
	    'a loan was changed in the name of somebody who does not have it',
	    sub { my ($is, $e) = @_; grep { $e->{$_} != ($is->{$_} // 0) }
		qw(user_id token request_id) } ],
	[ $DISPOSED, 'a loan was disposed of after the end of its lease',
	    sub { my ($is, $e) = @_;
		$is->{state} eq 'assigned' && has_come($is->{lease_expires_at}, $e->{at}) } ],
	[ "assigned $DISPOSED", 'a loan was corrected as no manager may',
	    sub { my ($is, $e) = @_; defined $e->{manager}
		&& !($e->{event} eq 'returned' && ($e->{available_at} // '') eq $e->{at}
		    || $e->{event} eq 'assigned' && (is_undone($is, $e) || is_moved($is, $e))) } ],

	# Time ends a lease, and nothing else does.
	[ 'expired', 'a loan lost its lease before that had ended',
	    sub { my ($is, $e) = @_;
		$is->{state} ne 'assigned' || !has_come($is->{lease_expires_at}, $e->{at}) } ],
	[ 'expired', 'a loan is not available from the end of its lease on',
	    sub { my ($is, $e) = @_;
		($e->{available_at} // '') ne ($is->{lease_expires_at} // '') } ],
	[ 'assigned renewed', 'a loan has a lease that is over when it begins',
	    sub { my ($is, $e) = @_; has_come($e->{lease_expires_at}, $e->{at})
		|| $e->{event} eq 'renewed' && !defined $e->{lease_expires_at} } ],
	[ 'returned', 'a loan is returned, but to no time',
	    sub { my ($is, $e) = @_; !has_come($e->{at}, $e->{available_at} // '') } ],
	[ 'available', 'a loan was noted as available, which it was not, or twice',
	    sub { my ($is, $e) = @_; $is->{state} !~ /^(?:completed|returned)$/
		|| !defined $is->{due_at} || !has_come($is->{available_at}, $e->{at}) } ],

	# Who comes later can be told by numbers.
	[ 'assigned', 'a loan has a token that is not above its last one',
	    sub { my ($is, $e) = @_; $e->{token} <= ($is->{token} // -1) } ],
	[ "assigned $DISPOSED expired available", 'a loan has a version that is not the next one',
	    sub { my ($is, $e) = @_;
		$e->{version} != ($is->{version} // 0) + ($e->{event} ne 'available') } ],
	[ "assigned $DISPOSED expired available",
	    'a loan was changed at a time before its last change',
	    sub { my ($is, $e) = @_; $e->{at} lt ($is->{changed_at} // '') } ],
);

# broken: the promises that $e breaks.
sub broken
{
	my ($is, $e) = @_;
	my @apply = grep { " $_->[0] " =~ / $e->{event} / } @PROMISES;

	return map { $_->[1] } grep { $_->[2]->($is, $e) } @apply;
}

# after: how the loan stands after $e. ended is when its last assignment or its time ended, which a
# list must know: the end of a lease counts, and not the moment in which somebody noted it.
sub after
{
	my ($is, $e) = @_;
	my %now = %$is;

	return { %now, due_at => undef } if $e->{event} eq 'available';
	@now{qw(version user_id token request_id available_at lease_expires_at manager)} =
	    @$e{qw(version user_id token request_id available_at lease_expires_at manager)};
	$now{state} = $e->{event} eq 'renewed' ? 'assigned'
	    : $e->{event} eq 'expired' ? 'returned' : $e->{event};
	$now{changed_at} = $e->{at};
	$now{assigned_at} = $e->{at} if $e->{event} eq 'assigned';
	$now{note} = $e->{note} if $e->{event} ne 'expired' && !defined $e->{manager};
	$now{ended} = $e->{event} eq 'expired' ? $e->{lease_expires_at} // '' : $e->{at};
	$now{due_at} = $e->{event} eq 'expired' ? undef
	    : is_later($e->{available_at}, $e->{at}) ? $e->{available_at} : $e->{lease_expires_at};
	$now{kept_from} = { %{$is->{kept_from} // {}}, $e->{user_id} => $e->{excluded_until} }
	    if defined $e->{excluded_until} || $e->{event} eq 'assigned' && is_undone($is, $e);
	return \%now;
}

1;
