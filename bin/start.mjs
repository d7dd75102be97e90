// Plain JavaScript for any Node of recent years: the programs below need the version that this file looks
// for.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const NEEDED = 24;
const checkout = fileURLToPath(new URL('..', import.meta.url));
const installed = `${checkout}node_modules/.bin/node`;

function refuse(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

function runWith(node) {
  // The channel shows the other process when this one dies; signals are forwarded.
  const child = spawn(node, process.argv.slice(1), {
    env: { ...process.env, PLATFORM_NODE_CHOSEN: '1' },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  whenNpmDies(() => child.kill('SIGTERM'));
  child.on('error', (error) =>
    refuse(`Node ${NEEDED} in node_modules cannot run (${error.message}): run \`npm ci\` again.`),
  );
  child.on('exit', (code) => process.exit(code === null ? 1 : code));
}

/** A signal to npm alone ends npm and its shell and does not reach this process; their end does. */
function whenNpmDies(stop) {
  if (process.env.npm_lifecycle_event === undefined || process.env.PLATFORM_NODE_CHOSEN) return;
  const starter = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === starter) return;
    clearInterval(timer);
    stop();
  }, 500);
  timer.unref();
}

if (!existsSync(`${checkout}node_modules/pg`)) {
  refuse('The dependencies are not installed: run `npm ci`, then `npm start`.');
} else if (Number(process.versions.node.split('.')[0]) >= NEEDED) {
  whenNpmDies(() => process.kill(process.pid, 'SIGTERM'));
  const { launch } = await import('./launcher/launch.ts');
  process.exit(await launch({ env: process.env, args: process.argv.slice(2) }));
} else if (existsSync(installed) && !process.env.PLATFORM_NODE_CHOSEN) {
  runWith(installed);
} else {
  refuse(
    `Node ${NEEDED} or newer is needed and this is ${process.version}: run \`npm ci\` with optional packages, which brings it on Linux and Windows, or install it from nodejs.org.`,
  );
}
