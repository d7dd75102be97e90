import { expect, it } from 'vitest';
import { openAi } from '#adapters/models/openai.ts';
import type { ModelPart, ModelRequest } from '#domain/capabilities/models/model-gateway.ts';
import { modelRequest } from '../support/model-request.ts';

const base = { id: 'resp_1', object: 'response', created_at: 1_700_000_000, model: 'gpt-5-mini', output: [] };
const created = { type: 'response.created', response: { ...base, status: 'queued' } };
const queued = { type: 'response.queued', response: { ...base, status: 'queued' } };
const error = { code: 'server_error', message: 'The model failed.' };
const failed = { type: 'response.failed', response: { ...base, status: 'failed', error } };

/** Calls a vendor that sends these events; `open` leaves the answer without an end. */
function ask(events: object[], { open, resume }: { open: boolean; resume: string | null }) {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const [n, event] of events.entries())
        controller.enqueue(Buffer.from(`data: ${JSON.stringify({ ...event, sequence_number: n })}\n\n`));
      if (!open) controller.close();
    },
  });
  const answer = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  const models = openAi({ fetch: () => Promise.resolve(answer), credential: () => 'a-key' });
  const request: ModelRequest = modelRequest(
    { providerKind: 'openai', providerModel: 'gpt-5-mini', baseUrl: null, storesRuns: true },
    { resume },
  );
  return models.stream(request, new AbortController().signal)[Symbol.asyncIterator]();
}

it('a run that is queued at the vendor is named before it has begun', async () => {
  const parts = ask([created, queued], { open: true, resume: null });
  expect((await parts.next()).value).toEqual({ type: 'run', id: 'resp_1' });
  await parts.return?.();
});

it('a run that fails at its start is not recorded, and is requested again', async () => {
  const parts = ask([created, failed], { open: false, resume: null });
  await expect(parts.next()).rejects.toMatchObject({ code: 'model_error', retryable: true });
});

it('a run that failed before any output counts as lost when it is read again', async () => {
  const parts = ask([created, failed], { open: false, resume: 'resp_1' });
  const read = async () => {
    const received: ModelPart[] = [];
    for (let next = await parts.next(); next.done !== true; next = await parts.next())
      received.push(next.value);
    return received;
  };
  await expect(read()).rejects.toMatchObject({ code: 'run_lost', retryable: true });
});
