import { writeFile } from 'node:fs/promises';
import { buildBundle } from './build-bundle.ts';

/** Builds the workflow code once for many workers: `node temporal/write-bundle.ts <file>`. */
const [file] = process.argv.slice(2);
if (file === undefined) {
  throw new Error('Which file? node temporal/write-bundle.ts <file>');
}
await writeFile(file, (await buildBundle()).code);
