# Writes JSON. JSON::PP, which is part of perl, takes a hundred times as long: hours for the
# transactions of a soak. Reading is left to it.
package Json;
use strict;
use warnings;
use B;

# line: VALUE as a line. A hash's keys are in the order of the alphabet. A scalar that has a number
# is one; texts are bytes of UTF-8.
sub line
{
	return text($_[0]) . "\n";
}

sub text
{
	my ($value) = @_;

	return 'null' unless defined $value;
	if (ref $value eq 'HASH') {
		return '{' . join(',', map { quoted($_) . ':' . text($value->{$_}) }
		    sort keys %$value) . '}';
	}
	return '[' . join(',', map { text($_) } @$value) . ']' if ref $value;
	return B::svref_2object(\$value)->FLAGS & (B::SVf_IOK | B::SVf_NOK) ? $value
	    : quoted($value);
}

sub quoted
{
	my ($text) = @_;

	$text =~ s/(["\\])/\\$1/g;
	$text =~ s/([\x00-\x1f])/sprintf '\\u%04x', ord $1/ge;
	return "\"$text\"";
}

1;
