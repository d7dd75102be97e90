import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { signCertificate } from '#domain/operations/erasure-proof/sign-certificate.ts';
import { buryTenant, readTombstone } from '#domain/operations/erasure-proof/tombstone.ts';
import { certificateOf } from '../../../support/erasure-certificate.ts';
import { openErasureWorld, type ErasureWorld } from '../../../support/erasure-world.ts';
import { secrets } from '../../../support/world.ts';

let world: ErasureWorld;

beforeAll(async () => {
  world = await openErasureWorld();
});
afterAll(() => world?.stop());

it('a tombstone keeps the first certificate of a deletion, which the runtime role reads and nobody changes', async () => {
  const tenantId = newId();
  const deletionId = newId();
  const signed = signCertificate(certificateOf(tenantId, deletionId), secrets.certificateKey());
  const later = { ...signed, signature: { ...signed.signature, value: 'later' } };
  for (const file of [signed, later]) await world.purge.inTenant(tenantId, (em) => buryTenant(em, file));
  const read = (id: string) => world.database.unitOfWork.acrossTenants((em) => readTombstone(em, id));
  expect(await read(deletionId)).toBe(JSON.stringify(signed));
  expect(await read(newId())).toBeNull();
  for (const change of [
    `update app.tenant_tombstones set reason_code = 'x'`,
    'delete from app.tenant_tombstones',
  ]) {
    await expect(world.purge.acrossTenants((em) => em.execute(change))).rejects.toMatchObject({
      code: '42501',
    });
  }
});
