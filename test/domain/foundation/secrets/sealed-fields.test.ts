import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { FieldPlace } from '#domain/foundation/secrets/field-place.ts';
import { openField, openFields } from '#domain/foundation/secrets/open-fields.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { connect } from '../../../support/tables.ts';
import { createWorld, secrets, type World } from '../../../support/world.ts';

let database: TestDatabase;
let world: World;

beforeAll(async () => {
  database = await createTestDatabase();
  world = await createWorld(database.unitOfWork);
});
afterAll(() => database?.drop());

const place = (more: Partial<FieldPlace> = {}): FieldPlace => ({
  tenantId: world.tenantId,
  table: 'spaces',
  column: 'tracing_secret',
  row: world.spaceId,
  ...more,
});

const seal = (text: string, principalId?: string): Promise<string> =>
  database.unitOfWork.inTenant(world.tenantId, (em) =>
    sealField({ em, secrets }, place(), text, principalId),
  );
const open = (sealed: string, at = place(), keys = secrets): Promise<string | null> =>
  database.unitOfWork.inTenant(at.tenantId, (em) => openField({ em, secrets: keys }, at, sealed));

describe('a sealed field', () => {
  it('opens to its text, and never has the same ciphertext twice', async () => {
    const text = 'sk-🔑 ü';
    const [one, two] = [await seal(text), await seal(text)];
    expect(one).toMatch(/^v1\|[0-9a-f-]{36}\|[\w-]{16}\|[\w-]+\|[\w-]{22}$/);
    expect(one).not.toBe(two);
    expect([await open(one), await open(two)]).toEqual([text, text]);
  });

  it('opens for no other row or field', async () => {
    const sealed = await seal('secret');
    for (const other of [{ table: 'mcp_servers' }, { column: 'name' }, { row: world.tenantId }]) {
      await expect(open(sealed, place(other))).rejects.toThrow();
    }
    const stranger = await createWorld(database.unitOfWork);
    expect(await open(sealed, place({ tenantId: stranger.tenantId }))).toBeNull();
  });

  it('does not open when a character changed, or under another master key', async () => {
    const sealed = await seal('secret');
    const at = sealed.length - 10;
    const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
    await expect(open(changed)).rejects.toThrow();
    await expect(open(sealed, place(), new Secrets(randomBytes(32).toString('base64')))).rejects.toThrow();
    await expect(open('secret')).rejects.toThrow('not of the form');
  });

  it('is erased with its principal’s key', async () => {
    const mine = await seal('a name', world.owner.principalId);
    const ours = await seal('a token');
    const opened = await database.unitOfWork.inTenant(world.tenantId, async (em) => {
      await em.execute('delete from data_keys where principal_id = ?', [world.owner.principalId]);
      const fields = [mine, ours].map((sealed) => ({ place: place(), sealed }));
      return openFields({ em, secrets }, fields);
    });
    expect(opened).toEqual([null, 'a token']);
  });

  it('is sealed under a new key after 90 days, while the old one still opens', async () => {
    const before = await seal('old');
    const admin = await connect(database.adminUrl);
    await admin.query(`update data_keys set created_at = now() - interval '91 days'`);
    await admin.end();
    const after = await seal('new');
    expect(after.split('|')[1]).not.toBe(before.split('|')[1]);
    expect(await open(before)).toBe('old');
  });
});
