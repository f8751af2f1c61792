<?php
// Laravel's DatabaseQueue, without its worker: see ./run, which starts this.
//   laravel.php tables               makes the table as Laravel's migration does, with one job
//   laravel.php work W SECONDS DIR   W processes pop and delete from the moment stdin ends
require_once 'Illuminate/Queue/autoload.php';
require_once 'Illuminate/Database/autoload.php';

use Illuminate\Container\Container;
use Illuminate\Database\Capsule\Manager;
use Illuminate\Queue\DatabaseQueue;

// The settings of Laravel's own config/database.php and config/queue.php.
function open_database()
{
	$login = parse_ini_file(getenv('PEERS_OPTIONS'), false, INI_SCANNER_RAW);
	$manager = new Manager;
	$manager->addConnection([
		'driver' => 'mysql',
		'unix_socket' => $login['socket'],
		'host' => 'localhost',
		'username' => $login['user'],
		'password' => $login['password'],
		'database' => $login['database'],
		'charset' => 'utf8mb4',
		'collation' => 'utf8mb4_unicode_ci',
		'prefix' => '',
		'strict' => true,
		'engine' => null,
	]);
	return $manager;
}

function open_queue()
{
	$queue = new DatabaseQueue(open_database()->getConnection(), 'jobs', 'default', 90);
	$queue->setContainer(new Container);
	$queue->setConnectionName('database');
	return $queue;
}

function make_tables()
{
	open_database()->getConnection()->getSchemaBuilder()->create('jobs', function ($table) {
		$table->bigIncrements('id');
		$table->string('queue')->index();
		$table->longText('payload');
		$table->unsignedTinyInteger('attempts');
		$table->unsignedInteger('reserved_at')->nullable();
		$table->unsignedInteger('available_at');
		$table->unsignedInteger('created_at');
	});
	open_queue()->push('J');
}

function fault(&$lines, $where, $error)
{
	$lines[] = "error\t$where\t" . strtr($error->getMessage(), "\t\n", '  ');
}

// Tries a delete again that failed: otherwise the job would be given a second time.
function delete_job($job, &$lines)
{
	for ($try = 1; $try <= 10; $try++) {
		try {
			$job->delete();
			return true;
		} catch (Throwable $error) {
			fault($lines, 'delete', $error);
		}
	}
	return false;
}

function work($number, $seconds, $dir)
{
	$queue = open_queue();
	$queue->getDatabase()->select('SELECT 1');
	$lines = [];
	$empty = 0;
	fwrite(STDOUT, "ready\n");
	stream_get_contents(STDIN);
	$begun = $now = microtime(true);
	while ($now - $begun < $seconds) {
		try {
			$job = $queue->pop();
			if (!$job) {
				$empty++;
			} elseif (delete_job($job, $lines)) {
				$took = (microtime(true) - $now) * 1000;
				$lines[] = sprintf("job\t%d\t%.3f", $job->getJobId(), $took);
			} else {
				$lines[] = "given\t{$job->getJobId()}";
			}
		} catch (Throwable $error) {
			fault($lines, 'pop', $error);
		}
		$now = microtime(true);
	}
	$lines[] = sprintf("worker\t%.6f\t%.6f\t%d\n", $begun, $now, $empty);
	file_put_contents("$dir/$number", implode("\n", $lines));
}

function start($workers, $seconds, $dir)
{
	for ($number = 1; $number <= $workers; $number++) {
		if (pcntl_fork() === 0) {
			work($number, $seconds, $dir);
			exit(0);
		}
	}
	for ($status = $bad = 0; pcntl_wait($status) > 0;) {
		$bad = $status === 0 ? $bad : 1;
	}
	exit($bad);
}

if ($argc === 2 && $argv[1] === 'tables') {
	make_tables();
} elseif ($argc === 5 && $argv[1] === 'work') {
	start((int) $argv[2], (float) $argv[3], $argv[4]);
} else {
	fwrite(STDERR, "laravel.php: tables, or work W SECONDS DIR\n");
	exit(2);
}
