/** Adds to a number in a file, over and over, each time under the lock. */
import { readFileSync, writeFileSync } from 'node:fs';
import { tryLock } from '../../../bin/launcher/lock.ts';

const [lockFile = '', counterFile = '', rounds = '0'] = process.argv.slice(2);
for (let done = 0; done < Number(rounds);) {
  const held = tryLock(lockFile);
  if (!held) continue;
  writeFileSync(counterFile, String(Number(readFileSync(counterFile, 'utf8')) + 1));
  held.release();
  done += 1;
}
