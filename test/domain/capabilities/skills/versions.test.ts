import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId, newResponseId } from '#domain/foundation/kernel/ids.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { restartResponse } from '#domain/responses/accept/restart-response.ts';
import { createSkill } from '#domain/capabilities/skills/create-skill.ts';
import { deleteSkill } from '#domain/capabilities/skills/delete-skill.ts';
import { deprecateVersion } from '#domain/capabilities/skills/deprecate-version.ts';
import { draftVersion, editDraft } from '#domain/capabilities/skills/draft-version.ts';
import { publishVersion } from '#domain/capabilities/skills/publish-version.ts';
import { listVersions, readSkill, readVersion } from '#domain/capabilities/skills/read-skills.ts';
import { updateSkill } from '#domain/capabilities/skills/update-skill.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';
import { createWorld } from '../../../support/world.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

const create = async (): Promise<string> => {
  const input = { name: `skill-${newId()}`, description: null, idempotency: null };
  return (await engine.act((ctx) => createSkill(ctx, input))).skill.id;
};
const draft = async (skillId: string, instructions = 'Answer in rhymes.'): Promise<string> => {
  const input = { skillId, instructions, allowedTools: ['mcp__crm__*'], notes: null, idempotency: null };
  return (await engine.act((ctx) => draftVersion(ctx, input))).version.id;
};
const publish = (skillId: string, versionId: string) =>
  engine.act((ctx) => publishVersion(ctx, { skillId, versionId }));
const deprecate = (skillId: string, versionId: string) =>
  engine.act((ctx) => deprecateVersion(ctx, { skillId, versionId }));
const read = (skillId: string) => engine.act((ctx) => readSkill(ctx, { skillId }));
const published = async (skillId: string, instructions?: string): Promise<string> => {
  const id = await draft(skillId, instructions);
  await publish(skillId, id);
  return id;
};
const eventsOf = async (id: string): Promise<[string, Record<string, unknown>][]> => {
  const { rows } = await engine.admin.query<{ event_type: string; metadata: Record<string, unknown> }>(
    'select event_type, metadata from events where resource_id = $1 order by id',
    [id],
  );
  return rows.map(({ event_type: type, metadata }) => [type, metadata]);
};
const invalidState = expect.objectContaining({ code: 'invalid_state' });

describe('a version', () => {
  it('gets its number, its hash and its place at the publication of a draft, and is fixed from then on', async () => {
    const skillId = await create();
    expect(await read(skillId)).toMatchObject({ status: 'disabled', currentVersionId: null });
    const first = await draft(skillId);
    await engine.act((ctx) => editDraft(ctx, { skillId, versionId: first, notes: 'Better.' }));
    const before = await engine.act((ctx) => readVersion(ctx, { skillId, versionId: first }));
    expect(before).toMatchObject({ status: 'draft', version: null, contentHash: null, notes: 'Better.' });
    expect(await publish(skillId, first)).toMatchObject({
      status: 'published',
      version: 1,
      contentHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await read(skillId)).toMatchObject({ status: 'active', currentVersionId: first });
    await expect(publish(skillId, first)).rejects.toEqual(invalidState);
    const edit = { skillId, versionId: first, instructions: 'Answer in prose.' };
    await expect(engine.act((ctx) => editDraft(ctx, edit))).rejects.toEqual(invalidState);
    const second = await published(skillId);
    expect(await read(skillId)).toMatchObject({ latestVersion: 2, currentVersionId: second });
    const list = await engine.act((ctx) => listVersions(ctx, { skillId, limit: 10, cursor: null }));
    expect(list.items.map(({ id, version }) => [id, version])).toEqual([
      [second, 2],
      [first, 1],
    ]);
    expect((await eventsOf(first)).map(([type]) => type)).toEqual(['system.skill_version_published']);
    expect((await eventsOf(skillId)).map(([, { change }]) => change)).toEqual([
      'created',
      'version_drafted',
      'version_edited',
      'version_drafted',
    ]);
    const other = await create();
    await expect(
      engine.act((ctx) => readVersion(ctx, { skillId: other, versionId: first })),
    ).rejects.toMatchObject({ code: 'skill_version_not_found' });
  });

  it('that is deprecated is replaced by the highest published one; deprecating the last disables the skill', async () => {
    const skillId = await create();
    const [first, second, third] = [
      await published(skillId),
      await published(skillId),
      await published(skillId),
    ];
    const pending = await draft(skillId);
    await expect(deprecate(skillId, pending)).rejects.toEqual(invalidState);
    await deprecate(skillId, second);
    expect(await read(skillId)).toMatchObject({ currentVersionId: third });
    const gone = await deprecate(skillId, third);
    expect(gone).toMatchObject({ status: 'deprecated', deprecatedBy: engine.world.owner.principalId });
    expect(await read(skillId)).toMatchObject({ status: 'active', currentVersionId: first });
    const again = await deprecate(skillId, third);
    expect(again.deprecatedAt).toEqual(gone.deprecatedAt);
    expect((await eventsOf(third)).at(-1)![1]).toMatchObject({
      skill_id: skillId,
      author_id: engine.world.owner.principalId,
    });
    expect((await eventsOf(third)).map(([type]) => type)).toEqual([
      'system.skill_version_published',
      'system.skill_version_deprecated',
    ]);
    await deprecate(skillId, first);
    expect(await read(skillId)).toMatchObject({ status: 'disabled', currentVersionId: null });
    await expect(publish(skillId, third)).rejects.toEqual(invalidState);
    await publish(skillId, pending);
    expect(await read(skillId)).toMatchObject({
      status: 'active',
      latestVersion: 4,
      currentVersionId: pending,
    });
  });

  it('that is set to its present text writes no event', async () => {
    const skillId = await create();
    const versionId = await draft(skillId);
    const edit = (change: object) => engine.act((ctx) => editDraft(ctx, { skillId, versionId, ...change }));
    const same = { instructions: 'Answer in rhymes.', allowedTools: ['mcp__crm__*'], notes: null };
    for (const change of [{}, same, { notes: ' ' }]) {
      expect(await edit(change)).toMatchObject(same);
    }
    expect((await eventsOf(skillId)).map(([, { change }]) => change)).toEqual(['created', 'version_drafted']);
    expect(await edit({ ...same, notes: 'Better.' })).toMatchObject({ notes: 'Better.' });
    expect(await edit({ notes: null })).toMatchObject(same);
    expect((await eventsOf(skillId)).slice(2).map(([, { change }]) => change)).toEqual([
      'version_edited',
      'version_edited',
    ]);
  });

  it('gets a unique number, however many are published at once', async () => {
    const skillId = await create();
    const drafts = await Promise.all([draft(skillId), draft(skillId), draft(skillId), draft(skillId)]);
    const numbers = await Promise.all(
      drafts.map(async (versionId) => (await publish(skillId, versionId)).version),
    );
    expect(numbers.toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual([1, 2, 3, 4]);
    const current = drafts[numbers.indexOf(4)];
    expect(await read(skillId)).toMatchObject({ latestVersion: 4, currentVersionId: current });
  });
});

describe('a skill', () => {
  it('is disabled, enabled and archived, and stays disabled when a version is published meanwhile', async () => {
    const skillId = await create();
    const become = (status: 'active' | 'disabled' | 'archived') =>
      engine.act((ctx) => updateSkill(ctx, { skillId, status }));
    await expect(become('active')).rejects.toEqual(invalidState);
    await published(skillId);
    await become('disabled');
    await published(skillId);
    expect(await read(skillId)).toMatchObject({ status: 'disabled', latestVersion: 2 });
    const pending = await draft(skillId);
    await become('archived');
    await expect(draft(skillId)).rejects.toEqual(invalidState);
    await expect(publish(skillId, pending)).rejects.toEqual(invalidState);
    expect(await become('active')).toMatchObject({ status: 'active' });
    const changes = (await eventsOf(skillId)).filter(([, { change }]) => change === 'updated');
    expect(changes.map(([, { status }]) => status)).toEqual(['disabled', 'archived', 'active']);
  });

  it('is deleted with its versions, and is never visible to another tenant', async () => {
    const skillId = await create();
    const versionId = await published(skillId);
    const other = await createWorld(engine.database.unitOfWork);
    const seen = await engine.database.unitOfWork.inTenant(other.tenantId, (em) =>
      em.execute('select id from skills where id = ?', [skillId]),
    );
    expect(seen).toEqual([]);
    await engine.act((ctx) => deleteSkill(ctx, { skillId }));
    await expect(read(skillId)).rejects.toMatchObject({ code: 'skill_not_found' });
    const { rows } = await engine.admin.query('select from skill_versions where id = $1', [versionId]);
    expect(rows).toEqual([]);
    expect((await eventsOf(skillId)).at(-1)).toMatchObject(['system.skill_changed', { change: 'deleted' }]);
  });

  it('has a name of its own', async () => {
    const input = { name: 'Twice', description: null, idempotency: null };
    await engine.act((ctx) => createSkill(ctx, input));
    await expect(engine.act((ctx) => createSkill(ctx, input))).rejects.toMatchObject({
      code: 'already_exists',
    });
  });
});

describe('a response', () => {
  const ask = (skillId: string) => engine.create({ skillId });

  it('keeps the version that was in force when it was accepted, whatever becomes of the skill', async () => {
    const skillId = await create();
    const first = await published(skillId, 'Answer in rhymes.');
    const id = await ask(skillId);
    await published(skillId, 'Answer in prose.');
    await engine.act((ctx) => deleteSkill(ctx, { skillId }));
    const { turn } = await engine.attempt(id);
    expect(turn.messages[0]).toEqual({ role: 'system', text: 'Answer in rhymes.' });
    const { governance_applied: applied } = (await engine.record(id)).platform;
    expect(applied.skill).toEqual({ id: skillId, version_id: first, version: 1 });
    const plain = await engine.record(await engine.create());
    expect(plain.platform.governance_applied).not.toHaveProperty('skill');
  });

  it('gets no skill that is disabled, unknown or without a version, nor without the permission to read skills', async () => {
    const skillId = await create();
    await expect(ask(skillId)).rejects.toEqual(invalidState);
    await published(skillId);
    await engine.act((ctx) => updateSkill(ctx, { skillId, status: 'disabled' }));
    await expect(ask(skillId)).rejects.toEqual(invalidState);
    await expect(ask(newId())).rejects.toMatchObject({ code: 'skill_not_found' });
    await expect(ask('skill_1')).rejects.toMatchObject({ code: 'skill_not_found' });
    const options = { responseId: newResponseId(), limits: { maxActivePerSpace: 10, retentionSeconds: 60 } };
    await expect(
      engine.act((ctx) => createResponse(ctx, requestOf(engine.world, { skillId }), options), {
        granted: new Set(['responses.create']),
      }),
    ).rejects.toMatchObject({ detail: { missingPermission: 'skills.read' } });
  });

  it('records the users of each skill', async () => {
    const skillId = await create();
    await published(skillId);
    await ask(skillId);
    await ask(skillId);
    const { rows } = await engine.admin.query('select principal_id from skill_uses where skill_id = $1', [
      skillId,
    ]);
    expect(rows).toEqual([{ principal_id: engine.world.owner.principalId }]);
  });

  it('that failed is restarted on its version while the version is available, and not afterwards', async () => {
    const skillId = await create();
    const versionId = await published(skillId);
    const id = await ask(skillId);
    await engine.admin.query(
      `update responses set status = 'failed', finished_at = now(),
         failure = '{"code":"model_error","type":"server_error","message":"x","param":null}' where id = $1`,
      [id],
    );
    const restart = () =>
      engine.act((ctx) =>
        restartResponse(
          ctx,
          { responseId: id },
          { newId: newResponseId(), limits: { maxActivePerSpace: 10_000, retentionSeconds: 600 } },
        ),
      );
    await published(skillId);
    expect((await restart()).platform.governance_applied.skill).toMatchObject({ version_id: versionId });
    await deprecate(skillId, versionId);
    await expect(restart()).rejects.toEqual(invalidState);
  });
});
