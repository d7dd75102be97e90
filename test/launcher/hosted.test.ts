import { expect, test } from 'vitest';
import { runHosted } from '../../bin/launcher/hosted.ts';
import { isAlive } from '../../bin/launcher/processes.ts';
import { until } from './started.ts';

/** A program that starts another one, prints its pid, and dies of SIGTERM without it. */
const PARENT = `
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)']);
  console.log(child.pid);
  setTimeout(() => {}, 60000);
`;

test('an aborted command takes the processes it started with it', { timeout: 15_000 }, async () => {
  const ending = new AbortController();
  let grandchild = 0;
  const running = runHosted(
    { command: process.execPath, args: ['-e', PARENT], env: {} },
    { signal: ending.signal, onLine: (line) => (grandchild = Number(line)) },
  );
  await until(() => grandchild > 0 && isAlive(grandchild), 5000);
  ending.abort(new Error('stopped'));
  await expect(running).rejects.toThrow('stopped');
  await until(() => !isAlive(grandchild), 1000);
});

test('a command that ends returns its exit code, its output and its last lines', async () => {
  const script = 'console.log("out"); console.error("err"); process.exit(4)';
  const { code, stdout, tail } = await runHosted({
    command: process.execPath,
    args: ['-e', script],
    env: {},
  });
  expect({ code, stdout, tail: tail.toSorted() }).toEqual({ code: 4, stdout: ['out'], tail: ['err', 'out'] });
});

test('a command that does not exist is a failure, not an exception', async () => {
  const { code, tail } = await runHosted({ command: '/does/not/exist', args: [], env: {} });
  expect(code).toBe(127);
  expect(tail.join()).toContain('cannot run');
});
