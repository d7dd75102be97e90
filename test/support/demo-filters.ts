import { expect } from 'vitest';
import { slack } from './slack.ts';

/**
 * A failed response, and another that runs until `end`, since the model at `silent` does not answer it: what lists of
 * workflows are filtered by. They are in a space of their own beside the demo's.
 */
export async function leaveResponses(
  { api, key }: { api: string; key: string },
  silent: string,
): Promise<{ end: () => Promise<void> }> {
  const call = async <T>(path: string, body?: object): Promise<T> => {
    const answer = await fetch(`${api}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    expect(answer.status, `${path}: ${text}`).toBeLessThan(300);
    return (JSON.parse(text) as { data: T }).data;
  };
  // No request may be sent to the first.
  const addresses = { refused: 'http://127.0.0.1:9/v1', silent: `${silent}/v1` };
  for (const [alias, base_url] of Object.entries(addresses)) {
    await call('/trpc/models.add', {
      alias,
      base_url,
      provider_kind: 'openai_compatible',
      provider_model: 'none',
      price: { input: '1', output: '1' },
    });
  }
  const { id: spaceId } = await call<{ id: string }>('/v1/spaces', { name: 'Filters' });
  const models = Object.keys(addresses);
  await call('/trpc/spaces.setModels', { space_id: spaceId, models, default_model: models[0] });
  const responses = `/v1/spaces/${spaceId}/responses`;
  const ask = async (model: string) =>
    (await call<{ id: string }>(responses, { input: { text: 'Hello?' }, model })).id;
  const statusOf = async (id: string) => (await call<{ status: string }>(`${responses}/${id}`)).status;
  const [failed, running] = [await ask('refused'), await ask('silent')];
  const within = { timeout: 20_000 * slack() };
  await expect.poll(() => statusOf(failed), within).toBe('failed');
  await expect.poll(() => statusOf(running), within).toBe('in_progress');
  return {
    end: async () => {
      await call(`${responses}/${running}/cancel`, {});
      await expect.poll(() => statusOf(running), within).toBe('cancelled');
    },
  };
}
