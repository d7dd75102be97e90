import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine?.stop());

it('a long text is cut to what can be stored, also in the middle of a character', async () => {
  const { spaceId } = engine.world;
  const tools = `${'x'.repeat(999)}🐟`;
  await engine.act(({ em, caller }) =>
    recordEvent(em, caller, {
      type: 'space.mcp_tools_changed',
      resource: { type: 'space', id: spaceId },
      metadata: { tools },
    }),
  );
  const { rows } = await engine.admin.query(
    `select metadata ->> 'tools' as tools from events where event_type = 'space.mcp_tools_changed'`,
  );
  expect(rows).toEqual([{ tools: `${'x'.repeat(999)}\uFFFD` }]);
});

it('is committed exactly when its change is', async () => {
  const { spaceId, tenantId } = engine.world;
  const change = (end: () => void) =>
    engine.act(async ({ em, caller }) => {
      await em.execute(`update spaces set name = 'Other' where id = ?`, [spaceId]);
      await recordEvent(em, caller, {
        type: 'space.updated',
        resource: { type: 'space', id: spaceId },
        changedFields: ['name'],
        reason: 'asked',
      });
      end();
    });
  const written = async () =>
    (
      await engine.admin.query<{ metadata: object }>(
        `select metadata from events where tenant_id = $1 and event_type = 'space.updated'`,
        [tenantId],
      )
    ).rows;
  await expect(
    change(() => {
      throw new Error('refused at last');
    }),
  ).rejects.toThrow('refused at last');
  expect(await written()).toEqual([]);
  await change(() => undefined);
  expect(await written()).toEqual([
    { metadata: expect.objectContaining({ outcome: 'success', changed_fields: ['name'], reason: 'asked' }) },
  ]);
});
