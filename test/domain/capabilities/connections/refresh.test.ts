import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  AuthorizationFailure,
  type AuthorizationServers,
  type IssuedTokens,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { ConnectionUnavailable } from '#domain/capabilities/connections/connection-source.ts';
import { sealTokens } from '#domain/capabilities/connections/connection-tokens.ts';
import { revokeWithdrawn } from '#domain/capabilities/connections/revoke-withdrawn.ts';
import { useConnections } from '#domain/capabilities/connections/use-connections.ts';
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
    const issued = issue();
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
    | { status: string; generation: number; tokens: string | null; lease_until: Date | null }
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
    expect(performance.now() - began).toBeGreaterThan(500);
    expect((await rowOf(id))!.lease_until).toBeNull();
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
    expect(await source().read(identity())).not.toBeNull();
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
});

describe('a refresher that was overtaken', () => {
  const overtaken = () => admin.query(`update mcp_connections set lease_until = now() - interval '1 second'`);

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
      await admin.query('update principals set deleted_at = now() where id = $1', [principalId]);
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
});
