/**
 * Runs one server as a child and stops it when the channel to the launcher closes.
 *
 * A process killed with SIGKILL cannot stop its children, and Node cannot ask the kernel to; this small process
 * in between survives the launcher just long enough to do it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { endRecorded, recordProcess, sendSignal } from './processes.ts';
import type { HostedCommand } from './hosted.ts';

// Written by `spawnHosted` in this folder only.
const hosted = JSON.parse(process.env['HOSTED_COMMAND'] ?? '{}') as HostedCommand;
const { command, args, cwd, env, uid, gid, stopSignal, stopTimeoutMs, recordFile } = hosted;

let child: ChildProcess | undefined;
let stopping = false;

/** Watched from before the start: a stop that comes in between must find the server. */
function stop(): void {
  if (stopping) return;
  stopping = true;
  const pid = child?.pid;
  if (pid === undefined) process.exit(1);
  sendSignal(pid, stopSignal);
  setTimeout(() => sendSignal(-pid, 'SIGKILL'), stopTimeoutMs);
}
process.on('disconnect', stop);
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

// After the launcher's death these have no reader; a failed write must not end the host before its server.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

// Only a host that was itself killed leaves the record of a running server.
if (recordFile) await endRecorded(recordFile, 0);
if (!process.connected) process.exit(1);

const running = spawn(command, args, {
  env,
  detached: true,
  stdio: ['ignore', 'inherit', 'inherit'],
  ...(cwd === undefined ? {} : { cwd }),
  ...(uid === undefined ? {} : { uid }),
  ...(gid === undefined ? {} : { gid }),
});
child = running;

running.on('error', (error) => {
  process.stderr.write(`${command} cannot run: ${error.message}\n`);
  process.exit(127);
});

running.on('spawn', () => {
  const { pid } = running;
  if (pid === undefined) return;
  if (recordFile) recordProcess(recordFile, pid);
  if (process.connected) process.send?.({ pid });
});

running.on('exit', (code, signal) => {
  // A compiler or an installer leaves its own children behind when it is stopped.
  if (running.pid !== undefined) sendSignal(-running.pid, 'SIGKILL');
  if (recordFile) rmSync(recordFile, { force: true });
  if (signal) process.stderr.write(`ended by ${signal}\n`);
  process.exit(code ?? 1);
});
