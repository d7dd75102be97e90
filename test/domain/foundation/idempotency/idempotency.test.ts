import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimKey, findKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

let keys = 0;
function request(change: Partial<IdempotentRequest> = {}): IdempotentRequest {
  keys += 1;
  return { key: `key-${keys}`, scope: 'POST /things', fingerprint: 'same', ...change };
}

describe('an idempotency key', () => {
  it('returns the first resource to every later request with the same body', async () => {
    const key = request();
    expect(await engine.act((ctx) => claimKey(ctx, key, 'first'))).toBe('first');
    expect(await engine.act((ctx) => claimKey(ctx, key, 'second'))).toBe('first');
    expect(await engine.act((ctx) => findKey(ctx, key))).toBe('first');
  });

  it('is refused with another body', async () => {
    const key = request();
    await engine.act((ctx) => claimKey(ctx, key, 'first'));
    await expect(
      engine.act((ctx) => claimKey(ctx, { ...key, fingerprint: 'other' }, 'second')),
    ).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('is separate for each path and principal', async () => {
    const key = request();
    await engine.act((ctx) => claimKey(ctx, key, 'first'));
    expect(await engine.act((ctx) => claimKey(ctx, { ...key, scope: 'POST /others' }, 'second'))).toBe(
      'second',
    );
    const other = '01a1fe5d-0000-7000-8000-000000000000';
    expect(await engine.act((ctx) => findKey(ctx, key), { principalId: other })).toBeNull();
  });

  it('makes the loser of a race wait for the winner, and return its resource', async () => {
    const key = request();
    const claimed = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    const winner = engine.act(async (ctx) => {
      const id = await claimKey(ctx, key, 'winner');
      claimed.resolve();
      await mayCommit.promise;
      return id;
    });
    await claimed.promise;
    let loserEnded = false;
    const loser = engine.act((ctx) => claimKey(ctx, key, 'loser')).finally(() => (loserEnded = true));
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(loserEnded).toBe(false);
    mayCommit.resolve();
    expect(await Promise.all([winner, loser])).toEqual(['winner', 'winner']);
  });

  it('is refused as in progress while the winner takes longer than the maximum wait', async () => {
    const key = request();
    const { tenantId, owner } = engine.world;
    await engine.admin.query('begin');
    try {
      await engine.admin.query(
        `insert into idempotency_keys (tenant_id, principal_id, scope, key, fingerprint, resource_id, expires_at)
         values ($1, $2, $3, $4, $5, 'winner', now() + interval '1 day')`,
        [tenantId, owner.principalId, key.scope, key.key, key.fingerprint],
      );
      const began = performance.now();
      await expect(engine.act((ctx) => claimKey(ctx, key, 'loser'))).rejects.toMatchObject({
        code: 'idempotency_in_progress',
        detail: { retryAfter: 1 },
      });
      expect(performance.now() - began).toBeGreaterThan(4_000);
    } finally {
      await engine.admin.query('rollback');
    }
    expect(await engine.act((ctx) => claimKey(ctx, key, 'loser'))).toBe('loser');
  }, 20_000);

  it('is claimed by the loser of a race when the winner fails', async () => {
    const key = request();
    const claimed = Promise.withResolvers<void>();
    const mayFail = Promise.withResolvers<void>();
    const winner = engine.act(async (ctx) => {
      await claimKey(ctx, key, 'winner');
      claimed.resolve();
      await mayFail.promise;
      throw new Error('no');
    });
    await claimed.promise;
    const loser = engine.act((ctx) => claimKey(ctx, key, 'loser'));
    mayFail.resolve();
    await expect(winner).rejects.toThrow('no');
    expect(await loser).toBe('loser');
  });

  it('is free again after its day, by the clock of the database', async () => {
    const key = request();
    await engine.act((ctx) => claimKey(ctx, key, 'first'));
    await engine.admin.query(`update idempotency_keys set expires_at = now() where key = $1`, [key.key]);
    expect(await engine.act((ctx) => findKey(ctx, key))).toBeNull();
    expect(await engine.act((ctx) => claimKey(ctx, key, 'second'))).toBe('second');
  });

  it('makes one response of twenty equal requests at once', async () => {
    const idempotency = request();
    const created = await Promise.all(
      Array.from({ length: 20 }, () =>
        engine.act((ctx) =>
          createResponse(ctx, requestOf(engine.world, { idempotency }), {
            responseId: newResponseId(),
            limits: { maxActivePerSpace: 100, retentionSeconds: 60 },
          }),
        ),
      ),
    );
    const made = created.flatMap((each) => (each.kind === 'created' ? [each.record.id] : []));
    expect(made).toHaveLength(1);
    const replayed = created.flatMap((each) => (each.kind === 'replayed' ? [each.responseId] : []));
    expect(new Set(replayed)).toEqual(new Set(made));
    const { rows } = await engine.admin.query('select from responses');
    expect(rows).toHaveLength(1);
  });
});
