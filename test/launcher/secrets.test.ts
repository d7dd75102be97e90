import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDataDirectory } from '../../bin/launcher/data-directory.ts';
import { LaunchError } from '../../bin/launcher/errors.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'secrets-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const addDatabase = () => {
  mkdirSync(join(folder, 'postgres', 'cluster'), { recursive: true });
  writeFileSync(join(folder, 'postgres', 'admin.password'), 'secret');
};
const refusal = (name: string) =>
  new LaunchError(
    `The data folder ${folder} holds a database, but its ${name} is missing or empty: restore that file from a copy of the folder, or choose another folder with PLATFORM_DATA_DIR.`,
  );

test('the first start makes the keys, and the next one beside the database finds them', () => {
  const first = openDataDirectory(folder);
  first.release();
  addDatabase();
  const next = openDataDirectory(folder);
  next.release();
  expect(next.masterKey).toBe(first.masterKey);
  expect(Buffer.from(first.masterKey, 'base64')).toHaveLength(32);
});

test.each(['master.key', 'postgres/admin.password'])(
  'without %s beside an existing database the start is refused and makes no new one',
  (name) => {
    openDataDirectory(folder).release();
    addDatabase();
    rmSync(join(folder, name));
    expect(() => openDataDirectory(folder)).toThrow(refusal(name));
    expect(existsSync(join(folder, name))).toBe(false);
    writeFileSync(join(folder, name), '\n');
    expect(() => openDataDirectory(folder)).toThrow(refusal(name));
    expect(readFileSync(join(folder, name), 'utf8')).toBe('\n');
    // The refusal holds no lock.
    writeFileSync(join(folder, name), Buffer.alloc(32).toString('base64'));
    openDataDirectory(folder).release();
  },
);
