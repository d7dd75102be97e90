import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createContext, type Context } from '#domain/foundation/access/context.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { publicKeyText } from '#domain/operations/erasure-proof/sign-certificate.ts';
import { readTombstone } from '#domain/operations/erasure-proof/tombstone.ts';
import { verifyCertificate } from '#domain/operations/erasure-proof/verify-certificate.ts';
import { cancelDeletion } from '#domain/operations/tenant-deletion/cancel-deletion.ts';
import { certify } from '#domain/operations/tenant-deletion/certify.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { StartMessage } from '#domain/foundation/durable/messages.ts';
import { reconciliation } from '#domain/operations/maintenance/reconciliation.ts';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { eraseRows, takeStock } from '#domain/operations/tenant-deletion/erase-rows.ts';
import { nextStage } from '#domain/operations/tenant-deletion/next-stage.ts';
import { enterStep } from '#domain/operations/tenant-deletion/progress.ts';
import { proveErasure } from '#domain/operations/tenant-deletion/prove-erasure.ts';
import { reportFailure } from '#domain/operations/tenant-deletion/report-failure.ts';
import { requestDeletion } from '#domain/operations/tenant-deletion/request-deletion.ts';
import { stopWork } from '#domain/operations/tenant-deletion/stop-work.ts';
import { platformTenantId } from '#domain/workspace/tenants/platform-tenant.ts';
import { noWorkflows, openDeletionWorld, type DeletionWorld } from '../../../support/deletion-world.ts';
import { insertKeys } from '../../../support/many-keys.ts';
import { countTenantRows, fillTenant } from '../../../support/tenant-rows.ts';
import { createWorld, secrets, type World } from '../../../support/world.ts';

let place: DeletionWorld;
beforeAll(async () => {
  place = await openDeletionWorld();
});
afterAll(() => place?.close());

const asOwner = <T>(world: World, work: (ctx: Context) => Promise<T>): Promise<T> =>
  place.database.unitOfWork.inTenant(world.tenantId, async (em) => {
    const identity = { ...world.owner, apiKeyId: null, keyPermissions: null };
    const where = { spaceId: null, whileDeleting: true };
    const caller = await loadCaller(em, identity, { via: 'api', requestId: null }, where);
    return work(createContext({ caller: { ...caller, isPlatform: true }, em, secrets }));
  });

const schedule = (world: World, graceSeconds: number) =>
  asOwner(world, async (ctx) => {
    const { deletion } = await requestDeletion(ctx, {
      reasonCode: 'test_cleanup',
      graceSeconds,
      defaultGraceSeconds: 604_800,
    });
    return { tenantId: world.tenantId, deletionId: deletion.id };
  });

const stageOf = (ref: { tenantId: string; deletionId: string }) =>
  place.database.unitOfWork.inTenant(ref.tenantId, (em) => nextStage(em, ref.tenantId, ref.deletionId));

const eventsIn = async (tenantId: string, like: string): Promise<string[]> => {
  const { rows } = await place.admin.query<{ event_type: string }>(
    'select event_type from events where tenant_id = $1 and event_type like $2 order by id',
    [tenantId, like],
  );
  return rows.map(({ event_type: type }) => type);
};

describe('a deletion', () => {
  it('leaves no row of a tenant with rows in every table, and a certificate that counts them', async () => {
    const [world, other] = [
      await createWorld(place.database.unitOfWork),
      await createWorld(place.database.unitOfWork),
    ];
    await fillTenant(place.admin, world.tenantId);
    const before = await countTenantRows(place.admin, world.tenantId);
    expect(Object.entries(before).filter(([, n]) => n === 0)).toEqual([]);
    const othersBefore = await countTenantRows(place.admin, other.tenantId);
    const ref = await schedule(world, 0);
    await place.run(ref);
    const after = await countTenantRows(place.admin, world.tenantId);
    expect(Object.entries(after).filter(([, n]) => n > 0)).toEqual([]);
    expect(await countTenantRows(place.admin, other.tenantId)).toEqual(othersBefore);
    const file = await place.purge.inTenant(ref.tenantId, (em) => readTombstone(em, ref.deletionId));
    const check = verifyCertificate(file!, publicKeyText(secrets.certificateKey()));
    expect(check.valid).toBe(true);
    const { erased_by_row: rows } = check.valid ? check.certificate : { erased_by_row: null };
    const { event_chain: chain } = check.valid ? check.certificate : { event_chain: null };
    const anchor = place.anchored.findLast(({ tenant_id: id }) => id === ref.tenantId)!;
    expect(chain).toEqual({
      last_hash: anchor.head,
      event_count: anchor.event_count,
      anchored_at: anchor.at,
    });
    // One row is erased with the reference to it, and counted where it was.
    expect(rows!.rows_before['messages']).toBe(before['messages']);
    expect(rows!.rows_erased['messages']).toBe(before['messages']);
    // Rows of partitions count under their table.
    expect(Object.keys(before)).toEqual(expect.arrayContaining(Object.keys(rows!.rows_erased)));
    expect(await eventsIn(platformTenantId, 'system.tenant_deletion%')).toContain(
      'system.tenant_deletion_completed',
    );
  });

  it('is certified by nobody while a verifier finds something', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 0);
    await place.begin(ref);
    const parts = {
      unitOfWork: place.database.unitOfWork,
      purge: place.purge,
      secrets,
      softwareVersion: 't',
    };
    await expect(certify(parts, ref)).rejects.toThrow(/verifier/);
    const proof = await proveErasure({ ...parts, prover: place.prover, workflows: noWorkflows }, ref);
    expect(proof.clean).toBe(false);
    expect(proof.left).toContain('public.spaces');
    await expect(certify(parts, ref)).rejects.toThrow(/verifier/);
  });

  it('notes what it has erased with the erasure itself, or erases nothing', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 0);
    await place.begin(ref);
    const lost = { ...ref, deletionId: newId() };
    const before = await countTenantRows(place.admin, ref.tenantId);
    await expect(place.erase(lost)).rejects.toThrow();
    const parts = { ...place, unitOfWork: place.database.unitOfWork };
    const pass = { from: null, mayGoOn: () => true, reached: () => {} };
    await expect(eraseRows(parts, lost, pass)).rejects.toThrow();
    expect(await countTenantRows(place.admin, ref.tenantId)).toEqual(before);
  });

  it('counts histories that Temporal still lists as something left', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 0);
    await place.begin(ref);
    await place.erase(ref);
    const { unitOfWork } = place.database;
    const listing = { ...noWorkflows, countListed: async () => 2 };
    const proof = await proveErasure({ unitOfWork, prover: place.prover, workflows: listing }, ref);
    expect(proof).toEqual({ clean: false, left: ['workflows'] });
  });

  it('waits for its grace time, warns a day before, and begins once', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 259_200);
    const far = await stageOf(ref);
    expect(far).toMatchObject({ is: 'waiting' });
    expect(far.is === 'waiting' && Math.round(far.waitMs / 3_600_000)).toBe(48);
    const move = (hours: number) =>
      place.admin.query(
        `update app.tenant_deletions set purge_after = purge_after - make_interval(hours => $2),
           requested_at = requested_at - make_interval(hours => $2) where id = $1`,
        [ref.deletionId, hours],
      );
    await move(49);
    expect(await stageOf(ref)).toMatchObject({ is: 'waiting' });
    expect(await stageOf(ref)).toMatchObject({ is: 'waiting' });
    await move(24);
    expect(await stageOf(ref)).toEqual({ is: 'deleting' });
    expect(await stageOf(ref)).toEqual({ is: 'deleting' });
    expect(await eventsIn(world.tenantId, 'system.tenant_deletion%')).toEqual([
      'system.tenant_deletion_requested',
      'system.tenant_deletion_imminent',
      'system.tenant_deletion_started',
    ]);
  });

  it('begins in little time, and refuses every key, however many keys the tenant has', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 0);
    const of = { tenantId: world.tenantId, principalId: world.owner.principalId };
    await insertKeys(place.admin, of, { count: 30_000, prefix: 'deletion' });
    const usable = async () => {
      const { rows } = await place.admin.query<{ usable: boolean }>(
        `select usable from app.find_credential('deletion00000001')`,
      );
      return rows[0]?.usable;
    };
    expect(await usable()).toBe(true);
    const stage = await place.database.unitOfWork.inTenant(ref.tenantId, async (em) => {
      await em.execute(`set local statement_timeout = '400ms'`);
      return nextStage(em, ref.tenantId, ref.deletionId);
    });
    expect(stage).toEqual({ is: 'deleting' });
    expect(await usable()).toBe(false);
  });

  it('ends every session, also for what was begun with it', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 0);
    const [providerId, sessionId] = [newId(), newId()];
    await place.admin.query(
      `insert into identity_providers (tenant_id, id, slug, display_name, issuer, client_id, signing_alg)
       values ($1, $2, 'staff', 'Staff', 'https://id.example.com', 'c', 'RS256')`,
      [world.tenantId, providerId],
    );
    await place.admin.query(
      `insert into sessions (tenant_id, id, principal_id, provider_id, expires_at)
       values ($1, $2, $3, $4, now() + interval '1 hour')`,
      [world.tenantId, sessionId, world.owner.principalId, providerId],
    );
    const isOpen = async () => {
      const { rows } = await place.admin.query<{ open: boolean }>(
        'select app.is_session_open($1, $2) as open',
        [world.tenantId, sessionId],
      );
      return rows[0]?.open;
    };
    expect(await isOpen()).toBe(true);
    expect(await stageOf(ref)).toEqual({ is: 'deleting' });
    expect(await isOpen()).toBe(false);
  });

  it('that is requested after a cancel is taken up by the workflow that the cancelled one still has', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const first = await schedule(world, 600);
    await asOwner(world, cancelDeletion);
    expect(await stageOf(first)).toEqual({ is: 'ended', status: 'cancelled' });
    const second = await schedule(world, 0);
    expect(second.deletionId).not.toBe(first.deletionId);
    expect(await stageOf(first)).toEqual({ is: 'ended', status: 'cancelled', next: second.deletionId });
    expect(await stageOf(second)).toEqual({ is: 'deleting' });
  });

  it('does not begin while its tenant is not one that is to be deleted', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 0);
    await place.admin.query(`update tenants set status = 'active' where tenant_id = $1`, [ref.tenantId]);
    await expect(stageOf(ref)).rejects.toMatchObject({ code: 'invalid_state' });
    const { rows } = await place.admin.query('select status from app.tenant_deletions where id = $1', [
      ref.deletionId,
    ]);
    expect(rows).toEqual([{ status: 'deletion_scheduled' }]);
  });

  it('asks for all work that its rows name, however much it is', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 0);
    await place.admin.query(
      `insert into spaces (select (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'name', n))).*
         from spaces s, generate_series(1, 600) n where tenant_id = $1 and id = $2)`,
      [ref.tenantId, world.spaceId],
    );
    const asked = new Set<string>();
    const runs = `documents/${ref.tenantId}/listed`;
    const workflows = {
      ...noWorkflows,
      listOpen: async () => [runs],
      openOf: async (ids: readonly string[]) => {
        for (const id of ids) asked.add(id);
        return ids.filter((id) => id === runs);
      },
    };
    const { unitOfWork } = place.database;
    expect((await stopWork({ unitOfWork, workflows }, ref.tenantId, { force: true })).open).toBe(1);
    expect([...asked][0]).toBe(runs);
    expect([...asked].filter((id) => id !== runs).length).toBeGreaterThan(600);
  });

  it('drops a message that cannot be sent, and looks once more whether its last try was received', async () => {
    const { unitOfWork } = place.database;
    const { tenantId } = await createWorld(unitOfWork);
    const left = (age: string) =>
      place.admin.query(
        `insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until, created_at)
         values ($1, gen_random_uuid(), 'start', 'unknown', 'unknown', '{}', now() + interval '9 seconds',
           now() - $2::interval)`,
        [tenantId, age],
      );
    const workflows = { ...noWorkflows, listOpen: async () => [], openOf: async () => [] };
    const stop = () => stopWork({ unitOfWork, workflows }, tenantId, { force: true });
    await left('2 minutes');
    expect(await stop()).toEqual({ open: 0, pending: 1 });
    expect(await stop()).toEqual({ open: 0, pending: 0 });
    await left('1 second');
    expect([await stop(), await stop()]).toEqual([
      { open: 0, pending: 1 },
      { open: 0, pending: 1 },
    ]);
    await place.admin.query('delete from outbox where tenant_id = $1', [tenantId]);
  });

  it('is taken up again when Temporal has lost its workflow', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 600);
    const started: string[] = [];
    const reconcile = (state: 'open' | 'unknown_id') =>
      reconciliation.deleteTenant.run(
        {
          database: place.database.database,
          inspector: { stateOf: async () => state },
          starter: {
            start: async ({ workflowId, payload }: StartMessage) => {
              started.push(`${workflowId} ${JSON.stringify(payload)}`);
            },
          },
        } as unknown as SweepDependencies,
        { place: null, mayGoOn: () => true, reached: () => {} },
      );
    await reconcile('open');
    expect(started).toEqual([]);
    await reconcile('unknown_id');
    expect(started).toContain(`tenant-deletion/${ref.tenantId} ${JSON.stringify(ref)}`);
  });

  it('tells the operators what it waits for, once per reason', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 0);
    await place.begin(ref);
    const before = (await eventsIn(platformTenantId, 'system.tenant_deletion_failed')).length;
    for (const reason of ['timeout', 'timeout', 'work_not_stopped']) {
      await reportFailure(place.database.unitOfWork, ref, { step: 'stopping', reason });
    }
    expect((await eventsIn(platformTenantId, 'system.tenant_deletion_failed')).length).toBe(before + 2);
    const { rows } = await place.admin.query<{ failure: object }>(
      'select failure from app.tenant_deletions where id = $1',
      [ref.deletionId],
    );
    expect(rows[0]!.failure).toMatchObject({ step: 'stopping', reason: 'work_not_stopped' });
  });

  it('shows no failure that is mended, and reports it again when it comes back', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 0);
    await place.begin(ref);
    const { unitOfWork } = place.database;
    const reported = async () => (await eventsIn(platformTenantId, 'system.tenant_deletion_failed')).length;
    const failureOf = async () => {
      const { rows } = await place.admin.query<{ failure: object | null }>(
        'select failure from app.tenant_deletions where id = $1',
        [ref.deletionId],
      );
      return rows[0]!.failure;
    };
    const before = await reported();
    const fault = { step: 'revoking', reason: 'timeout' } as const;
    await reportFailure(unitOfWork, ref, fault);
    await enterStep(unitOfWork, ref, 'revoking');
    expect(await failureOf()).toMatchObject(fault);
    await enterStep(unitOfWork, ref, 'counting');
    expect(await failureOf()).toBeNull();
    await pause(2);
    await reportFailure(unitOfWork, ref, fault);
    expect((await reported()) - before).toBe(2);
  });

  it('goes no further while its verifier does not see the tenant', async () => {
    const world = await createWorld(place.database.unitOfWork);
    const ref = await schedule(world, 0);
    await place.begin(ref);
    const { unitOfWork } = place.database;
    const elsewhere = { verify: (_: string, ids: readonly string[]) => place.prover.verify(newId(), ids) };
    const parts = { ...place, unitOfWork, secrets, softwareVersion: 't', eventRetentionDays: 365 };
    await expect(takeStock({ ...parts, prover: elsewhere }, ref)).rejects.toMatchObject({
      code: 'verifier_blind',
    });
    const partly = {
      verify: async (tenantId: string, ids: readonly string[]) => {
        const found = await place.prover.verify(tenantId, ids);
        const { 'public.messages': _, ...some } = found.tables;
        return { ...found, tables: some };
      },
    };
    await expect(takeStock({ ...parts, prover: partly }, ref)).rejects.toMatchObject({
      code: 'verifier_blind',
    });
    await takeStock({ ...parts, prover: place.prover }, ref);
    // The verifier later looks for less than was counted.
    await place.erase(ref);
    for (const blind of ['tables', 'ids'] as const) {
      const prover = blind === 'tables' ? partly : place.prover;
      await proveErasure({ unitOfWork, prover, workflows: noWorkflows }, ref);
      if (blind === 'ids') {
        await place.admin.query(
          `update app.tenant_deletions set sampled_ids = '[]', proof = jsonb_set(proof, '{sampled_ids}', '0') where id = $1`,
          [ref.deletionId],
        );
      }
      await expect(certify(parts, ref)).rejects.toMatchObject({ code: 'verifier_blind' });
    }
  });
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
