import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Caller } from '#domain/foundation/access/caller.ts';
import { eventTypes, type EventType } from '#domain/foundation/events/catalogue.ts';
import { recordEvent, type AuditEvent } from '#domain/foundation/events/record-event.ts';
import { isNotified, reachOfTypes } from '#domain/foundation/events/notified-types.ts';
import { newId, nilUuid } from '#domain/foundation/kernel/ids.ts';
import { splitPages } from '#domain/operations/notifications/split-pages.ts';
import { deliverPage } from '#domain/operations/notifications/deliver-page.ts';
import { notificationRules } from '#domain/operations/notifications/notification-rules.ts';
import { outboxAgeSeconds } from '#domain/foundation/durable/outbox.ts';
import { registerEmbeddingModel } from '#domain/knowledge/embeddings/register-embedding-model.ts';
import { updateEmbeddingModel } from '#domain/knowledge/embeddings/update-embedding-model.ts';
import { changeSpaceReranking } from '#domain/knowledge/reranking/change-space-reranking.ts';
import { registerRerankingModel } from '#domain/knowledge/reranking/register-reranking-model.ts';
import { updateRerankingModel } from '#domain/knowledge/reranking/update-reranking-model.ts';
import { auditOf } from '#domain/responses/end/end-change.ts';
import { currentRecord } from '#domain/responses/store/head.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { addUsers, deliverAll, logEvent } from '../../../support/notification-world.ts';
import { addMember } from '../../../support/world.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine?.stop());
beforeEach(async () => {
  await engine.admin.query('truncate notifications, fan_outs, notified_periods, outbox, event_dedupe');
  await engine.admin.query('delete from space_members');
});

const inSpace = () => ({ type: 'space', id: engine.world.spaceId }) as const;
const pendingRows = async () =>
  (
    await engine.admin.query<{ workflow_id: string; payload: unknown }>(
      'select workflow_id, payload from outbox',
    )
  ).rows;
const record = (event: AuditEvent, via: Caller['origin']['via'] = 'api', principalId?: string) =>
  engine.act(({ em, caller }) =>
    recordEvent(
      em,
      { ...caller, principalId: principalId ?? caller.principalId, origin: { via, requestId: null } },
      event,
    ),
  );
const received = async () =>
  (
    await engine.admin.query<{ user_id: string; title: string; body: string | null }>(
      'select user_id, title, body from notifications order by user_id',
    )
  ).rows;
const notifiedUsers = async () => (await received()).map(({ user_id: id }) => id);
const deliver = async (event: Parameters<typeof logEvent>[2], limit?: number): Promise<string> => {
  const { tenantId } = engine.world;
  const id = await logEvent(engine.admin, tenantId, event);
  await deliverAll(engine.database.unitOfWork, tenantId, id, limit);
  return id;
};

const refuse = (by: string) => record({ type: 'security.permission_denied', resource: inSpace() }, 'api', by);
/** An administrator of the tenant. @returns what it was notified of */
const makeAdmin = async () => {
  const [admin] = await addUsers(engine.admin, engine.world, { count: 1 });
  await engine.admin.query(
    `insert into role_assignments (tenant_id, principal_id, role_key) values ($1, $2, 'admin')`,
    [engine.world.tenantId, admin],
  );
  return async () =>
    (
      await engine.admin.query<{ title: string }>(
        `select title from notifications where user_id = $1 and event_type ~ 'denied|limit_reached'`,
        [admin],
      )
    ).rows;
};
const fanOutIds = async () =>
  (
    await engine.admin.query<{ event_id: string }>(
      `select event_id from fan_outs where event_type ~ 'denied|limit_reached' order by event_id`,
    )
  ).rows.map((row) => row.event_id);
/** As if the periods of all coalesced fan-outs were over. */
const endPeriods = async () => {
  for (const id of await fanOutIds()) {
    await deliverAll(engine.database.unitOfWork, engine.world.tenantId, id);
  }
};

describe('an event', () => {
  it('that a rule names enqueues its fan-out in its own transaction, due at once for the relays', async () => {
    const { tenantId, spaceId } = engine.world;
    await record({ type: 'space.member_added', resource: inSpace(), metadata: { principal_id: newId() } });
    const [event] = (await engine.admin.query<{ event_id: string }>('select event_id from fan_outs')).rows;
    const eventId = event!.event_id;
    expect(await pendingRows()).toEqual([
      {
        workflow_id: `notify/${tenantId}/${eventId}`,
        payload: { tenantId, eventId, eventType: 'space.member_added', spaceId },
      },
    ]);
    const due = await engine.admin.query('select from outbox where claimed_until <= now()');
    expect(due.rowCount).toBe(1);
  });

  it('whose change is rolled back enqueues nothing', async () => {
    const failing = engine.act(async ({ em, caller }) => {
      await recordEvent(em, caller, { type: 'space.deleted', resource: inSpace() });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await pendingRows()).toEqual([]);
  });

  it('that no rule names, or that was written before, enqueues nothing', async () => {
    await record({ type: 'space.updated', resource: inSpace() });
    expect(await pendingRows()).toEqual([]);
    await record({ type: 'space.deleted', resource: inSpace(), dedupeKey: 'once' });
    await record({ type: 'space.deleted', resource: inSpace(), dedupeKey: 'once' });
    expect(await pendingRows()).toHaveLength(1);
  });

  it.each([
    ['a short response', 59_999, undefined, 0],
    ['a response of more than a minute', 60_001, undefined, 1],
    ['a short response that asked for it', 5, { notify: 'true' }, 1],
  ])('of %s enqueues as many fan-outs as it should', async (_what, tookMs, metadata, count) => {
    const id = await engine.create(metadata === undefined ? {} : { metadata });
    await engine.admin.query('delete from outbox');
    await engine.act(async ({ em, caller }) => {
      const response = await em.findOneOrFail(Response, { id });
      const end = new Date(response.createdAt.getTime() + tookMs);
      const record = { ...(await currentRecord(em, response)), status: 'completed' as const };
      await recordEvent(em, caller, auditOf(response, end, record));
    });
    expect(await pendingRows()).toHaveLength(count);
  });

  it('of a response is enqueued in the commit of its last turn, when the request wants it', async () => {
    for (const notify of ['true', 'false']) {
      const responseId = await engine.create({ metadata: { notify } });
      await engine.admin.query('delete from outbox');
      const attempt = await engine.attempt(responseId);
      await attempt.say('Done.');
      await attempt.commit();
      const { rows } = await engine.admin.query<{ id: string }>(
        `select id from events where resource_id = $1 and event_type = 'space.response_completed'`,
        [responseId],
      );
      expect(rows).toHaveLength(1);
      const { tenantId } = engine.world;
      const workflows = (await pendingRows()).map((row) => row.workflow_id);
      expect(workflows).toEqual(notify === 'true' ? [`notify/${tenantId}/${rows[0]!.id}`] : []);
    }
    const unfinished = await engine.admin.query('select event_type from fan_outs');
    expect(unfinished.rows).toEqual([{ event_type: 'space.response_completed' }]);
  });

  it('that concerns nobody, as its producer says, enqueues nothing, though it is logged', async () => {
    await record({ type: 'space.deleted', resource: inSpace(), dedupeKey: 'quiet', notify: false });
    expect(await pendingRows()).toEqual([]);
    const logged = await engine.admin.query(`select from event_dedupe where key = 'quiet'`);
    expect(logged.rowCount).toBe(1);
  });

  it('of a limit notifies once in its period, also when its first page is repeated after a crash', async () => {
    const notified = await makeAdmin();
    const limit = (period: string) =>
      record({ type: 'system.limit_reached', resource: { type: 'tenant', id: 'x' }, metadata: { period } });
    await limit('2026-11');
    await limit('2026-11');
    const [first, second] = await fanOutIds();
    const unitOfWork = engine.database.unitOfWork;
    const crash = unitOfWork.inTenant(engine.world.tenantId, async (em) => {
      await deliverPage(em, { tenantId: engine.world.tenantId, eventId: first!, after: nilUuid, limit: 10 });
      throw new Error('killed');
    });
    await expect(crash).rejects.toThrow('killed');
    const deliverEach = async () => {
      for (const id of [first!, second!]) await deliverAll(unitOfWork, engine.world.tenantId, id);
    };
    await deliverEach();
    expect(await notified()).toHaveLength(1);
    await deliverEach();
    expect(await notified()).toHaveLength(1);
    // what had claimed the period delivers again where its pages were lost
    await engine.admin.query('delete from notifications');
    await deliverEach();
    expect(await notified()).toHaveLength(1);
    await limit('2026-12');
    for (const id of await fanOutIds()) await deliverAll(unitOfWork, engine.world.tenantId, id);
    expect(await notified()).toHaveLength(2);
    expect(await fanOutIds()).toEqual([]);
  });

  it('of a refusal notifies at the tenth of one principal within ten minutes, also of ten at once, and then not again', async () => {
    const notified = await makeAdmin();
    const { principalId } = await addMember(engine.database.unitOfWork, engine.world);
    for (let i = 0; i < 9; i += 1) {
      await refuse(principalId);
    }
    await refuse(engine.world.owner.principalId);
    await endPeriods();
    expect(await notified()).toHaveLength(0);
    await refuse(principalId);
    await endPeriods();
    expect(await notified()).toHaveLength(1);
    await refuse(principalId);
    await endPeriods();
    expect(await notified()).toHaveLength(1);
    const other = await addMember(engine.database.unitOfWork, engine.world);
    await Promise.all(Array.from({ length: 10 }, () => refuse(other.principalId)));
    await endPeriods();
    expect(await notified()).toHaveLength(2);
    expect(await fanOutIds()).toEqual([]);
  });

  it('of a refusal in a burst of 200 enqueues one start, which is due after the burst, and notifies once', async () => {
    const notified = await makeAdmin();
    const { principalId } = await addMember(engine.database.unitOfWork, engine.world);
    await Promise.all(Array.from({ length: 200 }, () => refuse(principalId)));
    const starts = await engine.admin.query<{ seconds: number }>(
      `select extract(epoch from claimed_until - now())::float8 as seconds from outbox where payload ->> 'eventType' ~ 'denied'`,
    );
    expect(starts.rows).toHaveLength(1);
    expect(starts.rows[0]!.seconds).toBeGreaterThan(30);
    expect(await fanOutIds()).toHaveLength(1);
    await engine.admin.query(`delete from outbox where payload ->> 'eventType' !~ 'denied'`);
    expect(await outboxAgeSeconds(engine.database.database)).toBe(0);
    await endPeriods();
    expect(await notified()).toHaveLength(1);
  });

  it('of nine refusals notifies nobody', async () => {
    const notified = await makeAdmin();
    const { principalId } = await addMember(engine.database.unitOfWork, engine.world);
    await Promise.all(Array.from({ length: 9 }, () => refuse(principalId)));
    expect(await fanOutIds()).toHaveLength(1);
    await endPeriods();
    expect(await notified()).toEqual([]);
    expect(await fanOutIds()).toEqual([]);
  });

  it('of ten refusals over two periods notifies once, but not of ten over more than ten minutes', async () => {
    const notified = await makeAdmin();
    const { principalId } = await addMember(engine.database.unitOfWork, engine.world);
    await Promise.all(Array.from({ length: 5 }, () => refuse(principalId)));
    await endPeriods();
    await Promise.all(Array.from({ length: 5 }, () => refuse(principalId)));
    await endPeriods();
    expect(await notified()).toHaveLength(1);
    const slow = await addMember(engine.database.unitOfWork, engine.world);
    const { tenantId } = engine.world;
    const ids = [];
    for (let i = 9; i >= 0; i -= 1) {
      const id = await logEvent(engine.admin, tenantId, {
        type: 'security.permission_denied',
        actorId: slow.principalId,
        resource: inSpace(),
        agoSeconds: i * 70,
      });
      ids.push(id);
    }
    for (const id of ids) await deliverAll(engine.database.unitOfWork, tenantId, id);
    expect(await notified()).toHaveLength(1);
  });

  it('of a refusal that is recorded while an earlier fan-out decides is seen by that one or by its own', async () => {
    const notified = await makeAdmin();
    const { tenantId } = engine.world;
    const { principalId } = await addMember(engine.database.unitOfWork, engine.world);
    for (let i = 0; i < 9; i += 1) {
      await refuse(principalId);
    }
    const [pending] = await fanOutIds();
    const open = Promise.withResolvers<void>();
    const joined = Promise.withResolvers<void>();
    const tenth = engine.act(async ({ em, caller }) => {
      await recordEvent(
        em,
        { ...caller, principalId },
        { type: 'security.permission_denied', resource: inSpace() },
      );
      joined.resolve();
      await open.promise;
    });
    await joined.promise;
    const deciding = deliverAll(engine.database.unitOfWork, tenantId, pending!);
    await sleep(300);
    open.resolve();
    await Promise.all([tenth, deciding]);
    await endPeriods();
    expect(await notified()).toHaveLength(1);
  });
});

describe('the rules', () => {
  it('are exactly those of the vocabulary', () => {
    const named: EventType[] = [
      'space.member_added',
      'space.member_removed',
      'space.member_role_changed',
      'space.project_member_added',
      'space.project_role_changed',
      'space.invite_created',
      'space.invite_accepted',
      'space.invite_declined',
      'space.project_deleted',
      'space.deleted',
      'space.response_failed',
      'space.response_completed',
      'space.mcp_auth_required',
      'space.mcp_tools_changed',
      'space.mcp_server_failed',
      'space.limit_reached',
      'collection.connector_auth_required',
      'collection.sync_failing',
      'collection.connector_suspended',
      'collection.deletion_guard_triggered',
      'collection.sync_completed',
      'collection.deleted',
      'security.login_succeeded',
      'security.refresh_reuse_detected',
      'security.session_revoked',
      'security.api_key_created',
      'security.role_assigned',
      'security.permission_denied',
      'security.identity_provider_unconfirmed',
      'system.tenant_deletion_requested',
      'system.tenant_deletion_imminent',
      'system.tenant_deletion_cancelled',
      'system.tenant_deletion_failed',
      'system.tenant_deletion_completed',
      'system.tenant_resumed',
      'system.skill_version_deprecated',
      'system.model_removed',
      'system.limit_reached',
    ];
    expect(Object.keys(notificationRules).toSorted()).toEqual(named.toSorted());
  });

  it('are one for each type that has a fan-out, and every other type is declared silent', () => {
    expect(Object.keys(reachOfTypes).toSorted()).toEqual(eventTypes.toSorted());
    expect(Object.keys(notificationRules).toSorted()).toEqual(eventTypes.filter(isNotified).toSorted());
    expect(reachOfTypes['security.role_created']).toBe('silent');
  });

  it.each(eventTypes.filter(isNotified))(
    '%s has a page of recipients that the database understands, and a title',
    async (type) => {
      const { spaceId, owner } = engine.world;
      const { principalId } = await addMember(engine.database.unitOfWork, engine.world, {
        spaceRole: 'space_admin',
        tenantRoles: ['owner'],
      });
      const resource =
        type.startsWith('security.role') || type.startsWith('security.login')
          ? { type: 'principal', id: principalId }
          : { type: 'space', id: spaceId };
      const metadata = {
        via: 'workflow',
        space_id: spaceId,
        principal_id: principalId,
        invited_by: principalId,
        author_id: principalId,
        connector_principal_id: principalId,
      };
      const actorId = type === 'security.login_succeeded' ? principalId : owner.principalId;
      if (type === 'security.permission_denied') {
        for (let i = 0; i < 9; i += 1) {
          await logEvent(engine.admin, engine.world.tenantId, { type, actorId, resource, metadata });
        }
      }
      await deliver({ type, actorId, resource, metadata });
      const byQuery = [
        'system.model_removed',
        'space.invite_created',
        'space.response_completed',
        'space.response_failed',
      ];
      const rows = (await received()).filter((row) => row.user_id === principalId);
      expect(rows).toHaveLength(byQuery.includes(type) ? 0 : 1);
      for (const { title } of rows) expect(title).toMatch(/^[A-Z].*\S$/);
    },
  );
});

describe('the audience', () => {
  it('of a deprecated version is its author, and its users of the last 30 days who may read it', async () => {
    const { tenantId } = engine.world;
    const [author, recent, old, other, outsider] = await addUsers(engine.admin, engine.world, { count: 5 });
    for (const id of [author, recent, old, other]) {
      await engine.admin.query(
        `insert into role_assignments (tenant_id, principal_id, role_key) values ($1, $2, 'member')`,
        [tenantId, id],
      );
    }
    const [skillId, another] = [newId(), newId()];
    for (const id of [skillId, another]) {
      await engine.admin.query(
        'insert into skills (tenant_id, id, name, created_by) values ($1, $2, $2::uuid::text, $3)',
        [tenantId, id, author],
      );
    }
    for (const [skill, user, ago] of [
      [skillId, recent, '29 days 23 hours'],
      [skillId, old, '30 days 1 hour'],
      [skillId, outsider, '1 day'],
      [another, other, '1 day'],
    ]) {
      await engine.admin.query(
        `insert into skill_uses (tenant_id, skill_id, principal_id, last_used_at) values ($1, $2, $3, now() - $4::interval)`,
        [tenantId, skill, user, ago],
      );
    }
    await deliver(
      {
        type: 'system.skill_version_deprecated',
        resource: { type: 'skill_version', id: newId() },
        metadata: { skill_id: skillId, author_id: author },
      },
      1,
    );
    expect(await notifiedUsers()).toEqual([author!, recent!].toSorted());
  });

  it('is notified once each, in pages, whatever is repeated', async () => {
    const users = await addUsers(engine.admin, engine.world, { count: 23 });
    const { tenantId } = engine.world;
    const eventId = await deliver({ type: 'space.deleted', resource: inSpace() }, 10);
    expect(await notifiedUsers()).toEqual(users);
    expect(await deliverAll(engine.database.unitOfWork, tenantId, eventId, 7)).toBe(0);
    await Promise.all(
      Array.from({ length: 4 }, (_, i) => deliverAll(engine.database.unitOfWork, tenantId, eventId, 5 + i)),
    );
    expect(await notifiedUsers()).toEqual(users);
    expect((await received())[0]!.title).toBe('The space Space was deleted');
  });

  it('of a fan-out that was repeated concurrently from both ends contains no recipient twice', async () => {
    const users = await addUsers(engine.admin, engine.world, { count: 300 });
    const { tenantId } = engine.world;
    const eventId = await logEvent(engine.admin, tenantId, { type: 'space.deleted', resource: inSpace() });
    const written = await Promise.all(
      [300, 50, 10, 30].map((limit) => deliverAll(engine.database.unitOfWork, tenantId, eventId, limit)),
    );
    expect(written.reduce((sum, each) => sum + each, 0)).toBe(300);
    expect(await notifiedUsers()).toEqual(users);
  });

  it('contains no service accounts, agents or disabled users', async () => {
    const users = await addUsers(engine.admin, engine.world, { count: 4 });
    await engine.admin.query(`update principals set type = 'service_account' where id = $1`, [users[0]]);
    await engine.admin.query(`update principals set type = 'agent' where id = $1`, [users[1]]);
    await engine.admin.query(`update principals set status = 'disabled' where id = $1`, [users[2]]);
    await deliver({ type: 'space.deleted', resource: inSpace() });
    expect(await notifiedUsers()).toEqual([users[3]]);
  });

  it.each([
    ['api', 1],
    ['workflow', 2],
    ['schedule', 2],
  ])('excludes the actor of %s as the rules say', async (via, count) => {
    const users = await addUsers(engine.admin, engine.world, { count: 2 });
    const metadata = { via };
    await deliver({ type: 'space.deleted', actorId: users[0]!, resource: inSpace(), metadata });
    expect(await notifiedUsers()).toEqual(count === 2 ? users : [users[1]]);
  });

  it('includes the requester of a response that failed in its workflow, though the event names the requester as its actor', async () => {
    const [requester] = await addUsers(engine.admin, engine.world, { count: 1 });
    const responseId = await engine.create();
    await engine.admin.query('update response_ids set principal_id = $1 where id = $2', [
      requester,
      responseId,
    ]);
    await deliver({
      type: 'space.response_failed',
      actorId: requester!,
      resource: { type: 'response', id: responseId },
      metadata: { via: 'workflow', space_id: engine.world.spaceId, reason: 'model_error' },
    });
    expect(await received()).toEqual([
      {
        user_id: requester,
        title: 'Your response in the space Space has failed',
        body: `The reason is model_error. It is of space ${engine.world.spaceId}.`,
      },
    ]);
  });

  it.each([
    ['space.mcp_server_failed', 'mcp_server', 'It is the tool server wiki of space SPACE.'],
    ['collection.sync_failing', 'connector', 'It is a connector (s3) of collection COLLECTION, space SPACE.'],
  ] as const)('of %s says in which place its resource is found', async (type, resourceType, body) => {
    const { spaceId } = engine.world;
    const [collectionId, id] = [newId(), newId()];
    await addUsers(engine.admin, engine.world, { count: 1, role: 'space_admin' });
    await deliver({
      type,
      resource: { type: resourceType, id },
      metadata: { space_id: spaceId, collection_id: collectionId, provider_slug: 's3', slug: 'wiki' },
    });
    const [notified] = await received();
    const written = body.replace('SPACE', spaceId).replace('COLLECTION', collectionId);
    expect(notified?.body).toBe(written);
  });

  it('of an invite is the user with its address, in any letter case', async () => {
    const [user, other] = await addUsers(engine.admin, engine.world, { count: 2 });
    await engine.admin.query(`update principals set email = 'Ann@Example.org' where id = $1`, [user]);
    await engine.admin.query(`update principals set email = 'bob@example.org' where id = $1`, [other]);
    const { tenantId, spaceId, owner } = engine.world;
    const id = newId();
    await engine.admin.query(
      `insert into invites (tenant_id, id, space_id, email, role_key, invited_by) values ($1, $2, $3, 'ann@example.ORG', 'space_member', $4)`,
      [tenantId, id, spaceId, owner.principalId],
    );
    await deliver({
      type: 'space.invite_created',
      resource: { type: 'invite', id },
      metadata: { space_id: spaceId },
    });
    expect(await notifiedUsers()).toEqual([user]);
  });

  it('includes the actor where the security of the account is at stake', async () => {
    const [user] = await addUsers(engine.admin, engine.world, { count: 1 });
    await deliver({
      type: 'security.api_key_created',
      actorId: user!,
      resource: { type: 'api_key', id: newId() },
      metadata: { principal_id: user },
    });
    expect(await notifiedUsers()).toEqual([user]);
  });

  it('of admins includes holders of custom roles with the permission', async () => {
    const { tenantId } = engine.world;
    await engine.admin.query(
      `insert into roles (tenant_id, id, key, name, permissions) values ($1, gen_random_uuid(), 'captain', 'Captain', '{spaces.update,collections.read}')
       on conflict do nothing`,
      [tenantId],
    );
    await addUsers(engine.admin, engine.world, { count: 3 });
    const admins = await addUsers(engine.admin, engine.world, { count: 2, role: 'space_admin' });
    const captains = await addUsers(engine.admin, engine.world, { count: 1, role: 'captain' });
    await deliver({
      type: 'collection.deleted',
      resource: { type: 'collection', id: newId() },
      metadata: { space_id: engine.world.spaceId, documents: 3 },
    });
    expect(await notifiedUsers()).toEqual([...admins, ...captains].toSorted());
    expect((await received())[0]!.body).toBe('It held 3 documents.');
  });

  it('of a model that was withdrawn are the admins of the spaces that use it, whatever its kind', async () => {
    const { tenantId, spaceId } = engine.world;
    const [admin] = await addUsers(engine.admin, engine.world, { count: 1, role: 'space_admin' });
    await addUsers(engine.admin, engine.world, { count: 1 });
    const reranking = await engine.act(async (ctx) => {
      const { model } = await registerRerankingModel(ctx, {
        alias: 'judge',
        providerKind: 'rerank_compatible',
        providerModel: 'judge-1',
        baseUrl: 'https://rerank.example.com/v1',
      });
      await changeSpaceReranking(ctx, { modelId: model.id });
      return model;
    });
    const embedding = async (state: 'active' | 'building' | 'retired') => {
      const { model } = await engine.act((ctx) =>
        registerEmbeddingModel(ctx, {
          alias: state,
          providerKind: 'openai_compatible',
          providerModel: 'words-1',
          baseUrl: 'https://embed.example.com/v1',
          dims: 16,
        }),
      );
      await engine.admin.query(
        `insert into embedding_generations (tenant_id, id, space_id, model_id, state, mean)
         values ($1, uuidv7(), $2, $3, $4, '')`,
        [tenantId, spaceId, model.id, state],
      );
      return model.id;
    };
    await engine.act((ctx) => updateRerankingModel(ctx, { id: reranking.id, disabled: true }));
    for (const state of ['active', 'building', 'retired'] as const) {
      const id = await embedding(state);
      await engine.act((ctx) => updateEmbeddingModel(ctx, { id, disabled: true }));
    }
    const { rows } = await engine.admin.query<{ event_id: string }>(
      `select event_id from fan_outs where event_type = 'system.model_removed' order by event_id`,
    );
    for (const { event_id: id } of rows) {
      await deliverAll(engine.database.unitOfWork, tenantId, id);
    }
    const titles = (await received()).filter(({ user_id: id }) => id === admin).map(({ title }) => title);
    expect(titles.toSorted()).toEqual([
      'The embedding model active can no longer be chosen',
      'The embedding model building can no longer be chosen',
      'The reranking model judge can no longer be used',
    ]);
    expect(await notifiedUsers()).toEqual([admin, admin, admin]);
  });

  it('is checked at delivery: users who left meanwhile, or lost the permission, are not notified', async () => {
    const { tenantId, spaceId } = engine.world;
    const [stays, leaves, demoted] = await addUsers(engine.admin, engine.world, { count: 3 });
    await engine.admin.query(
      `insert into roles (tenant_id, id, key, name, permissions) values ($1, gen_random_uuid(), 'blind', 'Blind', '{}')
       on conflict do nothing`,
      [tenantId],
    );
    for (const id of [stays, leaves, demoted]) {
      const eventId = await logEvent(engine.admin, tenantId, {
        type: 'space.member_added',
        resource: inSpace(),
        metadata: { principal_id: id },
      });
      await engine.admin.query('delete from space_members where principal_id = $1', [leaves]);
      await engine.admin.query(`update space_members set role_key = 'blind' where principal_id = $1`, [
        demoted,
      ]);
      await deliverAll(engine.database.unitOfWork, tenantId, eventId);
    }
    expect(await notifiedUsers()).toEqual([stays]);
    expect(spaceId).toBe(inSpace().id);
  });

  it.each(['space.project_member_added', 'space.project_role_changed'] as const)(
    'of %s is notified while it may read the project, by a role in the space or in the project itself',
    async (type) => {
      const { tenantId, spaceId, owner } = engine.world;
      const [stays, leaves] = await addUsers(engine.admin, engine.world, { count: 2 });
      const [guest, former] = await addUsers(engine.admin, engine.world, { count: 2, role: 'none' });
      const projectId = newId();
      await engine.admin.query(
        `insert into projects (tenant_id, id, space_id, name, created_by) values ($1, $2, $3, 'Pier', $4)`,
        [tenantId, projectId, spaceId, owner.principalId],
      );
      for (const id of [stays, leaves, guest, former]) {
        await engine.admin.query(
          `insert into project_members (tenant_id, id, space_id, project_id, principal_id, role_key)
           values ($1, $2, $3, $4, $5, 'project_viewer')`,
          [tenantId, newId(), spaceId, projectId, id],
        );
      }
      await engine.admin.query('delete from space_members where principal_id = $1', [leaves]);
      await engine.admin.query('delete from project_members where principal_id = $1', [former]);
      const resource = { type: 'project', id: projectId };
      for (const id of [stays, leaves, guest, former]) {
        await deliver({ type, resource, metadata: { space_id: spaceId, principal_id: id } });
      }
      expect(await notifiedUsers()).toEqual([stays!, guest!].toSorted());
      expect((await received())[0]!.title).toMatch(/project of the space Space/);
    },
  );

  it.each(['space.response_completed', 'space.response_failed'] as const)(
    'of %s is notified while it may read the space, whose name is in the title',
    async (type) => {
      const [stays, leaves] = await addUsers(engine.admin, engine.world, { count: 2 });
      await engine.admin.query('delete from space_members where principal_id = $1', [leaves]);
      for (const requester of [stays, leaves]) {
        const id = await engine.create();
        await engine.admin.query('update response_ids set principal_id = $1 where id = $2', [requester, id]);
        const resource = { type: 'response', id };
        await deliver({ type, resource, metadata: { via: 'workflow', space_id: engine.world.spaceId } });
      }
      expect(await notifiedUsers()).toEqual([stays]);
    },
  );

  it('of a page ends the fan-out only after the last recipient', async () => {
    await addUsers(engine.admin, engine.world, { count: 6 });
    const { tenantId } = engine.world;
    const eventId = await logEvent(engine.admin, tenantId, { type: 'space.deleted', resource: inSpace() });
    await engine.admin.query('insert into fan_outs (tenant_id, event_id, event_type) values ($1, $2, $3)', [
      tenantId,
      eventId,
      'space.deleted',
    ]);
    const page = (after: string) =>
      engine.database.unitOfWork.inTenant(tenantId, (em) =>
        deliverPage(em, { tenantId, eventId, after, limit: 4 }),
      );
    const unfinished = async () => (await engine.admin.query('select from fan_outs')).rowCount;
    const first = await page(nilUuid);
    expect([first.delivered, await unfinished()]).toEqual([4, 1]);
    expect(await page(first.next!)).toEqual({ next: null, delivered: 2 });
    expect(await unfinished()).toBe(0);
  });

  it('of pages that are delivered at once is complete when users join or leave before the delivery', async () => {
    const { tenantId } = engine.world;
    const users = await addUsers(engine.admin, engine.world, { count: 7 });
    const eventId = await logEvent(engine.admin, tenantId, { type: 'space.deleted', resource: inSpace() });
    const { unitOfWork } = engine.database;
    const cut = (after: string) =>
      unitOfWork.inTenant(tenantId, (em) => splitPages(em, { tenantId, eventId, after, size: 2, count: 2 }));
    const leave = (user: string | undefined) =>
      engine.admin.query('delete from space_members where principal_id = $1', [user]);
    // a user who joins makes the first page longer, a user who leaves the second shorter
    const [away, gone] = [users[1], users[3]];
    await leave(away);
    const pages = await cut(nilUuid);
    expect(pages).toEqual([
      { after: nilUuid, upTo: users[2] },
      { after: users[2], upTo: users[4] },
    ]);
    await engine.admin.query(
      `insert into space_members (tenant_id, space_id, principal_id, role_key) values ($1, $2, $3, 'space_member')`,
      [tenantId, inSpace().id, away],
    );
    await leave(gone);
    const received = [];
    for (const page of pages.toReversed()) {
      const { delivered } = await unitOfWork.inTenant(tenantId, (em) =>
        deliverPage(em, { tenantId, eventId, ...page }),
      );
      received.push(delivered);
    }
    expect(received).toEqual([1, 3]);
    // fewer are left than two pages: one page for all of them, and the other finds no recipient
    const [rest, ...others] = await cut(users[4]!);
    expect([rest, others]).toEqual([{ after: users[4], limit: 4 }, []]);
    const end = await unitOfWork.inTenant(tenantId, (em) => deliverPage(em, { tenantId, eventId, ...rest! }));
    expect(end).toEqual({ next: null, delivered: 2 });
    expect(await notifiedUsers()).toEqual(users.filter((user) => user !== gone));
  });

  it('of several overlapping kinds is paged in order and notified once each', async () => {
    const { tenantId, spaceId } = engine.world;
    const admins = await addUsers(engine.admin, engine.world, { count: 9, role: 'space_admin' });
    // an admin in the middle, whose position in the order both kinds reach
    const connector = admins[4]!;
    const metadata = { space_id: spaceId, connector_principal_id: connector };
    const resource = { type: 'connector', id: newId() };
    const eventId = await deliver({ type: 'collection.sync_failing', resource, metadata }, 2);
    expect(await notifiedUsers()).toEqual(admins);
    expect(await deliverAll(engine.database.unitOfWork, tenantId, eventId, 4)).toBe(0);
  });

  it('of a page has its permission by a role in the space or in the tenant, also its first and last recipient', async () => {
    const { tenantId } = engine.world;
    const users = await addUsers(engine.admin, engine.world, { count: 5 });
    await engine.admin.query('update space_members set role_key = $1 where principal_id = any($2)', [
      'none',
      [users[1], users[3]],
    ]);
    // one recipient has the permission by a role in the tenant instead
    await engine.admin.query(
      `insert into role_assignments (tenant_id, principal_id, role_key) values ($1, $2, 'admin')`,
      [tenantId, users[3]],
    );
    await deliver(
      {
        type: 'space.project_deleted',
        resource: { type: 'project', id: newId() },
        metadata: { space_id: engine.world.spaceId },
      },
      2,
    );
    expect(await notifiedUsers()).toEqual([users[0], users[2], users[3], users[4]]);
  });

  it('of another tenant’s event is empty', async () => {
    await addUsers(engine.admin, engine.world, { count: 2 });
    const foreign = await logEvent(engine.admin, engine.world.tenantId, {
      type: 'space.deleted',
      resource: inSpace(),
    });
    const elsewhere = await openEngine();
    try {
      expect(await deliverAll(elsewhere.database.unitOfWork, elsewhere.world.tenantId, foreign)).toBe(0);
    } finally {
      await elsewhere.stop();
    }
  });
});
