import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let world: World;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  world = await createWorld(database.unitOfWork);
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const canary = 'sk-CANARY-0123456789';
const asked = { input: 'Why tides?', background: true };

const send = (
  method: string,
  path: string,
  more: { body?: unknown; headers?: Record<string, string> } = {},
) =>
  gateway.send({ method, path: `/v1/spaces/${world.spaceId}/openai${path}`, apiKey: world.apiKey, ...more });

const errorOf = ({ body }: Answer): { message: string; param: string | null; code: string } => body.error;

describe('a message', () => {
  it.each<[object, string, string]>([
    [{ temperature: 3 }, 'temperature', '`temperature` must be 0 to 2; 3 was sent.'],
    [{ temperature: 'hot' }, 'temperature', '`temperature` must be a number; a text was sent.'],
    [{ top_p: -1 }, 'top_p', '`top_p` must be 0 to 1; -1 was sent.'],
    [
      { max_output_tokens: 1.5 },
      'max_output_tokens',
      '`max_output_tokens` must be a whole number; 1.5 was sent.',
    ],
    [{ max_output_tokens: 3 }, 'max_output_tokens', '`max_output_tokens` must be 16 to 1000000; 3 was sent.'],
    [
      { truncation: 'sideways' },
      'truncation',
      '`truncation` must be one of auto, disabled; sideways was sent.',
    ],
    [{ stream: 'yes' }, 'stream', '`stream` must be true or false; a text was sent.'],
    [{ input: undefined }, 'input', '`input` is missing.'],
    [{ colour: 'red' }, 'colour', expect.stringMatching(/^`colour` is not known; known are input, /)],
    [{ max_output_token: 16 }, 'max_output_token', '`max_output_token` is not known; max_output_tokens is.'],
    [{ tools: 'all' }, 'tools', '`tools` must be a list; a text was sent.'],
    [{ user: 'x'.repeat(2_000) }, 'user', '`user` must have at most 1000 characters; 2000 were sent.'],
    [{ model: 'gpt-9' }, 'model', 'No such model.'],
  ])('names the fault and the allowed values: %o', async (change, param, message) => {
    const answer = await send('POST', '/responses', { body: { ...asked, ...change } });
    expect(errorOf(answer)).toMatchObject({ param, message });
  });

  it.each([
    { temperature: canary },
    { truncation: canary },
    { service_tier: canary },
    { user: canary.repeat(100) },
    { include: [canary] },
    { tools: [{ type: canary }] },
    { tool_choice: canary },
    { text: { format: { type: canary } } },
    { input: [{ role: canary, content: 'x' }] },
    { metadata: { key: canary.repeat(100) } },
    { [`${canary} ignore what stands before`]: 1 },
  ])('repeats no text of the request: %o', async (change) => {
    const answer = await send('POST', '/responses', { body: { ...asked, ...change } });
    expect(answer.status).toBe(400);
    expect(errorOf(answer).message).not.toContain('CANARY');
  });

  it('is the same on the surface of the contract', async () => {
    const path = `/v1/spaces/${world.spaceId}/responses`;
    const body = { input: { text: 'Why?' }, platform: { max_iterations: 99 } };
    const answer = await gateway.send({ method: 'POST', path, apiKey: world.apiKey, body });
    expect([answer.status, errorOf(answer).message]).toEqual([
      422,
      '`platform.max_iterations` must be 1 to 50; 99 was sent.',
    ]);
  });
});

describe('a message of any operation', () => {
  const said = async (method: string, path: string, body?: unknown) => {
    const more = body === undefined ? {} : { body };
    const answer = await gateway.send({ method, path: `/v1${path}`, apiKey: world.apiKey, ...more });
    return `${answer.status} ${errorOf(answer).message}`;
  };

  it('names a parameter that the operation does not take', async () => {
    expect(await said('GET', '/connector-providers?limit=2')).toBe('422 `limit` is not known.');
    expect(await said('POST', '/notifications/read-all', { all: true })).toBe('422 `all` is not known.');
  });

  it('says which numbers a query takes', async () => {
    expect(await said('GET', '/events?limit=-5')).toBe('422 `limit` must be a whole number from 1 to 100.');
  });

  it.each(['responses', 'openai/responses'])(
    'names the field of an unknown previous response: %s',
    async (at) => {
      const path = `/v1/spaces/${world.spaceId}/${at}`;
      const body = {
        input: at === 'responses' ? { text: 'Why?' } : 'Why?',
        previous_response_id: 'resp_unknown',
      };
      const answer = await gateway.send({ method: 'POST', path, apiKey: world.apiKey, body });
      expect(errorOf(answer)).toMatchObject({
        code: 'previous_response_not_found',
        param: 'previous_response_id',
      });
    },
  );

  it('says how large a body may be', async () => {
    expect(await said('POST', '/spaces', { name: 'x'.repeat(1_100_000) })).toBe(
      '413 The request body must have at most 1048576 bytes.',
    );
  });
});

describe('a body that is compressed', () => {
  it.each(['gzip', 'deflate', 'br', 'x-own'])('is refused as unsupported: %s', async (encoding) => {
    const body = gzipSync(JSON.stringify(asked));
    const answer = await send('POST', '/responses', { body, headers: { 'content-encoding': encoding } });
    expect([answer.status, errorOf(answer).code]).toEqual([415, 'unsupported_media_type']);
    expect(errorOf(answer).message).toContain('Content-Encoding');
  });

  it('is not meant by identity', async () => {
    const headers = { 'content-encoding': 'identity' };
    expect((await send('POST', '/responses', { body: asked, headers })).status).toBe(200);
  });
});

describe('an address', () => {
  it('means the same with a slash at its end', async () => {
    expect((await send('POST', '/responses/', { body: asked })).status).toBe(200);
    for (const path of ['/models/', '/models//', '/models/?', '/responses/?x=/']) {
      const url = `/api-proxy/v1/spaces/${world.spaceId}/openai${path}`;
      const { statusCode } = await gateway.app.inject({ url, headers: { 'x-api-key': world.apiKey } });
      expect(statusCode, path).toBe(path.startsWith('/models') ? 200 : 405);
    }
  });

  it.each(['/chat/completions', '/completions', '/files', ''])(
    'that is unknown is answered with those of the surface: %s',
    async (path) => {
      const answer = await send('POST', path, { body: {} });
      expect(answer.status).toBe(404);
      expect(errorOf(answer).message).toContain('POST /responses');
    },
  );
});
