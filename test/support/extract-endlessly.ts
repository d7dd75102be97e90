import { readdirSync, readFileSync } from 'node:fs';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { sourceOf } from './document-source.ts';
import { slowPage } from './slow-page.ts';

/** Prints the number of a process that reads a page for a long time, until this program is killed. */
const source = sourceOf({ tenantId: 'a', mediaType: 'text/html', content: slowPage });
const reading = createTextExtractor().extract(source, new AbortController().signal);
const looks = setInterval(() => {
  for (const pid of readdirSync('/proc').map(Number)) {
    const parent = pid > 0 ? parentOf(pid) : null;
    if (parent === process.pid) {
      clearInterval(looks);
      process.stdout.write(`${pid}\n`);
      return;
    }
  }
}, 100);

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]);
  } catch {
    return null;
  }
}

await reading.catch(() => {});
