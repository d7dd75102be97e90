import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordEvent } from '#domain/events/record-event.ts';
import { openEngine, type Engine } from '../../support/engine.ts';

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
