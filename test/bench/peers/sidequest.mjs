// Sidequest, without its engine's loop: see ./run, which starts this.
//   sidequest.mjs tables               makes the tables by its migrations, with one job
//   sidequest.mjs work W SECONDS DIR   W processes claim and complete from the moment stdin ends
//
// $PEERS_BATCH is how many jobs are claimed at once (1).
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.PEERS_MODULES}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));

const { CompleteTransition, RunTransition, configureLogger } = await load('@sidequest/core');
const { JobTransitioner } = await load('@sidequest/engine');
const backendModule = await load('@sidequest/mysql-backend');
const MysqlBackend = backendModule.default.default ?? backendModule.default;

configureLogger({ level: 'error', json: false });

function openBackend() {
	const login = Object.fromEntries(readFileSync(process.env.PEERS_OPTIONS, 'utf8')
		.split('\n').filter((line) => line.includes('='))
		.map((line) => /^(\w+)="?(.*?)"?$/.exec(line).slice(1)));
	return new MysqlBackend({
		connection: {
			socketPath: login.socket,
			user: login.user,
			password: login.password,
			database: login.database,
		},
		pool: { min: 1, max: 1 },
	});
}

async function makeTables() {
	const backend = openBackend();
	await backend.migrate();
	await backend.createNewQueue({ name: 'default' });
	await backend.createNewJob({
		queue: 'default', script: 'j', class: 'J', args: [], constructor_args: [],
		state: 'waiting', attempt: 0,
	});
	await backend.close();
}

function fault(lines, where, error) {
	lines.push(`error\t${where}\t${String(error.message).replaceAll(/[\t\n]/g, ' ')}`);
}

// Writes what the engine writes when a job begins and when it has ended. It tries an update again
// that failed: otherwise the job would be given a second time.
async function complete(backend, job, lines) {
	for (let attempt = 1; attempt <= 10; attempt++) {
		try {
			const fresh = { ...job };
			const running = fresh.state === 'running' ? fresh :
				await JobTransitioner.apply(backend, fresh, new RunTransition());
			job = { ...running };
			await JobTransitioner.apply(backend, running, new CompleteTransition());
			return true;
		} catch (error) {
			fault(lines, 'delete', error);
		}
	}
	return false;
}

const clock = () => performance.timeOrigin + performance.now();

async function work(number, seconds, dir) {
	const backend = openBackend();
	const batch = Number(process.env.PEERS_BATCH || 1);
	const lines = [];
	let empty = 0;
	await backend.getQueue('default');
	writeSync(1, 'ready\n');
	process.stdin.resume();
	await new Promise((resolve) => process.stdin.on('end', resolve));
	const begun = clock();
	let now = begun;
	while (now - begun < seconds * 1000) {
		try {
			const jobs = await backend.claimPendingJob('default', batch);
			const done = [];
			for (const job of jobs)
				done.push(await complete(backend, job, lines));
			const took = (clock() - now) / (jobs.length || 1);
			for (const [i, job] of jobs.entries())
				lines.push(done[i] ? `job\t${job.id}\t${took.toFixed(3)}` :
					`given\t${job.id}`);
			empty += jobs.length === 0 ? 1 : 0;
		} catch (error) {
			fault(lines, 'pop', error);
		}
		now = clock();
	}
	lines.push(`worker\t${(begun / 1000).toFixed(6)}\t${(now / 1000).toFixed(6)}\t${empty}`);
	writeFileSync(`${dir}/${number}`, `${lines.join('\n')}\n`);
	await backend.close();
}

async function start(workers, seconds, dir) {
	const ended = [];
	for (let number = 1; number <= workers; number++) {
		const child = spawn(process.execPath,
			[process.argv[1], 'worker', number, seconds, dir].map(String),
			{ stdio: 'inherit' });
		ended.push(new Promise((resolve) => child.on('exit', resolve)));
	}
	process.exit((await Promise.all(ended)).some((status) => status !== 0) ? 1 : 0);
}

const [command, ...args] = process.argv.slice(2);
if (command === 'tables' && args.length === 0) {
	await makeTables();
} else if (command === 'work' && args.length === 3) {
	await start(Number(args[0]), args[1], args[2]);
} else if (command === 'worker' && args.length === 3) {
	await work(args[0], Number(args[1]), args[2]);
} else {
	process.stderr.write('sidequest.mjs: tables, or work W SECONDS DIR\n');
	process.exit(2);
}
