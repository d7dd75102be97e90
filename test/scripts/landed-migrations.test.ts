import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/check/checkout.ts';
import {
  findEditedMigrations,
  judgeMigrations,
  type Checksums,
} from '../../scripts/check/landed-migrations.ts';

const migrations = join(checkout, 'domain/operations/schema/migrations');

test('the migrations of the checkout are as they landed', async () => {
  expect(await findEditedMigrations()).toEqual({ ok: true, text: '' });
});

test('an edited, a removed and an unlisted file of the migrations are each refused by name', async () => {
  const landed = JSON.parse(await readFile(join(migrations, 'checksums.json'), 'utf8')) as Checksums;
  const edited = await readFile(join(migrations, 'baseline/tables.sql'), 'utf8');
  const files: Checksums = { ...landed, 'new.sql': 'abc' };
  files['baseline/tables.sql'] = createHash('sha256').update(`${edited} `).digest('hex');
  delete files['baseline/secrets.sql'];
  expect(Object.keys(landed)).toContain('helpers.sql');
  expect(judgeMigrations(landed, files)).toEqual([
    expect.stringMatching(/migrations\/baseline\/secrets\.sql: .*is gone/),
    expect.stringMatching(/migrations\/baseline\/tables\.sql: .*was edited/),
    expect.stringMatching(/migrations\/new\.sql: .*land:migrations/),
  ]);
  expect(judgeMigrations(landed, landed)).toEqual([]);
});
