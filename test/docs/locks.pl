# Prints the locks that the code in the folder of its argument asks for, one a line:
#   "TABLE PLACE"  a row lock, by FOR UPDATE or FOR SHARE. PLACE is a procedure of schema/doors, or a
#                  file of lib/ or cmd/. A view stands for its table.
#   "NAME"         how a name for GET_LOCK begins
use strict;
use warnings;

my ($tree) = @ARGV;
my (%view, %found);

sub slurp
{
	my ($file) = @_;

	local $/ = undef;
	open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n";
	return scalar <$in>;
}

# last_of TEXT PATTERN: what the pattern's group has caught last, or "?".
sub last_of
{
	my ($text, $pattern) = @_;
	my @all = $text =~ /$pattern/g;

	return @all ? $all[-1] : '?';
}

# table_of TEXT ALIAS: the table that has this alias at the end of the text.
sub table_of
{
	my ($text, $alias) = @_;
	my $table = last_of($text, qr/\b(\w+) AS \Q$alias\E\b/);

	return $view{$table} // $table;
}

sub read_file
{
	my ($file) = @_;
	my $text = slurp("$tree/$file");

	# Statements as one line each, without comments.
	if ($file =~ /\.sql$/) {
		$text =~ s/--[^\n]*//g;
	} elsif ($file =~ /\.[ch]$/) {
		$text =~ s{/\*.*?\*/}{}gs;
		$text =~ s/\\\n//g;
		$text =~ s/"\s*"/ /g;
	}
	while ($text =~ /\bFOR (?:UPDATE|SHARE)\b(?: OF (\w+(?:, \w+)*|" alias "))?/g) {
		my ($before, $of) = (substr($text, 0, $-[0]), $1);
		my $place = $file =~ /\.sql$/ ? last_of($before, qr/CREATE PROCEDURE (\w+)/) :
		    $file;

		# JOB_READS, whose uses are below.
		next if defined $of && $of eq '" alias "';
		if (defined $of) {
			$found{table_of($before, $_) . " $place"} = 1 for split /, /, $of;
		} else {
			my $table = last_of($before, qr/\b(?:FROM|JOIN) (\w+)/);

			$found{($view{$table} // $table) . " $place"} = 1;
		}
	}
	# A job of cron locks the rows with the alias that is its third argument.
	while ($file =~ /\.c$/ && $text =~ /\bJOB_(?:READS|DELETES)\("\w+", "[^"]*", "(\w+)",/g) {
		$found{table_of(substr($text, 0, $-[0]), $1) . " $file"} = 1;
	}
	# The name is a macro of this file or of a header beside it, or stands in the statement.
	while ($text =~ /\bGET_LOCK\((?:" (\w+) "|CONCAT\('([^']*)')?/g) {
		my ($macro, $name) = ($1, $2);
		my ($folder) = $file =~ m{(.*)/};

		if (defined $macro) {
			$name = last_of(join('', $text, map { slurp($_) } glob "$tree/$folder/*.h"),
			    qr/#define $macro\s+"CONCAT\('([^']*)'/);
		}
		$name = "? in $file" if !defined $name;
		$name =~ s/ $//;
		$found{$name} = 1;
	}
}

my @doors = glob "$tree/schema/doors/*.sql";
my $views = join '', map { slurp($_) } @doors;
while ($views =~ /VIEW (\w+) AS\s+SELECT.*?\bFROM (\w+) AS/gs) {
	$view{$1} = $2;
}
for my $file (glob("$tree/lib/*/*.[ch] $tree/cmd/*/*.[ch]"),
    @doors, "$tree/scripts/lockq-migrate") {
	read_file(substr($file, length($tree) + 1));
}
print map { "$_\n" } sort keys %found;
