import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unassignRole } from '#domain/identity/grants/assign-role.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { createRole } from '#domain/identity/roles/create-role.ts';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { setRolePermissions } from '#domain/identity/roles/set-role-permissions.ts';
import { withdrawApiKey } from '#domain/identity/api-keys/withdraw-api-key.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { deletePrincipal } from '#domain/workspace/members/delete-principal.ts';
import { updatePrincipal } from '#domain/identity/grants/update-principal.ts';
import { claimCall } from '#domain/responses/calls/claim-call.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { changeMemberRole } from '#domain/workspace/members/change-member-role.ts';
import { removeMember } from '#domain/workspace/members/remove-member.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';
import { openEngine, requestOf, search, type Engine } from '../../../support/engine.ts';
import { addMember, type NewMember } from '../../../support/world.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

interface Requester {
  principalId: string;
  apiKeyId: string;
}

/** A response of another principal, whose first turn has called a search. */
async function running(member: NewMember): Promise<{ requester: Requester; responseId: string }> {
  const { principalId, keyId } = await addMember(engine.database.unitOfWork, engine.world, member);
  const { rows } = await engine.admin.query('select id from api_keys where key_id = $1', [keyId]);
  const requester: Requester = { principalId, apiKeyId: rows[0].id as string };
  const responseId = newResponseId();
  const limits = { maxActivePerSpace: 1_000, retentionSeconds: 60 };
  await engine.act((ctx) => createResponse(ctx, requestOf(engine.world), { responseId, limits }), {
    ...requester,
  });
  await (await engine.attempt(responseId)).commit({ calls: [search('tides')], reason: 'tool_calls' });
  return { requester, responseId };
}

const claimFirstCall = (responseId: string) =>
  claimCall(engine.database, {
    tenantId: engine.world.tenantId,
    responseId,
    iteration: 0,
    callIndex: 0,
  });
const memberIdOf = async (ctx: Context, principalId: string) =>
  (await ctx.em.findOneOrFail(SpaceMember, { principalId })).id;

const ways: Record<
  string,
  { member?: NewMember; revoke(ctx: Context, requester: Requester): Promise<unknown> }
> = {
  'the membership of the space': {
    revoke: (ctx, { principalId }) => removeMember(ctx, { principalId }),
  },
  'the better role in the space': {
    revoke: async (ctx, { principalId }) => {
      const memberId = await memberIdOf(ctx, principalId);
      return changeMemberRole(ctx, { memberId, roleId: builtInRoleId('space_viewer') });
    },
  },
  'the role in the tenant': {
    member: { spaceRole: null, tenantRoles: ['admin'] },
    revoke: (ctx, { principalId }) => unassignRole(ctx, { principalId, roleId: builtInRoleId('admin') }),
  },
  'the API key': {
    revoke: (ctx, { apiKeyId }) => withdrawApiKey(ctx, { id: apiKeyId }),
  },
  'the principal, disabled': {
    revoke: (ctx, { principalId }) => updatePrincipal(ctx, { principalId, status: 'disabled' }),
  },
  'the principal, deleted': {
    revoke: (ctx, { principalId }) => deletePrincipal(ctx, { principalId }),
  },
};

describe('a permission withdrawn while a response runs', () => {
  it.each(Object.entries(ways))(
    '(%s) denies its next call and ends it at its next turn',
    async (_what, way) => {
      const { requester, responseId } = await running(way.member ?? {});
      const { spaceId } = engine.world;
      const wasTenantWide = way.member?.spaceRole === null;
      await engine.act((ctx) => way.revoke(ctx, requester), { spaceId: wasTenantWide ? null : spaceId });
      expect((await claimFirstCall(responseId)).kind).toBe('denied');
      const claim = await engine.claim(responseId, 1);
      expect(claim).toMatchObject({ kind: 'settled', result: { next: 'done' } });
      expect(await engine.record(responseId)).toMatchObject({
        status: 'failed',
        platform: { failure_reason: { code: 'permission_revoked' } },
      });
    },
  );

  it('(of its custom role) has the same effect, and restoring it lets the next response continue', async () => {
    const { role } = await engine.act((ctx) =>
      createRole(ctx, { key: 'asker', name: 'Asker', description: null }),
    );
    const permit = (permissions: 'responses.create'[]) =>
      engine.act((ctx) => setRolePermissions(ctx, { roleId: role.id, permissions }));
    await permit(['responses.create']);
    const one = await running({ spaceRole: 'asker' });
    await permit([]);
    expect((await claimFirstCall(one.responseId)).kind).toBe('denied');
    await permit(['responses.create']);
    expect((await claimFirstCall(one.responseId)).kind).toBe('claimed');
    await permit([]);
    await engine.claim(one.responseId, 1);
    expect((await engine.record(one.responseId)).status).toBe('failed');
  });

  it('does not affect responses of others', async () => {
    const { responseId } = await running({});
    const other = await running({});
    await engine.act((ctx) => removeMember(ctx, { principalId: other.requester.principalId }));
    expect((await claimFirstCall(responseId)).kind).toBe('claimed');
  });
});
