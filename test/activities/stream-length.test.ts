import { expect, it } from 'vitest';
import { Lane } from '#activities/responses/stream-writer.ts';
import { streamTurn } from '#activities/responses/stream-turn.ts';
import type { ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';

/** A lane that commits events as soon as they are pushed. */
function openLane(nextN: number): { lane: Lane; events: StreamEvent[] } {
  const events: StreamEvent[] = [];
  const key = { tenantId: 't', responseId: 'r', epoch: 1 };
  const lane: Lane = new Lane(key, nextN, {
    wake: () => {
      events.push(...lane.pending);
      lane.nextN += lane.pending.length;
      lane.pending = [];
      lane.resolveIfIdle();
    },
    onFailure: () => undefined,
  });
  return { lane, events };
}

const words = Array.from({ length: 120_000 }, (_, i) => `w${i} `);

/** Streams 120,000 words, each as a delta of its own. */
const talkative: ModelGateway = {
  async *stream() {
    for (const text of words) {
      yield { type: 'text', text };
    }
    yield { type: 'finish', reason: 'stop', usage: null };
  },
};

const turn = {
  model: { providerKind: 'openai_compatible', providerModel: 'talkative' },
  iteration: 0,
  settings: {
    tools: [],
    tool_choice: 'none',
    parallel_tool_calls: true,
    format: { type: 'text' },
    approved_calls: [],
  },
  messages: [],
  composer: {
    open: null,
    restart: false,
    nextOutputIndex: 0,
    buffered: false,
    citations: new Map(),
    itemId: (prefix: string, i: number) => `${prefix}_${i}`,
  },
} as unknown as ClaimedTurn;

it('a response with more single deltas than its stream may hold still delivers every character', async () => {
  const { lane, events } = openLane(0);
  const { signal } = new AbortController();
  await streamTurn(talkative, turn, {
    lane,
    signal,
    saveRunId: () => Promise.reject(new Error('It has none.')),
  });
  const deltas = events.flatMap((event) =>
    event.type === 'response.output_text.delta' ? [event.delta] : [],
  );
  expect(deltas.join('')).toBe(words.join(''));
  expect(deltas.slice(0, 39_000)).toEqual(words.slice(0, 39_000));
  expect(lane.nextN).toBeLessThan(41_000);
});
