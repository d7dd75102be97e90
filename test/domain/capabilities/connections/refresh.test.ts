import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  AuthorizationFailure,
  type AuthorizationServers,
  type IssuedTokens,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { ConnectionUnavailable } from '#domain/capabilities/connections/connection-source.ts';
import { valuePlace } from '#domain/capabilities/credentials/credential.entity.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import { sealTokens } from '#domain/capabilities/connections/connection-tokens.ts';
import { Connection } from '#domain/capabilities/connections/connection.entity.ts';
import { resealForRevocation } from '#domain/capabilities/connections/withdraw-connections.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { revokeWithdrawn } from '#domain/capabilities/connections/revoke-withdrawn.ts';
import { graceMs } from '#domain/capabilities/connection-tokens/refresh-lease.ts';
import { useConnections } from '#domain/capabilities/connection-tokens/use-connections.ts';
import { revokeExternal } from '#domain/operations/tenant-deletion/revoke-external.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { connect } from '../../../support/tables.ts';
import { addMember, createWorld, secrets, type World } from '../../../support/world.ts';

const issuer = 'https://login.example.com';

let database: TestDatabase;
let admin: Client;
let world: World;
let serverId: string;

/** An authorization server that rotates refresh tokens and knows each only once. */
let good: string;
let refreshes: string[];
let revoked: string[];
let number = 0;
let beforeAnswer: () => Promise<void>;
let rotates: boolean;

const issue = (): IssuedTokens => {
  number += 1;
  good = `refresh-${number}`;
  return {
    accessToken: `access-${number}`,
    tokenType: 'Bearer',
    refreshToken: good,
    expiresAt: new Date(Date.now() + 3_600_000),
    scope: null,
  };
};
const unused = () => {
  throw new Error('not used here');
};
const authorizationServers: AuthorizationServers = {
  discover: unused,
  register: unused,
  begin: unused,
  createDpopKey: unused,
  checkIssuer: unused,
  exchange: unused,
  clientCredentials: unused,
  refresh: async (_grant, token) => {
    refreshes.push(token);
    if (token !== good) {
      throw new AuthorizationFailure('grant_rejected', { sent: true });
    }
    const issued = rotates ? issue() : { ...issue(), refreshToken: (good = token) };
    await beforeAnswer();
    return issued;
  },
  revoke: async (_grant, { token }) => {
    revoked.push(token);
    return true;
  },
};

const parts = () => ({ unitOfWork: database.unitOfWork, secrets, authorizationServers });
const identity = (ownerId: string | null = null) => ({ tenantId: world.tenantId, serverId, ownerId });
const source = () => useConnections(parts());

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  world = await createWorld(database.unitOfWork);
  serverId = newId();
  await admin.query(
    `insert into mcp_servers (tenant_id, id, space_id, slug, display_name, url, connection_mode, created_by)
     values ($1, $2, $3, 'crm', 'CRM', 'https://crm.example.com/mcp', 'shared', $4)`,
    [world.tenantId, serverId, world.spaceId, world.owner.principalId],
  );
});
afterAll(async () => {
  await admin?.end();
  await database?.drop();
});
beforeEach(async () => {
  refreshes = [];
  revoked = [];
  rotates = true;
  beforeAnswer = async () => undefined;
  await admin.query('delete from mcp_connections');
});

/** A connection whose token has so many seconds left. */
async function connected(secondsLeft: number, ownerId: string | null = null): Promise<string> {
  const { tenantId } = world;
  const [id, clientId] = [newId(), newId()];
  const { accessToken, refreshToken } = issue();
  await database.unitOfWork.inTenant(tenantId, async (em) => {
    await em.execute(
      `insert into authorization_clients (tenant_id, id, issuer, redirect_uri, kind, client_id)
       values (?, ?, ?, ?, 'dynamic', 'client')`,
      [tenantId, clientId, issuer, clientId],
    );
    const tokens = { accessToken, tokenType: 'Bearer' as const, refreshToken, dpopKey: null };
    await em.execute(
      `insert into mcp_connections (tenant_id, id, server_id, space_id, owner_id, connected_by, status, issuer, target,
         client_id, tokens, expires_at)
       values (?, ?, ?, ?, ?, ?, 'connected', ?, ?::jsonb, ?, ?, now() + make_interval(secs => ?))`,
      [
        tenantId,
        id,
        serverId,
        world.spaceId,
        ownerId,
        world.owner.principalId,
        issuer,
        JSON.stringify({ tenantId, issuer, metadata: {} }),
        clientId,
        await sealTokens({ em, secrets }, { tenantId, id, ownerId }, tokens),
        secondsLeft,
      ],
    );
  });
  return id;
}

const rowOf = async (id: string) =>
  (await admin.query('select * from mcp_connections where id = $1', [id])).rows[0] as
    | {
        status: string;
        generation: number;
        tokens: string | null;
        lease_until: Date | null;
        expires_at: Date;
        required_scope: string | null;
      }
    | undefined;

describe('a token', () => {
  it('is used as it is while it has more than a minute, and refreshed before that', async () => {
    await connected(120);
    const token = (await source().read(identity()))!.accessToken;
    expect(refreshes).toEqual([]);
    await admin.query(`update mcp_connections set expires_at = now() + interval '30 seconds'`);
    const after = (await source().read(identity()))!;
    expect(after.accessToken).not.toBe(token);
    expect(after.generation).toBe(2);
    expect((await source().read(identity()))!.accessToken).toBe(after.accessToken);
    expect(refreshes).toHaveLength(1);
  });

  it('is refreshed once by many callers over several processes, each of which gets the new one', async () => {
    await connected(-1);
    beforeAnswer = () => sleep(300);
    const sources = Array.from({ length: 12 }, () => source());
    const found = await Promise.all(sources.map((each) => each.read(identity())));
    expect(new Set(found.map((each) => each?.accessToken)).size).toBe(1);
    expect(refreshes).toHaveLength(1);
  });

  it('that a server refused is refreshed once, by the first caller that reports it', async () => {
    await connected(600);
    const used = (await source().read(identity()))!;
    const renewed = await Promise.all([source().renew(identity(), used), source().renew(identity(), used)]);
    expect(renewed[0]!.accessToken).toBe(renewed[1]!.accessToken);
    expect(renewed[0]!.accessToken).not.toBe(used.accessToken);
    expect(refreshes).toHaveLength(1);
  });

  it('is of its owner alone', async () => {
    const { principalId } = await addMember(database.unitOfWork, world);
    await connected(600, principalId);
    expect(await source().read(identity())).toBeNull();
    expect(await source().read(identity(world.owner.principalId))).toBeNull();
    expect(await source().read(identity(principalId))).not.toBeNull();
    expect(await source().read({ ...identity(principalId), tenantId: newId() })).toBeNull();
  });
});

describe('a refresh', () => {
  it('whose process died is done by the next one when its lease is over', async () => {
    const id = await connected(-1);
    await admin.query(
      `update mcp_connections set lease_nonce = gen_random_uuid(), lease_until = now() + interval '700 milliseconds'`,
    );
    const began = performance.now();
    expect(await source().read(identity())).not.toBeNull();
    expect(performance.now() - began).toBeGreaterThan(500 + graceMs);
    expect((await rowOf(id))!.lease_until).toBeNull();
  });

  it('whose answer could not be stored for longer than its lease is not repeated by the next one', async () => {
    const id = await connected(-1);
    let next: Promise<unknown> = Promise.resolve();
    beforeAnswer = async () => {
      beforeAnswer = async () => undefined;
      // As after minutes without a database: the lease is over, and both of them come back.
      await admin.query(`update mcp_connections set lease_until = now() - interval '1 second'`);
      next = source().read(identity());
      await sleep(1_000);
    };
    const found = await source().read(identity());
    expect(await next).toEqual(found);
    expect(refreshes).toHaveLength(1);
    expect(await rowOf(id)).toMatchObject({ status: 'connected', generation: 2 });
  });

  it('is sent once more when its answer was lost; a token that was used up by then ends the connection', async () => {
    const id = await connected(-1);
    let lost = 0;
    beforeAnswer = async () => {
      lost += 1;
      throw new AuthorizationFailure('unreachable', { sent: true });
    };
    expect(await source().read(identity())).toBeNull();
    expect([lost, refreshes.length]).toEqual([1, 2]);
    expect(await rowOf(id)).toMatchObject({ status: 'auth_expired', tokens: null });
    const { rows } = await admin.query(
      `select metadata ->> 'reason' as reason from events where event_type = 'security.mcp_auth_failed'`,
    );
    expect(rows).toEqual([{ reason: 'auth_expired' }]);
  });

  it('that does not reach its server leaves the connection, and a token that is still good in use', async () => {
    const id = await connected(30);
    const down = useConnections({
      ...parts(),
      authorizationServers: {
        ...authorizationServers,
        refresh: async () => {
          throw new AuthorizationFailure('unreachable', { sent: false });
        },
      },
    });
    expect(await down.read(identity())).not.toBeNull();
    await admin.query('update mcp_connections set expires_at = now()');
    await expect(down.read(identity())).rejects.toThrow(ConnectionUnavailable);
    expect(await rowOf(id)).toMatchObject({ status: 'connected', lease_until: null });
    await pauseIsOver();
    expect(await source().read(identity())).not.toBeNull();
  });

  it('is stored when the database comes back, and for a server that rotates nothing keeps the refresh token', async () => {
    rotates = false;
    await connected(-1);
    let answered = false;
    beforeAnswer = async () => {
      answered = true;
    };
    const real = database.unitOfWork;
    const inTenant: typeof real.inTenant = async (...call) => {
      if (answered) {
        answered = false;
        throw new Error('Connection terminated unexpectedly');
      }
      return real.inTenant(...call);
    };
    const unitOfWork = { inTenant } as typeof real;
    const found = await useConnections({ ...parts(), unitOfWork }).read(identity());
    expect(found).toMatchObject({ generation: 2 });
    expect(await source().read(identity())).toEqual(found);
    await admin.query('update mcp_connections set expires_at = now()');
    expect(await source().read(identity())).toMatchObject({ generation: 3 });
    expect(new Set(refreshes).size).toBe(1);
  });

  it('counts the lifetime from the clock of the database', async () => {
    const id = await connected(-1);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 7_200_000 });
    try {
      await source().read(identity());
    } finally {
      vi.useRealTimers();
    }
    const leftMs = (await rowOf(id))!.expires_at.getTime() - Date.now();
    expect(leftMs).toBeGreaterThan(3_500_000);
    expect(leftMs).toBeLessThan(3_700_000);
  });

  it('of a token that lives for less than two minutes waits for the second half of its life', async () => {
    await connected(30);
    await admin.query('update mcp_connections set token_lifetime = 40');
    await source().read(identity());
    expect(refreshes).toEqual([]);
    await admin.query(`update mcp_connections set expires_at = now() + interval '15 seconds'`);
    await source().read(identity());
    expect(refreshes).toHaveLength(1);
  });

  it('does not bring back a connection that was withdrawn meanwhile: what was issued is revoked', async () => {
    const id = await connected(-1);
    beforeAnswer = async () => {
      await admin.query(
        `update mcp_connections set status = 'revoked', withdrawn_at = now(), revoke_at = now(), generation = generation + 1`,
      );
    };
    expect(await source().read(identity())).toBeNull();
    expect(await rowOf(id)).toMatchObject({ status: 'revoked', generation: 2 });
    expect(revoked).toEqual([good]);
    expect(await revokeWithdrawn(parts(), world.tenantId, id)).toBe(true);
    expect(await rowOf(id)).toBeUndefined();
    expect(await revokeWithdrawn(parts(), world.tenantId, id)).toBe(false);
  });

  it('of a connection that was replaced meanwhile revokes what was issued, and uses the new connection', async () => {
    await connected(-1);
    let issuedLate = '';
    let present = '';
    beforeAnswer = async () => {
      issuedLate = good;
      await admin.query(
        `update mcp_connections set status = 'revoked', withdrawn_at = now(), revoke_at = now(), generation = generation + 1`,
      );
      present = await connected(3_600);
    };
    expect(await source().read(identity())).toMatchObject({ connectionId: present });
    expect(revoked).toEqual([issuedLate]);
  });
});

/** The pause after a failed refresh. */
const pauseIsOver = () => admin.query('update mcp_connections set refresh_after = now()');

/** Refuses every refresh. */
function refusing(
  code: AuthorizationFailure['code'],
  more: { answered?: boolean; retryAfterMs?: number } = {},
) {
  let requests = 0;
  const refresh = async () => {
    requests += 1;
    throw new AuthorizationFailure(code, { sent: true, ...more });
  };
  const refused = useConnections({ ...parts(), authorizationServers: { ...authorizationServers, refresh } });
  return { read: () => refused.read(identity()), requests: () => requests };
}

const failures = async () =>
  (
    await admin.query<{ reason: string }>(
      `select metadata ->> 'reason' as reason from events where event_type = 'security.mcp_auth_failed' order by id`,
    )
  ).rows.map(({ reason }) => reason);

describe('a refresh that failed', () => {
  it.each(['protocol_error', 'scope_rejected', 'access_denied', 'url_not_allowed'] as const)(
    'with %s is not sent again by the next calls; a person sees it, and a later one may succeed',
    async (code) => {
      const id = await connected(30);
      const before = (await failures()).length;
      const server = refusing(code);
      expect(await server.read()).not.toBeNull();
      expect(await rowOf(id)).toMatchObject({ status: 'connected' });
      await admin.query('update mcp_connections set expires_at = now(), refresh_after = null');
      expect([await server.read(), await server.read(), await server.read()]).toEqual([null, null, null]);
      expect(server.requests()).toBe(2);
      expect(await rowOf(id)).toMatchObject({ status: 'auth_expired', tokens: expect.any(String) });
      expect((await failures()).slice(before)).toEqual(['auth_expired']);
      await pauseIsOver();
      expect(await source().read(identity())).not.toBeNull();
      expect(await rowOf(id)).toMatchObject({ status: 'connected' });
    },
  );

  it('for lack of an answer is sent twice at most, and then pauses for all callers', async () => {
    await connected(-1);
    const server = refusing('unreachable');
    await expect(server.read()).rejects.toThrow(ConnectionUnavailable);
    await expect(server.read()).rejects.toThrow(ConnectionUnavailable);
    expect(server.requests()).toBe(2);
    await expect(source().read(identity())).rejects.toThrow(ConnectionUnavailable);
    expect(refreshes).toEqual([]);
  });

  it('with an answer is sent once, and pauses as long as the server asks', async () => {
    await connected(-1);
    const server = refusing('unreachable', { answered: true, retryAfterMs: 120_000 });
    await expect(server.read()).rejects.toThrow(ConnectionUnavailable);
    expect(server.requests()).toBe(1);
    const { rows } = await admin.query(
      `select refresh_after > now() + interval '100 seconds' as waits from mcp_connections`,
    );
    expect(rows).toEqual([{ waits: true }]);
  });

  it('since the client is not known keeps the tokens for a client that is', async () => {
    const id = await connected(-1);
    const server = refusing('client_rejected');
    expect([await server.read(), await server.read()]).toEqual([null, null]);
    expect(server.requests()).toBe(1);
    expect(await rowOf(id)).toMatchObject({ status: 'client_rejected', tokens: expect.any(String) });
    await pauseIsOver();
    expect(await source().read(identity())).not.toBeNull();
    expect(await rowOf(id)).toMatchObject({ status: 'connected', generation: 2 });
  });

  it('since its stored client is refused is sent again as soon as that is rotated', async () => {
    const { tenantId } = world;
    const id = await connected(-1);
    const credentialId = newId();
    const url = `${issuer}/token`;
    const value = { kind: 'oauth2_client', client_id: 'ours', client_secret: 'secret', token_url: url };
    await database.unitOfWork.inTenant(tenantId, async (em) => {
      const place = valuePlace({ tenantId, id: credentialId });
      await em.execute(
        `insert into credentials (tenant_id, id, name, kind, origin, sealed_value, created_by)
         values (?, ?, 'client', 'oauth2_client', ?, ?, ?)`,
        [
          tenantId,
          credentialId,
          issuer,
          await sealField({ em, secrets }, place, JSON.stringify(value)),
          world.owner.principalId,
        ],
      );
    });
    await admin.query(
      `update mcp_connections set client_id = null, client_credential_id = $1,
         target = target || jsonb_build_object('metadata', jsonb_build_object('token_endpoint', $2::text))`,
      [credentialId, url],
    );
    expect(await refusing('client_rejected').read()).toBeNull();
    expect(await source().read(identity())).toBeNull();
    expect(await rowOf(id)).toMatchObject({ status: 'client_rejected' });
    await admin.query('update credentials set rotated_at = clock_timestamp() where id = $1', [credentialId]);
    expect(await source().read(identity())).toMatchObject({ generation: 2 });
  });

  it('since the client cannot be opened says so, and keeps the tokens', async () => {
    const id = await connected(-1);
    // Of a process that was lost in an earlier refresh.
    await admin.query(
      `update mcp_connections set lease_nonce = gen_random_uuid(), lease_until = now() - interval '1 second'`,
    );
    await admin.query(`update authorization_clients set issuer = 'https://other.example.com'`);
    expect(await source().read(identity())).toBeNull();
    expect(await rowOf(id)).toMatchObject({ status: 'client_rejected', tokens: expect.any(String) });
    await admin.query('update authorization_clients set issuer = $1', [issuer]);
    await pauseIsOver();
    expect(await source().read(identity())).not.toBeNull();
  });
});

describe('a token that a tool server refuses twice', () => {
  it('ends the connection for a while: its tokens stay for the next refresh, and for their revocation', async () => {
    const id = await connected(600);
    const used = (await source().read(identity()))!;
    await source().refuse(identity(), used);
    expect(await source().read(identity())).not.toEqual(used);
    expect(await rowOf(id)).toMatchObject({ status: 'auth_expired', tokens: expect.any(String) });
    await pauseIsOver();
    expect(await source().read(identity())).toMatchObject({ generation: 2 });
    expect(await rowOf(id)).toMatchObject({ status: 'connected' });
  });
});

describe('the revocation of a deleted person', () => {
  it('is of the tokens that a refresh has stored in the meantime', async () => {
    const { principalId } = await addMember(database.unitOfWork, world);
    const id = await connected(600, principalId);
    const used = (await source().read(identity(principalId)))!;
    await database.unitOfWork.inTenant(world.tenantId, async (em) => {
      await em.find(Connection, { id });
      await source().renew(identity(principalId), used);
      await resealForRevocation({ em, secrets } as unknown as Context, principalId);
    });
    await admin.query(
      `update mcp_connections set status = 'revoked', withdrawn_at = now(), revoke_at = now()`,
    );
    expect(await revokeWithdrawn(parts(), world.tenantId, id)).toBe(true);
    expect(revoked[0]).toBe(good);
  });
});

describe('revocations', () => {
  it('leave a silent authorization server alone for the rest of a round', async () => {
    const silent = new Set<string>();
    let requests = 0;
    const down = {
      ...parts(),
      authorizationServers: {
        ...authorizationServers,
        revoke: async () => {
          requests += 1;
          throw new AuthorizationFailure('unreachable', { sent: true });
        },
      },
    };
    const { principalId } = await addMember(database.unitOfWork, world);
    const ids = [await connected(600), await connected(600, principalId)];
    await admin.query(
      `update mcp_connections set status = 'revoked', withdrawn_at = now(), revoke_at = now()`,
    );
    for (const id of ids) await revokeWithdrawn(down, world.tenantId, id, silent);
    expect(requests).toBe(1);
    expect(await revokeWithdrawn(parts(), world.tenantId, ids[1]!)).toBe(true);
  });

  /** What the deletion of the tenant records of one connection. */
  const outcomeAtTheEnd = async (revoke: AuthorizationServers['revoke']) => {
    const id = await connected(600);
    const deletionId = newId();
    await admin.query(
      `insert into app.tenant_deletions (tenant_id, id, status, reason_code, prior_status, requested_by, purge_after, token_hash)
       values ($1, $2, 'deleting', 'test_cleanup', 'active', $3, now(), 't')`,
      [world.tenantId, deletionId, world.owner.principalId],
    );
    const answering = { ...parts(), authorizationServers: { ...authorizationServers, revoke } };
    await revokeExternal(answering, { tenantId: world.tenantId, deletionId });
    const { rows } = await admin.query<{ revocations: { id: string }[] }>(
      'delete from app.tenant_deletions where id = $1 returning revocations',
      [deletionId],
    );
    return { id, recorded: rows[0]!.revocations };
  };

  it('at the end of a tenant say where the authorization server offers none', async () => {
    const { id, recorded } = await outcomeAtTheEnd(async () => false);
    expect(recorded).toContainEqual({ kind: 'connection', id, outcome: 'not_revocable' });
  });

  it('at the end of a tenant include the access token where no refresh token can be revoked', async () => {
    const asked: string[] = [];
    const { id, recorded } = await outcomeAtTheEnd(async (_grant, { kind }) => {
      asked.push(kind);
      return kind === 'access_token';
    });
    expect(asked).toEqual(['refresh_token', 'access_token']);
    expect(recorded).toContainEqual({ kind: 'connection', id, outcome: 'revoked' });
  });

  it('at the end of a tenant say that a token was refused, whatever else was revoked', async () => {
    const { id, recorded } = await outcomeAtTheEnd(async (_grant, { kind }) => {
      if (kind === 'refresh_token') throw new AuthorizationFailure('client_rejected', { sent: true });
      return true;
    });
    expect(recorded).toContainEqual({ kind: 'connection', id, outcome: 'refused' });
  });

  it('are listed for a few connections of each tenant at once', async () => {
    const other = await createWorld(database.unitOfWork);
    await connected(600);
    await admin.query(
      `insert into mcp_connections
       select c.* from mcp_connections m cross join generate_series(1, 25) g,
         jsonb_populate_record(m, jsonb_build_object('id', gen_random_uuid(), 'status', 'revoked',
           'withdrawn_at', now(), 'revoke_at', now(), 'revocations', g)) c`,
    );
    await admin.query(
      `insert into mcp_connections
       select c.* from mcp_connections m,
         jsonb_populate_record(m, jsonb_build_object('tenant_id', $1::uuid, 'space_id', $2::uuid, 'connected_by', $3::uuid,
           'id', gen_random_uuid(), 'server_id', null, 'client_id', null)) c where m.withdrawn_at is null`,
      [other.tenantId, other.spaceId, other.owner.principalId],
    );
    const { rows } = await admin.query<{ tenant_id: string; n: number }>(
      'select tenant_id, count(*)::int as n from app.list_ended_connections($1, $1, 200) group by 1',
      ['00000000-0000-0000-0000-000000000000'],
    );
    expect(new Map(rows.map((row) => [row.tenant_id, row.n]))).toEqual(
      new Map([
        [world.tenantId, 20],
        [other.tenantId, 1],
      ]),
    );
    await admin.query('delete from mcp_connections');
  });
});

describe('a refresher that was overtaken', () => {
  const overtaken = () => admin.query('update mcp_connections set lease_nonce = null, lease_until = null');

  it('revokes nothing of a server that rotates no refresh token', async () => {
    rotates = false;
    const id = await connected(-1);
    let other: Promise<unknown> = Promise.resolve();
    let isFirst = true;
    beforeAnswer = async () => {
      if (isFirst) {
        isFirst = false;
        await overtaken();
        other = source().read(identity());
        await other;
      }
    };
    const found = await source().read(identity());
    expect(found).not.toBeNull();
    expect(found).toEqual(await other);
    expect(revoked).toEqual([]);
    expect(await rowOf(id)).toMatchObject({ status: 'connected', generation: 2 });
  });

  it('stores its tokens while the other one has none', async () => {
    const id = await connected(-1);
    beforeAnswer = async () => {
      await admin.query(
        `update mcp_connections set lease_nonce = gen_random_uuid(), lease_until = now() + interval '1 minute'`,
      );
    };
    expect(await source().read(identity())).toMatchObject({ generation: 2 });
    expect(await rowOf(id)).toMatchObject({ status: 'connected', lease_until: null });
    expect(revoked).toEqual([]);
  });

  it('revokes nothing when the same client was given a new connection meanwhile', async () => {
    const id = await connected(-1);
    beforeAnswer = async () => {
      await admin.query(
        `insert into mcp_connections
         select c.* from mcp_connections m,
           jsonb_populate_record(m, jsonb_build_object('id', gen_random_uuid(), 'server_id', null, 'tokens', null)) c`,
      );
      await admin.query('delete from mcp_connections where id = $1', [id]);
      await admin.query('update mcp_connections set server_id = $1', [serverId]);
    };
    await source().read(identity());
    expect(revoked).toEqual([]);
  });

  it('uses what the other one got, and ends nothing', async () => {
    const id = await connected(-1);
    let other: Promise<unknown> = Promise.resolve();
    const slow = useConnections({
      ...parts(),
      authorizationServers: {
        ...authorizationServers,
        refresh: async (...request) => {
          await overtaken();
          beforeAnswer = () => sleep(300);
          other = source().read(identity());
          while (refreshes.length === 0) await sleep(20);
          return authorizationServers.refresh(...request);
        },
      },
    });
    const found = await slow.read(identity());
    expect(found).toEqual(await other);
    expect(found).not.toBeNull();
    expect(await rowOf(id)).toMatchObject({ status: 'connected', generation: 2 });
    expect(revoked).toEqual([]);
  });

  it('stores nothing for a person that was deleted meanwhile, whose new token is revoked', async () => {
    const { principalId } = await addMember(database.unitOfWork, world);
    await connected(-1, principalId);
    beforeAnswer = async () => {
      await admin.query(
        `update mcp_connections set status = 'revoked', withdrawn_at = now(), revoke_at = now(), generation = generation + 1`,
      );
      await admin.query('delete from data_keys where principal_id = $1', [principalId]);
      await admin.query(
        `update principals set name = null, email = null, status = 'disabled', deleted_at = now() where id = $1`,
        [principalId],
      );
    };
    expect(await source().read(identity(principalId))).toBeNull();
    expect(revoked).toEqual([good]);
  });
});

describe('more scopes', () => {
  it('that a call needed are kept for the next connection, and the present one goes on', async () => {
    const id = await connected(600);
    const used = (await source().read(identity()))!;
    await source().needScope(identity(), used, 'write admin');
    await source().needScope(identity(), used, 'write');
    const { rows } = await admin.query('select status, required_scope from mcp_connections where id = $1', [
      id,
    ]);
    expect(rows).toEqual([{ status: 'scope_required', required_scope: 'write admin' }]);
    expect(await source().read(identity())).not.toBeNull();
  });

  it('that a call needed are kept also when its token was refreshed meanwhile, and hide no other end', async () => {
    const id = await connected(600);
    const used = (await source().read(identity()))!;
    await source().renew(identity(), used);
    await source().needScope(identity(), used, 'write');
    expect(await rowOf(id)).toMatchObject({
      status: 'scope_required',
      required_scope: 'write',
      generation: 2,
    });
    await admin.query(`update mcp_connections set status = 'client_rejected'`);
    await source().needScope(identity(), used, 'admin');
    expect(await rowOf(id)).toMatchObject({ status: 'client_rejected', required_scope: 'admin write' });
  });

  it('are no more than one authorization request can name', async () => {
    const id = await connected(600);
    const used = (await source().read(identity()))!;
    for (let call = 0; call < 5; call += 1) {
      const scopes = Array.from({ length: 60 }, (_, index) => `s${call}-${index}-${'x'.repeat(50)}`);
      await source().needScope(identity(), used, scopes.join(' '));
    }
    const kept = (await rowOf(id))!.required_scope!;
    expect(kept.length).toBeLessThanOrEqual(4_000);
    expect(kept.split(' ')[0]).toMatch(/^s4-0-/);
    expect(kept.split(' ').every((scope) => /^s\d+-\d+-x{50}$/.test(scope))).toBe(true);
  });
});
