import { expect, it } from 'vitest';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import { modelRequest } from '../support/model-request.ts';

const piece = 'a'.repeat(100_000);

/** A server that streams for ever, whatever the request. */
function endless(field: 'content' | 'reasoning_content'): Response {
  const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { [field]: piece } }] })}\n\n`;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(Buffer.from(event)),
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

it.each(['content', 'reasoning_content'] as const)(
  'an answer whose %s never ends is ended',
  async (field) => {
    const models = openAiCompatible({
      fetch: () => Promise.resolve(endless(field)),
      credential: () => undefined,
    });
    const request = modelRequest({
      providerKind: 'openai_compatible',
      providerModel: 'endless',
      baseUrl: 'http://127.0.0.1:9/v1',
    });
    let said = 0;
    const read = async () => {
      for await (const part of models.stream(request, new AbortController().signal)) {
        said += part.type === 'text' ? part.text.length : 0;
      }
    };
    await expect(read()).rejects.toMatchObject({ code: 'model_error', retryable: false });
    expect(said).toBe(field === 'content' ? 300_000 : 0);
  },
);
