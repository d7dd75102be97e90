import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import { implied, permissions, platformOnly, spaceScoped } from '#domain/foundation/access/permissions.ts';
import { admit, authorize, type AccessRecord } from '#domain/foundation/access/policy.ts';
import { builtInRoles } from '#domain/foundation/access/roles.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { authorizeThread } from '#domain/conversations/threads/authorize-thread.ts';

const identity = { tenantId: newId(), principalId: newId(), apiKeyId: null, keyPermissions: null };
const origin = { via: 'api', requestId: null } as const;
const record: AccessRecord = {
  tenant_status: 'active',
  is_platform: false,
  principal_status: 'active',
  principal_type: 'user',
  space_found: true,
  tenant_roles: [],
  space_role: null,
  custom_roles: {},
};
const spaceId = newId();

function grantedBy(access: Partial<AccessRecord>, keyPermissions: string[] | null = null): Set<string> {
  return new Set(admit({ ...identity, keyPermissions }, origin, { ...record, ...access }, spaceId).granted);
}

const somePermissions = fc.subarray([...permissions]);

describe('the permission set of a principal', () => {
  it('is empty without a role, whatever its key grants', () => {
    expect(grantedBy({}, [...permissions])).toEqual(new Set());
  });

  it('includes reading with writing, and tools with responses', () => {
    expect(
      grantedBy({ tenant_roles: ['r'], custom_roles: { r: ['collections.update', 'responses.create'] } }),
    ).toEqual(
      new Set([
        'collections.update',
        'collections.read',
        'responses.create',
        'knowledge.search',
        'tools.execute',
      ]),
    );
  });

  it('never includes reading other people’s responses with creating responses', () => {
    expect(implied('responses.create')).not.toContain('responses.read');
  });

  it('is the sum of tenant roles and space role, with all implied permissions', () => {
    fc.assert(
      fc.property(somePermissions, somePermissions, (tenant, space) => {
        const custom_roles = { a: tenant, b: space };
        const expected = [...tenant, ...space].flatMap(implied).filter((name) => !platformOnly.has(name));
        expect(grantedBy({ tenant_roles: ['a'], space_role: 'b', custom_roles })).toEqual(new Set(expected));
      }),
    );
  });

  it('is never more than its key grants, nor more than its roles', () => {
    fc.assert(
      fc.property(somePermissions, somePermissions, (roles, key) => {
        const access = { tenant_roles: ['a'], custom_roles: { a: roles } };
        const cut = grantedBy(access, key);
        const byKey = new Set<string>(key.flatMap(implied));
        expect(cut).toEqual(new Set([...grantedBy(access)].filter((name) => byKey.has(name))));
      }),
    );
  });

  it('includes permissions of the platform for its own principals only', () => {
    const access = { tenant_roles: ['platform_operator'] };
    expect([...platformOnly].filter((name) => grantedBy(access).has(name))).toEqual([]);
    expect(
      [...platformOnly].filter((name) => !grantedBy({ ...access, is_platform: true }).has(name)),
    ).toEqual([]);
  });

  it('cannot come from a custom role that borrows the name of a built-in one', () => {
    expect(grantedBy({ tenant_roles: ['member'], custom_roles: { member: [...permissions] } })).toEqual(
      new Set(builtInRoles['member']!.flatMap(implied)),
    );
  });

  it('ignores names that are not in the catalogue', () => {
    expect(grantedBy({ tenant_roles: ['r', 'gone'], custom_roles: { r: ['everything.all'] } })).toEqual(
      new Set(),
    );
  });

  it('limits a role of a space to that space and its holder’s own notifications', () => {
    for (const role of ['space_admin', 'space_editor', 'space_member', 'space_viewer']) {
      expect(
        [...grantedBy({ space_role: role })].filter((name) => !spaceScoped.has(name as never)),
        role,
      ).toEqual(['notifications.read']);
    }
  });
});

describe('no caller is admitted', () => {
  it.each([
    [{ tenant_status: 'suspended' }, 'tenant_suspended'],
    [{ tenant_status: 'deleting' }, 'tenant_deleting'],
    [{ tenant_status: 'deletion_scheduled' }, 'tenant_deleting'],
    [{ principal_status: 'disabled' }, 'principal_disabled'],
    [{ space_found: false }, 'space_not_found'],
  ])('where %j', (access, code) => {
    expect(() => grantedBy({ tenant_roles: ['owner'], ...access })).toThrow(
      expect.objectContaining({ code }),
    );
  });
});

describe('a refusal', () => {
  it.each([
    [spaceId, { type: 'space', id: spaceId }, 'Missing permission members.add in this space.'],
    [null, { type: 'tenant', id: identity.tenantId }, 'Missing permission members.add in this tenant.'],
  ])('names the missing permission and its scope', (space, scope, message) => {
    const caller = admit(identity, origin, record, space);
    expect(() => authorize(caller, 'members.add')).toThrow(
      expect.objectContaining({
        code: 'missing_permission',
        message,
        detail: { missingPermission: 'members.add', requiredPermissions: ['members.add'], scope },
      }),
    );
  });
});

describe('a caller’s own resource', () => {
  const mine = (keyPermissions: string[] | null) => {
    const access = { ...record, tenant_roles: [] };
    return admit({ ...identity, keyPermissions }, origin, access, spaceId);
  };
  const opens = (keyPermissions: string[] | null, owner = identity.principalId) => {
    try {
      authorizeOwn(mine(keyPermissions), 'responses.read', owner, 'responses.create');
      return true;
    } catch {
      return false;
    }
  };

  it('needs no grant, but is refused to a key restricted to other permissions', () => {
    expect(opens(null)).toBe(true);
    expect(opens(['collections.read'])).toBe(false);
    expect(opens([])).toBe(false);
  });

  it('is accessible to a key with its permission, an implying one, or that of creating it', () => {
    expect(opens(['responses.read'])).toBe(true);
    expect(opens(['responses.cancel']), 'whoever may change it may read it').toBe(true);
    expect(opens(['responses.create'])).toBe(true);
  });

  it('is accessible to no other principal', () => {
    expect(opens(null, newId())).toBe(false);
    expect(opens(['responses.create'], newId())).toBe(false);
  });
});

describe('a caller’s own threads', () => {
  const custom_roles = { mute: [], writer: ['messages.create'], reader: ['threads.read'] };
  const reaches = (access: Partial<AccessRecord>, keyPermissions: string[] | null = null) => {
    const full = { ...record, custom_roles, ...access };
    const caller = admit({ ...identity, keyPermissions }, origin, full, spaceId);
    try {
      authorizeThread(caller, 'threads.update', caller.principalId);
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: 'missing_permission' });
      return false;
    }
  };

  it('are accessible to every member of the space, with any role', () => {
    expect(reaches({ space_role: 'space_member' })).toBe(true);
    expect(reaches({ space_role: 'space_viewer' })).toBe(true);
    expect(reaches({ space_role: 'mute' })).toBe(true);
    expect(reaches({})).toBe(false);
  });

  it('are accessible through a role of the tenant that permits writing, but not by reading alone', () => {
    expect(reaches({ tenant_roles: ['writer'] })).toBe(true);
    expect(reaches({ tenant_roles: ['owner'] })).toBe(true);
    expect(reaches({ tenant_roles: ['reader'] })).toBe(false);
    expect(reaches({ tenant_roles: ['auditor'] })).toBe(false);
    expect(reaches({ tenant_roles: ['member'] })).toBe(false);
  });

  it('are not accessible to a key restricted to other permissions, nor to any key once its principal has left', () => {
    const space_role = 'space_member';
    expect(reaches({ space_role }, ['threads.update'])).toBe(true);
    expect(reaches({ space_role }, ['messages.create'])).toBe(true);
    expect(reaches({ space_role }, ['threads.read'])).toBe(false);
    expect(reaches({}, ['threads.update', 'messages.create'])).toBe(false);
    expect(reaches({ tenant_roles: ['writer'] }, ['messages.create'])).toBe(true);
  });
});
