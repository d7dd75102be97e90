import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '#domain/foundation/access/context.ts';
import { createContext } from '#domain/foundation/access/context.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { start } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { requestDeletion } from '#domain/operations/tenant-deletion/request-deletion.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { createApiKey } from '#domain/identity/api-keys/create-api-key.ts';
import { openDeletionWorld, type DeletionWorld } from '../../../support/deletion-world.ts';
import { countTenantRows } from '../../../support/tenant-rows.ts';
import { createWorld, secrets, type World } from '../../../support/world.ts';

let place: DeletionWorld;
beforeAll(async () => {
  place = await openDeletionWorld();
});
afterAll(() => place?.close());

async function schedule(world: World): Promise<{ tenantId: string; deletionId: string }> {
  const { tenantId } = world;
  return place.database.unitOfWork.inTenant(tenantId, async (em) => {
    const identity = { ...world.owner, apiKeyId: null, keyPermissions: null };
    const caller = await loadCaller(em, identity, { via: 'api', requestId: null }, null);
    const ctx = createContext({ caller: { ...caller, isPlatform: true }, em, secrets });
    const request = { reasonCode: 'test_cleanup', graceSeconds: 0, defaultGraceSeconds: 0 };
    const { deletion } = await requestDeletion(ctx, request);
    return { tenantId, deletionId: deletion.id };
  });
}

/** Writes of every kind: rows by the ORM and by SQL, the log alone, messages to Temporal, sealed fields. */
const writes: ((ctx: Context, world: World) => Promise<unknown>)[] = [
  (ctx, { owner }) => createSpace(ctx.em, owner, { name: 'Late' }),
  (ctx, { owner }) =>
    createApiKey(
      { em: ctx.em, secrets, actor: owner },
      { principalId: owner.principalId, name: 'late', permissions: null },
    ),
  (ctx, { owner, tenantId }) =>
    recordEvent(ctx.em, owner, { type: 'system.tenant_updated', resource: { type: 'tenant', id: tenantId } }),
  (ctx, { tenantId, spaceId }) => ctx.enqueue(start('embedSpace', { tenantId, spaceId })),
  (ctx, { tenantId }) => sealField(ctx, { tenantId, table: 't', column: 'c', row: newId() }, 'text'),
];

describe('writes that were admitted before the cut', () => {
  it(
    'are erased or refused, fifty in flight, whenever they write and commit',
    { timeout: 120_000 },
    async () => {
      const world = await createWorld(place.database.unitOfWork);
      const orm = createOrm({ url: place.database.url, statementTimeoutMs: 10_000, poolSize: 64 });
      const inFlight = new UnitOfWork(orm);
      const { promise: cut, resolve: cutNow } = Promise.withResolvers<void>();
      const admitted: Promise<void>[] = [];
      const outcomes: Promise<string>[] = Array.from({ length: 50 }, (_, n) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        admitted.push(promise);
        const write = writes[n % writes.length]!;
        const early = n % 3 === 0;
        return inFlight
          .inTenant(world.tenantId, async (em) => {
            const identity = { ...world.owner, apiKeyId: null, keyPermissions: null };
            const caller = await loadCaller(em, identity, { via: 'api', requestId: null }, null);
            const ctx = createContext({ caller, em, secrets });
            if (early) await write(ctx, world);
            await em.flush();
            resolve();
            await cut;
            await pause(n * 20);
            if (!early) await write(ctx, world);
            await em.flush();
          })
          .then(
            () => 'committed',
            (error: Error) => {
              resolve();
              return error.message;
            },
          );
      });
      await Promise.all(admitted);
      const ref = await schedule(world);
      cutNow();
      await place.run(ref);
      const ended = await Promise.all(outcomes);
      await orm.close(true);
      const left = await countTenantRows(place.admin, world.tenantId);
      expect(Object.entries(left).filter(([, n]) => n > 0)).toEqual([]);
      expect(ended.filter((outcome) => outcome === 'committed').length).toBeGreaterThan(16);
      for (const write of writes) {
        const late = place.database.unitOfWork.inTenant(world.tenantId, async (em) => {
          await write(createContext({ caller: undefined as never, em, secrets }), world);
          await em.flush();
        });
        await expect(late).rejects.toThrow();
      }
    },
  );

  it('start no work once the erasure has begun', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world);
    await place.begin(ref);
    const { tenantId, spaceId } = world;
    await place.database.unitOfWork.inTenant(tenantId, async (em) => {
      const ctx = createContext({ caller: undefined as never, em, secrets });
      await ctx.enqueue(start('embedSpace', { tenantId, spaceId }));
    });
    const { rows } = await place.admin.query(
      `select workflow_type from outbox where tenant_id = $1 and workflow_type = 'embedSpace'`,
      [tenantId],
    );
    expect(rows).toEqual([]);
  });
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
