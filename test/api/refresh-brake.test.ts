import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { refreshSession } from '#domain/identity/sessions/refresh-session.ts';
import { findToken } from '#domain/identity/sessions/resolve-token.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { IdentityProviderServer } from '../support/identity-provider.ts';
import { bearer, publicUrl, refresh, registerProvider, signIn, type SignedIn } from '../support/sign-in.ts';
import { connect } from '../support/tables.ts';
import { createWorld, secrets, type World } from '../support/world.ts';

let database: TestDatabase;
let admin: Client;
let server: IdentityProviderServer;
let gateway: TestGateway;
let world: World;
let slug: string;
let session: SignedIn;

const settings = () => ({ PUBLIC_URL: publicUrl, EGRESS_ALLOW: server.issuer });

beforeAll(async () => {
  database = await createTestDatabase();
  server = await new IdentityProviderServer().start();
  gateway = await openGateway(database, settings());
  admin = await connect(database.adminUrl);
  world = await createWorld(database.unitOfWork);
  slug = (await registerProvider(database, world, server)).slug;
});
beforeEach(async () => {
  session = await signIn(gateway, server, slug);
});
afterAll(async () => {
  await gateway?.close();
  await server?.stop();
  await admin?.end();
  await database?.drop();
});

/** Without the gateway's limits, as with many gateways together. */
async function renew(token: string) {
  const found = await findToken({ database: database.database, secrets }, token);
  const deps = { unitOfWork: database.unitOfWork, secrets };
  return refreshSession(deps, found!, { via: 'api', requestId: newId() });
}

async function rowsOf(sessionId: string): Promise<Record<string, number>> {
  const { rows } = await admin.query<{ kind: string; n: number }>(
    'select kind, count(*)::int as n from session_tokens where session_id = $1 group by kind',
    [sessionId],
  );
  return Object.fromEntries(rows.map(({ kind, n }) => [kind, n]));
}

/**
 * Rows changed by statements, of both tables. A process reports them with a transaction a second after its
 * last report.
 */
async function updates(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await database.unitOfWork.inTenant(world.tenantId, (em) => em.execute('select 1'));
  await new Promise((resolve) => setTimeout(resolve, 100));
  const { rows } = await admin.query<{ n: number }>(
    `select sum(n_tup_upd)::int as n from pg_stat_user_tables where relname in ('sessions', 'session_tokens')`,
  );
  return rows[0]!.n;
}

describe('refreshing with one token again and again', () => {
  it('keeps a bounded number of rows and changes hardly any', async () => {
    const before = await updates();
    const count = 80;
    for (let each = 0; each < count; each += 1) {
      await renew(session.refresh_token);
    }
    expect(await updates()).toBeLessThan(before + count);
    const rows = await rowsOf(session.session_id);
    expect(rows['access']).toBeLessThanOrEqual(20);
    expect(rows['refresh']).toBeLessThanOrEqual(21);
  });

  it('keeps working: the newest access tokens are valid, and so is the refresh token of every answer', async () => {
    let latest = await renew(session.refresh_token);
    for (let each = 0; each < 25; each += 1) {
      latest = await renew(session.refresh_token);
    }
    const own = { method: 'GET', path: '/v1/sessions', headers: bearer(latest.accessToken) };
    expect((await gateway.send(own)).status).toBe(200);
    expect(latest.refreshToken).toBe(session.refresh_token);
    expect(latest.refreshExpiresIn).toBeGreaterThan(600_000);
    const next = await renew(latest.refreshToken);
    expect((await renew(next.refreshToken)).accessToken).toMatch(/^at\./);
  });

  it('costs as little when each uses the token of the last', async () => {
    const before = await updates();
    let token = session.refresh_token;
    for (let each = 0; each < 40; each += 1) {
      token = (await renew(token)).refreshToken;
    }
    expect(await updates()).toBeLessThan(before + 40 * 3);
    expect((await rowsOf(session.session_id))['access']).toBeLessThanOrEqual(20);
    // The use of an old token is still detected.
    await expect(renew(session.refresh_token)).rejects.toMatchObject({ code: 'invalid_credentials' });
    await expect(renew(token)).rejects.toMatchObject({ code: 'invalid_credentials' });
  });
});

it('a session that is refreshed for ever keeps a bounded number of retired tokens', async () => {
  const { session_id: id } = session;
  await admin.query(
    `insert into session_tokens (tenant_id, id, session_id, kind, token_hash, generation, expires_at, retired_at)
     select tenant_id, gen_random_uuid(), session_id, 'refresh', 'retired ' || g || id, g, expires_at, now()
     from session_tokens, generate_series(1, 1200) g where session_id = $1 and kind = 'refresh'`,
    [id],
  );
  await admin.query('update sessions set generation = 1201 where id = $1', [id]);
  await admin.query(
    'update session_tokens set generation = 1201 where session_id = $1 and retired_at is null',
    [id],
  );
  const second = await renew(session.refresh_token);
  await renew(second.refreshToken);
  expect((await rowsOf(id))['refresh']).toBeLessThanOrEqual(1_003);
});

describe('the limit of refreshes', () => {
  it('is separate for each session, and its error carries Retry-After', async () => {
    const other = await signIn(gateway, server, slug, 'grace');
    const answers = [];
    for (let each = 0; each < 40; each += 1) {
      answers.push(await refresh(gateway, session.refresh_token));
    }
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.slice(0, 30).map(({ status }) => status)).toEqual(Array(30).fill(200));
    expect(refused.length).toBeGreaterThanOrEqual(8);
    expect(refused[0]!.body.error).toMatchObject({ code: 'rate_limited', type: 'rate_limit_error' });
    expect(Number(refused[0]!.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await refresh(gateway, other.refresh_token)).status).toBe(200);
  });

  it('applies to each address, too, for any tokens and under both prefixes', async () => {
    const narrow = await openGateway(database, { ...settings(), MAX_REFRESHES: '4' });
    try {
      const statuses = [];
      for (let each = 0; each < 6; each += 1) {
        const made = `rt.${each}${'x'.repeat(42)}`;
        const prefix = each % 2 === 0 ? '/api' : '/api-proxy';
        const sent = { method: 'POST', path: '/v1/refresh', prefix, headers: bearer(made) } as const;
        statuses.push((await narrow.send(sent)).status);
      }
      expect(statuses).toEqual([401, 401, 401, 401, 429, 429]);
    } finally {
      await narrow.close();
    }
  });
});
