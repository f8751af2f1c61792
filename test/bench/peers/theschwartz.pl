# TheSchwartz, without its worker's loop: see ./run, which starts this.
#   theschwartz.pl tables               makes the tables of its schema.sql, with one job
#   theschwartz.pl work W SECONDS DIR   W processes find and complete from the moment stdin ends
use strict;
use warnings;

use DBI;
use TheSchwartz;
use Time::HiRes qw(time);

package Peer::Job;
use parent -norequire, 'TheSchwartz::Worker';
BEGIN { require TheSchwartz::Worker }

package main;

sub database {
	open my $in, '<', $ENV{PEERS_OPTIONS} or die "$ENV{PEERS_OPTIONS}: $!\n";
	my %login = map { /^(\w+)="?(.*?)"?$/ ? ($1, $2) : () } <$in>;
	close $in;
	return {
		dsn  => "dbi:mysql:database=$login{database};mysql_socket=$login{socket}",
		user => $login{user},
		pass => $login{password},
	};
}

# Keeps the connection, as the documentation of TheSchwartz advises for small jobs.
sub client {
	my ($told) = @_;
	my $client = TheSchwartz->new(
		databases               => [database()],
		driver_cache_expiration => 300,
		verbose                 => $told,
	);
	$client->can_do('Peer::Job');
	return $client;
}

sub make_tables {
	my $to = database();
	my $dbh = DBI->connect(@$to{qw(dsn user pass)}, { RaiseError => 1, PrintError => 0 });
	open my $in, '<', $ENV{PEERS_SCHEMA} or die "$ENV{PEERS_SCHEMA}: $!\n";
	$dbh->do($_) for grep { /CREATE/ } split /;/, join '', <$in>;
	close $in;
	$dbh->disconnect;
	client(undef)->insert('Peer::Job', undef) or die "no job could be inserted\n";
	return;
}

sub fault {
	my ($lines, $where, $message) = @_;
	$message =~ tr/\t\n/  /;
	push @$lines, "error\t$where\t$message";
	return;
}

# Tries a delete again that failed: otherwise the job would be given a second time.
sub complete {
	my ($job, $lines) = @_;
	for (1 .. 10) {
		return 1 if eval { $job->completed; 1 };
		fault($lines, 'delete', $@);
	}
	return 0;
}

sub work {
	my ($number, $seconds, $dir) = @_;
	my @lines;
	# If the SELECT of a pop fails, TheSchwartz only logs this line.
	my $client = client(sub { fault(\@lines, 'pop', $_[0]) if $_[0] =~ /^Disabling DB/ });
	my ($hash) = keys %{ $client->{databases} };
	$client->driver_for($hash)->rw_handle->selectrow_array('SELECT 1');
	my $empty = 0;
	syswrite STDOUT, "ready\n";
	1 while sysread STDIN, my $nothing, 1;
	my $begun = my $now = time;
	while ($now - $begun < $seconds) {
		my $job = eval { $client->find_job_for_workers };
		if ($@) {
			fault(\@lines, 'pop', $@);
		} elsif (!$job) {
			$empty++;
		} elsif (complete($job, \@lines)) {
			push @lines, sprintf "job\t%d\t%.3f", $job->jobid, (time - $now) * 1000;
		} else {
			push @lines, "given\t" . $job->jobid;
		}
		$now = time;
	}
	push @lines, sprintf "worker\t%.6f\t%.6f\t%d\n", $begun, $now, $empty;
	open my $out, '>', "$dir/$number" or die "$dir/$number: $!\n";
	print {$out} join "\n", @lines;
	close $out or die "$dir/$number: $!\n";
	return;
}

sub start {
	my ($workers, @more) = @_;
	for my $number (1 .. $workers) {
		next if fork;
		work($number, @more);
		exit 0;
	}
	my $bad = 0;
	while (wait > 0) {
		$bad = 1 if $?;
	}
	exit $bad;
}

if ("@ARGV" eq 'tables') {
	make_tables();
} elsif (@ARGV == 4 && $ARGV[0] eq 'work') {
	start(@ARGV[1 .. 3]);
} else {
	die "theschwartz.pl: tables, or work W SECONDS DIR\n";
}
