import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { startLimitedChild } from '#adapters/process/limited-child.ts';

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
    if (existsSync(share)) expect(readFileSync(share, 'utf8')).toMatch(/ nice 19\n$/);
  },
);
