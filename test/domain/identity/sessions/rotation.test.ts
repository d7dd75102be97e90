import * as fc from 'fast-check';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { refreshSession } from '#domain/identity/sessions/refresh-session.ts';
import { findToken } from '#domain/identity/sessions/resolve-token.ts';
import { evaluateRefresh, type RefreshToken, type TokenFamily } from '#domain/identity/sessions/rotation.ts';
import { openSession } from '#domain/identity/sign-in/open-session.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { registerProvider } from '../../../support/sign-in.ts';
import { connect } from '../../../support/tables.ts';
import { createWorld, secrets, type World } from '../../../support/world.ts';

const day = 86_400_000;

/** The next step of a client or a thief: waits, or refreshes with any token issued so far. */
type Step = { wait: number } | { use: number };

const stories = (waits: readonly number[]): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.record({ use: fc.nat({ max: 30 }) }) },
      // Mostly the newest, as clients do.
      { weight: 3, arbitrary: fc.constantFrom({ use: -1 }, { use: -2 }, { use: -3 }) },
      { weight: 2, arbitrary: fc.record({ wait: fc.constantFrom(...waits) }) },
    ),
    { maxLength: 14 },
  );

/** The rule as specified: the role of each token in a family. */
class Model {
  readonly tokens: {
    generation: number;
    is: 'waiting' | 'current' | 'retired';
    since: number;
    until: number;
  }[];
  readonly #strict: boolean;
  now = 0;
  alive = true;
  readonly end = 30 * day;

  constructor(strict: boolean) {
    this.#strict = strict;
    this.tokens = [{ generation: 1, is: 'current', since: 0, until: 7 * day }];
  }

  use(index: number): 'new tokens' | 'refused' {
    const token = this.tokens[index]!;
    if (!this.alive || this.now >= this.end || this.now >= token.until) {
      return 'refused';
    }
    const generation = Math.max(
      ...this.tokens.filter(({ is }) => is !== 'waiting').map((one) => one.generation),
    );
    if (token.is === 'retired' && (token.generation < generation - 1 || this.now - token.since > 30_000)) {
      this.alive = false;
      return 'refused';
    }
    if (token.is === 'waiting') {
      this.#retireBut(token);
      token.is = 'current';
    }
    token.until = Math.min(this.now + 7 * day, this.end);
    const next = Math.max(generation, token.generation) + 1;
    if (this.#strict) {
      this.#retireBut(null);
    }
    const is = this.#strict ? 'current' : 'waiting';
    this.tokens.push({ generation: next, is, since: 0, until: Math.min(this.now + 7 * day, this.end) });
    return 'new tokens';
  }

  #retireBut(heir: object | null): void {
    for (const token of this.tokens.filter((one) => one !== heir && one.is !== 'retired')) {
      token.is = 'retired';
      token.since = this.now;
    }
  }
}

/** The production decision, with its effects applied to rows in memory. */
class InMemory {
  readonly family: TokenFamily;
  readonly tokens: RefreshToken[] = [{ generation: 1, retiredAt: null, expiresAt: 7 * day }];
  now = 0;

  constructor(strict: boolean) {
    this.family = { generation: 1, ended: false, expiresAt: 30 * day, strict };
  }

  use(index: number): 'new tokens' | 'refused' {
    const used = this.tokens[index]!;
    const verdict = evaluateRefresh(used, this.family, this.now);
    if (verdict.kind === 'reuse') {
      this.family.ended = true;
    }
    if (verdict.kind !== 'accepted') {
      return 'refused';
    }
    this.family.generation = verdict.current;
    for (const token of this.tokens) {
      if (verdict.retires === 'all' || (verdict.retires === 'others' && token !== used)) {
        token.retiredAt ??= this.now;
      }
    }
    used.expiresAt = Math.min(this.now + 7 * day, this.family.expiresAt);
    const expiresAt = Math.min(this.now + 7 * day, this.family.expiresAt);
    this.tokens.push({ generation: verdict.successor, retiredAt: null, expiresAt });
    return 'new tokens';
  }
}

const place = (use: number, length: number): number => (use < 0 ? Math.max(0, length + use) : use % length);

describe('the rule of refresh tokens', () => {
  it('equals the model in 5,000 random sequences of a family', () => {
    let reuses = 0;
    fc.assert(
      fc.property(
        stories([1, 1_000, 15_000, 29_000, 31_000, 600_000, 6 * day, 8 * day]),
        fc.boolean(),
        (story, strict) => {
          const model = new Model(strict);
          const real = new InMemory(strict);
          for (const step of story) {
            if ('wait' in step) {
              model.now += step.wait;
              real.now += step.wait;
              continue;
            }
            const index = place(step.use, model.tokens.length);
            expect(real.use(index)).toBe(model.use(index));
            expect(real.family.ended).toBe(!model.alive);
            expect(real.tokens).toHaveLength(model.tokens.length);
          }
          reuses += model.alive ? 0 : 1;
        },
      ),
      { numRuns: 5_000 },
    );
    expect(reuses).toBeGreaterThan(500);
  });

  it('never accepts a grandparent, not even within the overlap', () => {
    const family = { generation: 3, ended: false, expiresAt: day, strict: false };
    const token = (generation: number) => ({ generation, retiredAt: 0, expiresAt: day });
    expect(evaluateRefresh(token(1), family, 1)).toEqual({ kind: 'reuse' });
    expect(evaluateRefresh(token(2), family, 1)).toMatchObject({ kind: 'accepted' });
    expect(evaluateRefresh(token(2), family, 30_001)).toEqual({ kind: 'reuse' });
  });
});

describe('the rule on the database', () => {
  let database: TestDatabase;
  let admin: Client;
  let world: World;
  let providers: { easy: string; strict: string };

  beforeAll(async () => {
    database = await createTestDatabase();
    admin = await connect(database.adminUrl);
    world = await createWorld(database.unitOfWork);
    const server = { issuer: 'https://id.example.com', alg: 'ES256' };
    providers = {
      easy: (await registerProvider(database, world, server)).id,
      strict: (await registerProvider(database, world, server, { strictRotation: true })).id,
    };
  });
  afterAll(async () => {
    await admin?.end();
    await database?.drop();
  });

  /** Ages all times of a session by so much. */
  async function wait(sessionId: string, ms: number): Promise<void> {
    await admin.query(
      `update session_tokens set retired_at = retired_at - $2 * interval '1 ms', expires_at = expires_at - $2 * interval '1 ms'
       where session_id = $1`,
      [sessionId, ms],
    );
    await admin.query(`update sessions set expires_at = expires_at - $2 * interval '1 ms' where id = $1`, [
      sessionId,
      ms,
    ]);
  }

  async function use(token: string): Promise<string | null> {
    const found = await findToken({ database: database.database, secrets }, token);
    const origin = { via: 'api', requestId: newId() } as const;
    try {
      const tokens = await refreshSession({ unitOfWork: database.unitOfWork, secrets }, found!, origin);
      return tokens.refreshToken;
    } catch {
      return null;
    }
  }

  it('equals the model in 150 random sequences of a session', async () => {
    await fc.assert(
      // Ages that keep a distance from thirty seconds: a sequence here takes time itself.
      fc.asyncProperty(
        stories([7_000, 21_000, 35_000, 600_000, 6 * day, 8 * day]),
        fc.boolean(),
        async (story, strict) => {
          const model = new Model(strict);
          const { tenantId, owner } = world;
          const opened = await database.unitOfWork.inTenant(tenantId, (em) =>
            openSession(
              { em, secrets },
              {
                tenantId,
                principalId: owner.principalId,
                provider: { id: strict ? providers.strict : providers.easy },
                maxLifetime: null,
                requestId: newId(),
              },
            ),
          );
          const tokens = [opened.tokens.refreshToken];
          for (const step of story) {
            if ('wait' in step) {
              model.now += step.wait;
              await wait(opened.sessionId, step.wait);
              continue;
            }
            const index = place(step.use, tokens.length);
            const next = await use(tokens[index]!);
            expect(next === null ? 'refused' : 'new tokens').toBe(model.use(index));
            if (next !== null) {
              tokens.push(next);
            }
          }
          const { rows } = await admin.query<{ ended: boolean }>(
            `select end_reason = 'reuse' as ended from sessions where id = $1`,
            [opened.sessionId],
          );
          expect(rows[0]!.ended ?? false).toBe(!model.alive);
        },
      ),
      { numRuns: 150 },
    );
  });
});
