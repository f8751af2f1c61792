# Reads a row-based binary log as the transactions that were committed, in the order of their
# commits. Of each transaction it gives what it did to lockq's tables, and it passes over those that
# did nothing to them.
#
#	my $columns = Binlog::read_columns('columns');	# the answer to Binlog::columns_query()
#	my $log = Binlog->open(columns => $columns, database => 'lockq', files => [ 'binlog.7' ]);
#	while (my $transaction = $log->next) { ... }
#
# A transaction is
#
#	{ gtid => 'UUID:N', at => microseconds since 1970, here => the same,
#	  session => the connection's id,
#	  changes => [ { table => 'work', do => 'insert', row => { loan_id => 7, ... } },
#	               { table => 'work', do => 'update', was => { ... }, row => { ... } },
#	               { table => 'work', do => 'delete', was => { ... } } ] }
#
# at is when the server that made the transaction was asked for the COMMIT; here is when the server
# whose log this is did it. In a group the COMMIT waits in between for the others. On a server by
# itself both are one time.
#
# Where the server makes no GTIDs, gtid is the number of the transaction in these files. Values are
# those that a client in UTC would read: enums are texts, times are "2026-11-26 04:59:10.390593",
# texts are bytes of UTF-8, and NULL is undef.
#
# The log must have whole rows (binlog_row_image=FULL). It is read through mysqlbinlog, so it may be
# compressed, or still be written: then what is in it by now is read. DDL is not shown.
package Binlog;
use strict;
use warnings;

# What the history of loans and requests consists of. The other tables of lockq are its settings,
# its statistics and the cursors of those who read its log.
our @TABLES = qw(task task_lock app_user work_requested work work_log leader_run kept_list kept_loan
    work_exclusion manage_log);

my %DO = (INSERT => 'insert', UPDATE => 'update', DELETE => 'delete');
# A newer mysqlbinlog writes \n, an older one \x0a.
my %ESCAPED = (n => "\n", r => "\r", t => "\t", b => "\b", 0 => "\0", Z => "\x1a");

# columns_query TABLE...: the statement whose answer, a line for each column and a tab between the
# values, tells how the columns of the database at hand are called: of @TABLES, and of the named ones.
sub columns_query
{
	return 'SELECT table_name, column_name, data_type, column_type '
	    . 'FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ('
	    . join(', ', map { "'$_'" } @TABLES, @_) . ') ORDER BY table_name, ordinal_position';
}

# read_columns FILE: by table the columns in their order, each with its name and how its values are
# read: number, unsigned, time, text, or an enum's list of texts.
sub read_columns
{
	my ($file) = @_;
	my %columns;

	open my $in, '<', $file or die "$file: $!\n";
	while (my $line = <$in>) {
		chomp $line;
		my ($table, $name, $data, $type) = split /\t/, $line;
		die "$file:$.: not a line of the answer to Binlog::columns_query()\n"
		    unless defined $type;
		push @{$columns{$table}}, { name => $name, kind => kind_of($data, $type) };
	}
	close $in;
	die "$file: is empty: is there a lockq in this database?\n" unless %columns;
	return \%columns;
}

sub kind_of
{
	my ($data, $type) = @_;

	return [ undef, $type =~ /'((?:[^']|'')*)'/g ] if $data eq 'enum';
	return 'time' if $data eq 'timestamp';
	return 'text' unless $data =~ /int$/;
	return $type =~ /unsigned/ ? 'unsigned' : 'number';
}

# open: files in their order, columns from read_columns(). tables are those that are wanted, all of
# @TABLES if it is left out; program is mysqlbinlog.
sub open
{
	my ($class, %o) = @_;
	my $wanted = $o{tables} // \@TABLES;
	my %table;

	for my $name (@$wanted) {
		$table{"`$o{database}`.`$name`"} = $name if $o{columns}{$name};
	}
	# --verify-binlog-checksum: a log that has rotted is no history.
	open my $in, '-|', $o{program} // 'mysqlbinlog', '--no-defaults',
	    '--verify-binlog-checksum',
	    '--base64-output=decode-rows', '--verbose', @{$o{files}}
	    or die "mysqlbinlog can't be started: $!\n";
	return bless { in => $in, columns => $o{columns}, table => \%table, number => 0 }, $class;
}

# next: the next transaction that did something to the tables, or undef at the end.
sub next
{
	my ($self) = @_;
	my ($transaction, $change, $image, @changes);
	my $in = $self->{in};

	while (my $line = <$in>) {
		# Nine of ten lines have a value: so they come first, and without a pattern.
		if (substr($line, 0, 5) eq '###  ') {
			push @$image, substr($line, index($line, '=') + 1) if $image;
		} elsif (substr($line, 0, 4) eq '### ') {
			if ($line =~ /^### (INSERT INTO|UPDATE|DELETE FROM) (`.*`)$/) {
				($change, $image) = ($self->change_of($1, $2), undef);
				push @changes, $change if $change;
			} elsif ($change && $line =~ /^### (SET|WHERE)$/) {
				$image = $change->{$1 eq 'SET' ? 'row' : 'was'} = [];
			}
		} elsif ($line =~ /\tGTID\t|\tAnonymous_GTID\t|\tAnonymous_Gtid\t/i) {
			@changes = ();
			$transaction = { gtid => ++$self->{number} };
			my ($at) = $line =~ /original_committed_timestamp=([1-9]\d*)/;
			my ($here) = $line =~ /immediate_commit_timestamp=(\d+)/;
			@$transaction{qw(at here)} = map { $_ + 0 } $at // $here, $here
			    if defined $here;
		} elsif ($line =~ /^SET \@\@SESSION.GTID_NEXT= '(\S+:\d+)'/) {
			$transaction->{gtid} = $1;
		} elsif ($line =~ /\tQuery\tthread_id=(\d+)/) {
			$transaction->{session} = $1 + 0;
		} elsif ($line =~ m{^(COMMIT|ROLLBACK)\b}) {
			next if !@changes;
			if ($1 eq 'COMMIT') {
				$transaction->{changes} = $self->named(\@changes);
				return $transaction;
			}
			@changes = ();
		}
	}
	$self->end;
	return undef;
}

# end: what mysqlbinlog had to complain about is on standard error.
sub end
{
	my ($self) = @_;

	return unless $self->{in};
	my $ended = close $self->{in};
	delete $self->{in};
	die 'mysqlbinlog failed: ' . ($! ? $! : 'exit status ' . ($? >> 8)) . "\n" unless $ended;
}

# change_of WORDS TABLE: an empty change of a table that is wanted.
sub change_of
{
	my ($self, $words, $table) = @_;
	my $name = $self->{table}{$table} // return undef;

	return { table => $name, do => $DO{(split / /, $words)[0]} };
}

# named: the changes with columns by their names, and their values.
sub named
{
	my ($self, $changes) = @_;

	for my $change (@$changes) {
		my $columns = $self->{columns}{$change->{table}};
		for my $image (grep { $change->{$_} } qw(was row)) {
			$change->{$image} = row_of($change->{table}, $columns, $change->{$image});
		}
	}
	return $changes;
}

sub row_of
{
	my ($table, $columns, $values) = @_;
	my %row;

	die "$table has other columns now, or the log has no whole rows: it needs "
	    . "binlog_row_image=FULL, and the columns as they were\n" if @$values != @$columns;
	chomp @$values;
	for my $i (0 .. $#$columns) {
		my $text = $values->[$i];
		$row{$columns->[$i]{name}} =
		    $text eq 'NULL' ? undef : value_of($columns->[$i]{kind}, $text);
	}
	return \%row;
}

sub value_of
{
	my ($kind, $text) = @_;

	return $text + 0 if $kind eq 'number';
	# Above half of its range an unsigned number stands behind the signed one.
	return (substr($text, 0, 1) eq '-' && $text =~ /\((\d+)\)$/ ? $1 : $text) + 0
	    if $kind eq 'unsigned';
	return $kind->[$text] if ref $kind;
	return clock_text($text) if $kind eq 'time';
	return $text unless substr($text, 0, 1) eq "'";
	$text = substr($text, 1, -1);
	$text =~ s/\\(?:x([0-9a-f]{2})|(.))/defined $1 ? chr hex $1 : $ESCAPED{$2} \/\/ $2/ge
	    if index($text, '\\') >= 0;
	return $text;
}

# clock_text: a TIMESTAMP is in the log as seconds since 1970.
sub clock_text
{
	my ($seconds, $fraction) = split /\./, $_[0];
	my ($s, $m, $h, $day, $month, $year) = gmtime $seconds;

	return sprintf '%04d-%02d-%02d %02d:%02d:%02d%s', $year + 1900, $month + 1, $day,
	    $h, $m, $s, defined $fraction ? ".$fraction" : '';
}

1;
