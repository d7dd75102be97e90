import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AccessRecord } from '#domain/foundation/access/policy.ts';
import { Role } from '#domain/identity/roles/role.entity.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { addMember, createWorld, type NewMember, type World } from '../../../support/world.ts';

let database: TestDatabase;
let world: World;
beforeAll(async () => {
  database = await createTestDatabase();
  world = await createWorld(database.unitOfWork);
  await database.unitOfWork.inTenant(world.tenantId, async (em) => {
    for (const key of ['role_a', 'role_b', 'role_c'])
      em.create(Role, {
        tenantId: world.tenantId,
        id: newId(),
        key,
        name: key,
        permissions: ['spaces.read'],
      });
    await em.flush();
  });
});
afterAll(() => database?.drop());

async function rolesOf(member: NewMember, spaceId: string | null = world.spaceId) {
  const { principalId } = await addMember(database.unitOfWork, world, member);
  const [row] = await database.unitOfWork.inTenant(world.tenantId, (em) =>
    em.execute<{ access: AccessRecord }[]>('select app.read_access(?, ?, ?) as access', [
      world.tenantId,
      principalId,
      spaceId,
    ]),
  );
  const { tenant_roles, space_role, custom_roles } = row!.access;
  return { tenant_roles, space_role, custom_roles };
}

describe('the access read for a principal', () => {
  it('has the permissions of its own roles, not of every role of the tenant', async () => {
    expect(await rolesOf({ tenantRoles: ['role_a', 'member'], spaceRole: 'role_b' })).toEqual({
      tenant_roles: expect.toSatisfy((keys: string[]) => keys.toSorted().join() === 'member,role_a'),
      space_role: 'role_b',
      custom_roles: { role_a: ['spaces.read'], role_b: ['spaces.read'] },
    });
  });

  it('has no role of a space without membership', async () => {
    const role_a = ['spaces.read'];
    const outside = { tenant_roles: ['role_a'], space_role: null, custom_roles: { role_a } };
    expect(await rolesOf({ tenantRoles: ['role_a'], spaceRole: null })).toEqual(outside);
    expect(await rolesOf({ tenantRoles: ['role_a'], spaceRole: 'role_b' }, null)).toEqual(outside);
    expect(await rolesOf({ spaceRole: null })).toEqual({
      tenant_roles: [],
      space_role: null,
      custom_roles: {},
    });
  });
});
