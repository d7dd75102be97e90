import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { openTenant } from '#domain/workspace/tenants/open-tenant.ts';
import { platformTenantId } from '#domain/workspace/tenants/platform-tenant.ts';
import { setUpPlatform } from '#domain/workspace/tenants/set-up-platform.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { secrets } from '../../../support/world.ts';

let database: TestDatabase;
const origin = { via: 'cli', requestId: null } as const;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

it('a tenant cannot get the slug of the platform, not even before the platform has its tenant', async () => {
  const id = newId();
  const opened = database.unitOfWork.inTenant(id, (em) =>
    openTenant({ em, secrets, origin }, { id, slug: 'platform', name: 'First' }),
  );
  await expect(opened).rejects.toMatchObject({ code: 'already_exists', detail: { param: 'slug' } });
  const operator = await database.unitOfWork.inTenant(platformTenantId, (em) =>
    setUpPlatform(em, secrets, origin),
  );
  expect(operator.token).toMatch(/^ak\./);
});
