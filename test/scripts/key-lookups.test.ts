import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { lookUp } from '../../scripts/check/key-lookups.ts';

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

/** The lines of a file that the check names. */
async function foundIn(text: string): Promise<number[]> {
  const folder = await mkdtemp(join(tmpdir(), 'key-lookups-'));
  folders.push(folder);
  const compilerOptions = { strict: true, noEmit: true, target: 'es2024', types: [] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['code.ts'] }));
  const file = join(folder, 'code.ts');
  await writeFile(file, text);
  return lookUp(join(folder, 'tsconfig.json'), [file]).map((line) => Number(/:(\d+): /.exec(line)![1]));
}

test('a look-up by a key that is any string is found, whatever the source of the object', async () => {
  const found = await foundIn(`export const roles: Record<string, string[]> = { owner: ['all'] };
    interface Access { custom: { readonly [key: string]: string[] } }
    export const a = (key: string) => roles[key] ?? [];
    export const b = (access: Access, key: string) => access.custom[key];
    export const c = (key: string) => key in roles;
    export const d = (key: string) => (roles as Partial<Record<string, string[]>> | null)?.[key];
    export const e = (key: string) => { roles[key] = []; };
    export const f = (key: string) => { const { owner, ...rest } = roles; return [owner, rest[key]]; };
    export const g = <K extends string & { brand?: 'key' }>(key: K | null) => roles[key!];
  `);
  expect(found).toEqual([3, 4, 5, 6, 7, 8, 9]);
});

test('a look-up by a known key, of a list, or after an own-property check is not reported', async () => {
  const found = await foundIn(`const roles: Record<string, string[]> = { owner: ['all'] };
    const sizes: Record<'small' | 'large', number> = { small: 1, large: 2 };
    export const a = () => roles['owner'];
    export const b = (key: 'small' | 'large') => sizes[key];
    export const c = (list: string[], index: number) => list[index];
    export const d = (key: string) => (Object.hasOwn(roles, key) ? roles[key] : undefined);
    export const e = <T extends object>(thing: T, key: keyof T) => thing[key];
  `);
  expect(found).toEqual([]);
});
