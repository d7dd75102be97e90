import { expect, it } from 'vitest';
import type { InputModality } from '#domain/capabilities/models/model-gateway.ts';
import { claimCall } from '#domain/responses/calls/claim-call.ts';
import { commitCall } from '#domain/responses/calls/commit-call.ts';
import { connectServer, tool } from '../../../support/connected-server.ts';
import { openEngine, type Attempt, type Engine } from '../../../support/engine.ts';

const image = { mediaType: 'image/png', data: 'iVBORw0KGgo=' };
const sound = { mediaType: 'audio/wav', data: 'UklGRiQAAABXQVZF' };

/** A response whose tool returned six pictures with a sound each, one a turn. */
async function withPictures(engine: Engine): Promise<string> {
  const responseId = await engine.create();
  for (let iteration = 0; iteration < 6; iteration += 1) {
    const calls = [{ name: 'mcp__cam__look', arguments: '{}' }];
    await (await engine.attempt(responseId, iteration)).commit({ calls, reason: 'tool_calls' });
    const key = { tenantId: engine.world.tenantId, responseId, iteration, callIndex: 0 };
    expect((await claimCall(engine.database, key)).kind).toBe('claimed');
    await commitCall(engine.database, key, {
      outcome: 'succeeded',
      result: '[image]',
      media: [image, sound],
      end: { status: 'completed', output: '[image]', results: null },
    });
  }
  return responseId;
}

const filesIn = ({ turn }: Attempt) =>
  turn.messages.flatMap((message) =>
    message.role === 'tool' ? [(message.files ?? []).map(({ mediaType }) => mediaType).join()] : [],
  );

it.each<[InputModality[], string]>([
  [['text', 'image'], 'image/png'],
  [['text', 'image', 'audio'], 'image/png,audio/wav'],
  [['text', 'file'], ''],
])(
  'a model that takes %j is given such parts of the last tool results, and their text',
  async (accepted, shown) => {
    const engine = await openEngine({ inputModalities: accepted });
    await connectServer(engine, { slug: 'cam', tools: [tool('look')] });
    const id = await withPictures(engine);
    const last = await engine.attempt(id, 6);
    expect(filesIn(last)).toEqual(['', '', shown, shown, shown, shown]);
    expect(last.turn.messages.at(-1)).toMatchObject({ role: 'tool', result: '[image]' });
    await last.commit();
    const next = await engine.attempt(await engine.create({ previousResponseId: id }));
    expect(filesIn(next)).toEqual(['', '', shown, shown, shown, shown]);
    expect(JSON.stringify(await engine.record(id))).not.toContain(image.data);
    await engine.stop();
  },
);
