import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tryLock, type Lock } from './lock.ts';
import { portTaken, type WantedPort } from './ports.ts';

/** Of this user alone, who could otherwise be kept from a port by a file of another one. */
const claims = join(tmpdir(), `platform-ports-${process.getuid?.() ?? 'all'}`);

/**
 * Claims the ports among the starts of this user, until they are released or the process ends. Two starts at the same
 * moment find the same port free; the later one would take the other's server for its own.
 * @throws LaunchError for a port that another start has claimed
 */
export function claimPorts(wanted: readonly WantedPort[], folder = claims): Lock {
  const held: Lock[] = [];
  const release = (): void => held.forEach((lock) => lock.release());
  for (const want of wanted) {
    const lock = tryClaim(folder, want.port);
    if (lock === undefined) {
      release();
      throw portTaken(want);
    }
    held.push(lock);
  }
  return { release };
}

/** Without a folder for temporary files nothing is claimed: the check of the port itself remains. */
function tryClaim(folder: string, port: number): Lock | undefined {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return tryLock(join(folder, `${port}.lock`));
  } catch {
    return { release: () => undefined };
  }
}
