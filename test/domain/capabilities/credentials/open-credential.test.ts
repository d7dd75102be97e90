import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCredential } from '#domain/capabilities/credentials/create-credential.ts';
import type { CredentialUse } from '#domain/capabilities/credentials/credential-source.ts';
import { openCredential, type OpenedCredential } from '#domain/capabilities/credentials/open-credential.ts';
import { updateCredential } from '#domain/capabilities/credentials/update-credential.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { addMember, createWorld, secrets } from '../../../support/world.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine?.stop());

const origin = 'https://crm.example.com';
let count = 0;

async function stored(spaceId: string | null = engine.world.spaceId): Promise<CredentialUse> {
  count += 1;
  const { credential } = await engine.act(
    (ctx) =>
      createCredential(ctx, {
        name: `crm ${count}`,
        kind: 'bearer',
        origin,
        value: { token: 'tk-1' },
        idempotency: null,
      }),
    { spaceId },
  );
  const { tenantId, owner } = engine.world;
  const place = { tenantId, spaceId: engine.world.spaceId, principalId: owner.principalId };
  return { ...place, credentialId: credential.id, url: `${origin}/mcp` };
}

const open = (use: CredentialUse): Promise<OpenedCredential | null> =>
  engine.database.unitOfWork.inTenant(use.tenantId, (em) => openCredential({ em, secrets }, use));
const first = { version: 1, value: { kind: 'bearer', token: 'tk-1' } };
const lastUsed = async ({ credentialId }: CredentialUse): Promise<Date | null> =>
  (await engine.admin.query('select last_used_at from credentials where id = $1', [credentialId])).rows[0]
    .last_used_at as Date | null;

describe('a stored credential', () => {
  it('opens for an address of its origin and for no other, whatever the address was before', async () => {
    const use = await stored();
    expect(await open(use)).toEqual(first);
    const others = [
      'http://crm.example.com/mcp',
      'https://crm.example.com:8443/mcp',
      'https://crm.example.com.collector.test/mcp',
      'https://crm.example.com@collector.test/mcp',
      'no address',
    ];
    for (const url of others) {
      expect([url, await open({ ...use, url })]).toEqual([url, null]);
    }
  });

  it('opens in its space alone, or in every space where it is the tenant’s', async () => {
    const [ofSpace, ofTenant] = [await stored(), await stored(null)];
    for (const spaceId of [newId(), null]) {
      expect(await open({ ...ofSpace, spaceId })).toBeNull();
      expect(await open({ ...ofTenant, spaceId })).toEqual(first);
    }
  });

  it('opens in no other tenant', async () => {
    const use = await stored(null);
    const other = await createWorld(engine.database.unitOfWork);
    expect(await open({ ...use, tenantId: other.tenantId })).toBeNull();
  });

  it('of a person opens for that person alone', async () => {
    const use = await stored();
    const { principalId } = await addMember(engine.database.unitOfWork, engine.world);
    await engine.admin.query('update credentials set owner_id = $1 where id = $2', [
      principalId,
      use.credentialId,
    ]);
    expect(await open(use)).toBeNull();
    expect(await open({ ...use, principalId })).toEqual(first);
  });

  it('opens as it was rotated, and no more once it is deleted', async () => {
    const use = await stored();
    const { credentialId } = use;
    await open(use);
    await engine.act((ctx) => updateCredential(ctx, { credentialId, value: { token: 'tk-2' } }));
    expect(await open(use)).toEqual({ version: 2, value: { kind: 'bearer', token: 'tk-2' } });
    await engine.admin.query('delete from credentials where id = $1', [credentialId]);
    expect(await open(use)).toBeNull();
  });

  it('cannot be opened in another row’s place', async () => {
    const [one, two] = [await stored(), await stored()];
    await engine.admin.query(
      `update credentials set sealed_value = (select sealed_value from credentials where id = $1) where id = $2`,
      [one.credentialId, two.credentialId],
    );
    await expect(open(two)).rejects.toThrow();
  });

  it('notes its use once a minute, and waits for nobody to do so', async () => {
    const use = await stored();
    expect(await lastUsed(use)).toBeNull();
    await open(use);
    const noted = await lastUsed(use);
    expect(noted).not.toBeNull();
    await open(use);
    expect(await lastUsed(use)).toEqual(noted);
    await engine.admin.query(
      `update credentials set last_used_at = now() - interval '2 minutes' where id = $1`,
      [use.credentialId],
    );
    await engine.admin.query('begin');
    await engine.admin.query('select from credentials where id = $1 for update', [use.credentialId]);
    expect(await open(use)).toEqual(first);
    await engine.admin.query('commit');
    expect((await lastUsed(use))!.getTime()).toBeLessThan(noted!.getTime());
    await open(use);
    expect((await lastUsed(use))!.getTime()).toBeGreaterThanOrEqual(noted!.getTime());
  });
});
