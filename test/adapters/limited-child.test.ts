import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { politeSession, startLimitedChild } from '#adapters/process/limited-child.ts';

const module = fileURLToPath(new URL('../../adapters/knowledge/extraction-process.ts', import.meta.url));
const statOf = (pid: number): number[] => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat
    .slice(stat.lastIndexOf(')') + 4)
    .split(' ')
    .map(Number);
};

it.runIf(process.platform === 'linux')(
  'a limited process yields to interactive ones, and its session to all others',
  async () => {
    const child = startLimitedChild(module, { heapMb: 64, residentMb: 256 });
    onTestFinished(() => void child.kill('SIGKILL'));
    const pid = child.pid!;
    // Last of all, the shell that sets the limits gives its place to the lower priority, and that to the module.
    await expect.poll(() => statOf(pid)[15]).toBe(15);
    const [parent, , session] = statOf(pid);
    expect({ parent, session }).toEqual({ parent: process.pid, session: pid });
    const share = `/proc/${pid}/autogroup`;
    if (existsSync(share)) expect(readFileSync(share, 'utf8')).toMatch(/ nice 5\n$/);
  },
);

it.runIf(process.platform === 'linux')(
  'a limited process has a small heap, and of the environment only what sets it',
  async () => {
    const child = startLimitedChild(module, { heapMb: 64, residentMb: 256 });
    onTestFinished(() => void child.kill('SIGKILL'));
    const listOf = (name: string) =>
      readFileSync(`/proc/${child.pid}/${name}`, 'utf8').split('\0').filter(Boolean);
    await expect.poll(() => listOf('cmdline')[0]).toBe(process.execPath);
    expect(listOf('cmdline')).toContain('--max-semi-space-size=4');
    // A shell may add its folder, and Node the channel to the parent.
    const names = listOf('environ').map((each) => each.slice(0, each.indexOf('=')));
    expect(names.filter((name) => name !== 'PWD' && !name.startsWith('NODE_CHANNEL_')).toSorted()).toEqual([
      'MALLOC_ARENA_MAX',
      'MALLOC_TRIM_THRESHOLD_',
    ]);
  },
);

/** Sets the share of a session where `sleep` counts its calls, and runs `then` with them. */
function setShare(prepare: (share: string) => void, then = ''): { sleeps: string; share: string } {
  const folder = mkdtempSync(join(tmpdir(), 'share-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [share, sleeps] = [join(folder, 'share'), join(folder, 'sleeps')];
  writeFileSync(sleeps, '');
  prepare(share);
  const stub = `sleep() { printf x >> ${sleeps}; ${then.replaceAll('SHARE', share)}\n}`;
  execFileSync('/bin/sh', ['-c', `${stub}\n{ ${politeSession(share)}; } 2>/dev/null`]);
  return { sleeps: readFileSync(sleeps, 'utf8'), share };
}
// A folder refuses what is written to it.
const refused = (share: string): void => mkdirSync(share);

it('the share of a session is set again after a refusal', () => {
  const { sleeps, share } = setShare(refused, 'rmdir SHARE && : > SHARE;');
  expect(sleeps).toBe('x');
  expect(readFileSync(share, 'utf8')).toBe('5\n');
});

it('the share of a session is tried twenty times, and not where there is none', () => {
  expect(setShare(refused).sleeps).toBe('x'.repeat(20));
  expect(setShare(() => undefined).sleeps).toBe('');
});
