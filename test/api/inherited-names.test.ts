import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdminWorld, verdict, type AdminWorld, type Person } from '../support/admin-world.ts';

let place: AdminWorld;
beforeAll(async () => {
  place = await openAdminWorld();
});
afterAll(() => place?.close());

const as = (who: Person) => (method: string, path: string, body?: object) =>
  place.ask(who, method, path, body);

/** A name that every object inherits and that a role may have. */
describe('a role with the key constructor', () => {
  it('is given in a space, holds its permissions and no more, and is taken back', async () => {
    const roleId = await place.role(['collections.read'], 'constructor');
    const member = await place.person({ spaceRole: null });
    const made = await as(place.owner)('POST', place.inSpace('/members'), {
      principal_id: member.principalId,
      role_id: roleId,
    });
    expect(made.status, made.text).toBe(201);
    const own = as(member);
    expect(verdict(await own('GET', '/spaces'))).toBe('200');
    expect(verdict(await own('GET', place.inSpace('/collections')))).toBe('200');
    expect(verdict(await own('POST', place.inSpace('/collections'), { name: 'A' }))).toBe(
      '403 missing_permission collections.create',
    );
    const [listed] = (await as(place.owner)('GET', place.inSpace('/members'))).body.data.filter(
      ({ principal_id: id }: { principal_id: string }) => id === member.principalId,
    );
    expect(JSON.stringify(listed)).toContain(roleId);
    const gone = await as(place.owner)('DELETE', place.inSpace(`/members/${listed.id}`));
    expect(gone.status, gone.text).toBe(200);
    expect(verdict(await own('GET', place.inSpace('/collections')))).toMatch(/^40[34]/);
  });

  it('is given in the tenant, and by a key with restricted permissions', async () => {
    const member = await place.person({ spaceRole: null, tenantRoles: ['constructor'] });
    expect(verdict(await as(member)('GET', '/sessions'))).toBe('200');
    expect(verdict(await as(member)('GET', '/admin/roles'))).toBe('403 missing_permission roles.read');
    const made = await as(place.owner)('POST', '/admin/api-keys', {
      name: 'constructor',
      principal_id: member.principalId,
    });
    expect(made.status, made.text).toBe(201);
  });
});

it('reads no type of a file from a name that every object has', async () => {
  for (const filename of ['a.constructor', 'a.tostring', 'a.__proto__', 'valueOf']) {
    const answer = await as(place.owner)('POST', place.inSpace('/responses'), {
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_file', filename, file_data: 'eA==' }] },
      ],
    });
    expect(verdict(answer), filename).toBe('422 invalid_request');
  }
});
