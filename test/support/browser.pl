#!/usr/bin/perl
# Opens a file in a browser without a screen, and prints as JSON what became of it. Speaks to
# Chromium by its pipe, so nothing needs a network: the browser has none.
#
#   browser.pl PATH FILE WIDTH SCHEME [PNG]
#
# PATH is the browser, SCHEME light, dark or print. The answer has
#   errors    what the console and the log say, and what the page's policy has forbidden
#   requests  what was asked for beside the file
#   overflow  by how many pixels the page is wider than the window
#   outside   elements that reach out of their card or of the window
#   narrow    cells with text that are higher than they are wide
#   pictures  width, height and label of each one
#   small     the least size of a text that is shown, in pixels
use strict;
use warnings;
use JSON::PP;
use File::Temp qw(tempdir);
use MIME::Base64;

my ($browser, $file, $width, $scheme, $png) = @ARGV;
die "usage: browser.pl PATH FILE WIDTH light|dark|print [PNG]\n" unless defined $scheme;

my $folder = tempdir(CLEANUP => 1);
pipe(my $to_read, my $to) or die "pipe: $!\n";
pipe(my $from, my $from_write) or die "pipe: $!\n";
my $pid = fork() // die "fork: $!\n";
if ($pid == 0) {
	require POSIX;
	# The pipes may have these numbers.
	my $in = POSIX::dup(fileno $to_read);
	my $out = POSIX::dup(fileno $from_write);
	$in = POSIX::dup($in) while $in < 10;
	$out = POSIX::dup($out) while $out < 10;
	POSIX::dup2($in, 3);
	POSIX::dup2($out, 4);
	open STDOUT, '>', '/dev/null';
	open STDERR, '>', "$folder/stderr";
	exec $browser, '--no-sandbox', '--remote-debugging-pipe', '--no-first-run',
	    '--disable-background-networking', '--disable-gpu', '--hide-scrollbars',
	    "--user-data-dir=$folder/profile", 'about:blank';
	exit 127;
}
close $to_read;
close $from_write;
$to->autoflush(1);
local $SIG{ALRM} = sub { kill 'KILL', $pid; die "browser.pl: no answer\n" };
alarm(300);

my ($number, $session, %answer, @errors, @requests, $loaded) = (0);

sub take {
	local $/ = "\0";
	my $text = <$from> // die "browser.pl: the browser has ended\n";
	chomp $text;
	my $message = decode_json($text);
	my ($method, $of) = ($message->{method} // '', $message->{params} // {});
	$answer{$message->{id}} = $message if defined $message->{id};
	$loaded = 1 if $method eq 'Page.loadEventFired';
	push @errors, $of->{entry}{text} if $method eq 'Log.entryAdded';
	push @errors, $of->{exceptionDetails}{text} if $method eq 'Runtime.exceptionThrown';
	push @errors, encode_json($of->{args}) if $method eq 'Runtime.consoleAPICalled';
	push @errors, $of->{issue}{code} if $method eq 'Audits.issueAdded';
	push @errors, 'a dialog' if $method eq 'Page.javascriptDialogOpening';
	push @requests, $of->{request}{url} if $method eq 'Network.requestWillBeSent';
}

sub ask {
	my ($method, $parameters) = @_;
	my $id = ++$number;
	print $to encode_json({ id => $id, method => $method, params => $parameters // {},
	    defined $session ? (sessionId => $session) : () }), "\0";
	take() until $answer{$id};
	my $message = delete $answer{$id};
	die "browser.pl: $method: $message->{error}{message}\n" if $message->{error};
	return $message->{result};
}

my $target = ask('Target.createTarget', { url => 'about:blank' });
$session = ask('Target.attachToTarget', { targetId => $target->{targetId},
	flatten => JSON::PP::true })->{sessionId};
ask("$_.enable") for qw(Page Network Log Runtime Audits);
ask('Emulation.setDeviceMetricsOverride', { width => $width + 0, height => 800,
	deviceScaleFactor => 1, mobile => $width < 500 ? JSON::PP::true : JSON::PP::false });
ask('Emulation.setEmulatedMedia', $scheme eq 'print' ? { media => 'print' } :
	{ features => [{ name => 'prefers-color-scheme', value => $scheme }] });
ask('Page.navigate', { url => "file://$file" });
take() until $loaded;

my $script = <<'END';
(() => {
	const all = s => [...document.querySelectorAll(s)];
	const box = e => e.getBoundingClientRect();
	const name = e => e.tagName + '.' + (e.getAttribute('class') ?? '') + ': ' +
	    e.textContent.slice(0, 40);
	const root = document.documentElement;
	const shown = e => box(e).width > 0 && box(e).height > 0;
	const scrolled = e => e.closest('.scroll') !== null && !e.classList.contains('scroll');
	const edge = e => {
		const card = e.closest('.card') ?? root;
		return [box(card).left - .5, box(card).right + .5];
	};
	const out = all('body *').filter(e => shown(e) && !scrolled(e) &&
	    (box(e).left < edge(e)[0] || box(e).right > edge(e)[1]));
	const narrow = all('td, th, dd, li').filter(e => shown(e) && e.textContent.length > 8 &&
	    box(e).height > box(e).width);
	const scale = e => { const m = e.getScreenCTM?.(); return m ? m.a : 1; };
	const sizes = all('body *').filter(e => shown(e) && [...e.childNodes].some(c =>
	    c.nodeType === 3 && c.data.trim() !== '')).map(e =>
	    parseFloat(getComputedStyle(e).fontSize) * scale(e));
	return {
		title: document.title,
		scripts: document.scripts.length,
		overflow: root.scrollWidth - root.clientWidth,
		outside: out.map(name),
		narrow: narrow.map(name),
		pictures: all('figure > svg').map(e => ({ width: Math.round(box(e).width),
		    height: Math.round(box(e).height), label: e.getAttribute('aria-label') })),
		small: Math.min(...sizes),
		background: getComputedStyle(document.body).backgroundColor,
		ink: getComputedStyle(document.body).color
	};
})()
END
my $result = ask('Runtime.evaluate', { expression => $script, returnByValue => JSON::PP::true });
die "browser.pl: $result->{exceptionDetails}{text}: "
    . ($result->{exceptionDetails}{exception}{description} // '') . "\n"
    if $result->{exceptionDetails};
my $seen = $result->{result}{value};
if (defined $png) {
	my $shot = ask('Page.captureScreenshot', { captureBeyondViewport => JSON::PP::true });
	open my $picture, '>:raw', $png or die "$png: $!\n";
	print $picture decode_base64($shot->{data});
	close $picture;
}
$seen->{errors} = \@errors;
$seen->{requests} = [grep { $_ ne "file://$file" } @requests];
print JSON::PP->new->utf8->canonical->encode($seen), "\n";
print $to encode_json({ id => ++$number, method => 'Browser.close' }), "\0";
waitpid $pid, 0;
