import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { checkout } from './checkout.ts';
import type { Findings } from './run-steps.ts';

const folder = 'domain/operations/schema/migrations/';
const list = `${folder}checksums.json`;

/** Sha256 of each file of a landed migration, by its path below `migrations/`. */
export type Checksums = Record<string, string>;

/** Existing databases have run the landed migrations: an edit would reach new databases only. */
export async function findEditedMigrations(): Promise<Findings> {
  const lines = judgeMigrations(await readLanded(), await readMigrations());
  return { ok: lines.length === 0, text: lines.join('\n') };
}

/** One line for each file that differs from its landed form, is missing or is not in the list. */
export function judgeMigrations(landed: Checksums, files: Checksums): string[] {
  const changed = Object.entries(landed)
    .filter(([path, checksum]) => files[path] !== checksum)
    .map(([path]) => {
      const what = files[path] === undefined ? 'is gone' : 'was edited';
      return `${folder}${path}: this landed migration ${what}; restore it, and write a new migration`;
    });
  const added = Object.keys(files)
    .filter((path) => landed[path] === undefined)
    .map((path) => `${folder}${path}: not in checksums.json; \`npm run land:migrations\` adds it`);
  return [...changed, ...added];
}

/** Adds the files that are not in the list yet, and changes no line of it. @returns the files that were added */
export async function landMigrations(): Promise<string[]> {
  const [landed, files] = [await readLanded(), await readMigrations()];
  const all = Object.entries({ ...files, ...landed }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  await writeFile(join(checkout, list), `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
  return Object.keys(files).filter((path) => landed[path] === undefined);
}

async function readLanded(): Promise<Checksums> {
  return JSON.parse(await readFile(join(checkout, list), 'utf8')) as Checksums;
}

/** Without the list itself and the base class, which is no migration. */
async function readMigrations(): Promise<Checksums> {
  const found = await readdir(join(checkout, folder), { recursive: true, withFileTypes: true });
  const paths = found
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) =>
      relative(join(checkout, folder), join(parentPath, name)).replaceAll(sep, '/'),
    )
    .filter((path) => path !== 'sql-migration.ts' && path !== 'checksums.json');
  const entries = paths.map(async (path) => [path, await checksumOf(path)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

async function checksumOf(path: string): Promise<string> {
  const text = await readFile(join(checkout, folder, path), 'utf8');
  return createHash('sha256').update(text).digest('hex');
}
