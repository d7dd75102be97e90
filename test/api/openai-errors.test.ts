import OpenAI, {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { statusOf, answerFor } from '#api/errors.ts';
import { isOpenAiPath } from '#api/present/openai/errors.ts';
import { revokeApiKey } from '#domain/identity/api-keys/revoke-api-key.ts';
import { DomainError, type DomainErrorCode } from '#domain/foundation/kernel/errors.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { claimPort } from '../support/free-port.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { addMember } from '../support/world.ts';

const room = 3;
let engine: Engine;
let gateway: TestGateway;
let url: string;

beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database, { MAX_ACTIVE_RESPONSES_PER_SPACE: String(room) });
  url = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

const baseURL = () => `${url}/api/v1/spaces/${engine.world.spaceId}/openai`;
const client = (apiKey = engine.world.apiKey) => new OpenAI({ baseURL: baseURL(), apiKey });
const asked = { model: 'paid', input: 'Why tides?' };

/** The rejection of a promise; it must be an error class of the client. */
async function refusal(promise: PromiseLike<unknown>): Promise<APIError> {
  try {
    await promise;
  } catch (error) {
    expect(error).toBeInstanceOf(APIError);
    return error as APIError;
  }
  throw new Error('Nothing was refused.');
}

async function running(): Promise<string> {
  const { id } = await client().responses.create({ ...asked, background: true });
  return id;
}

const end = (id: string) => engine.act((ctx) => cancelResponse(ctx, { responseId: id }));

describe('every error class of the openai package', () => {
  it('BadRequestError: names the parameter as it stands in the body', async () => {
    const cases: [object, string, string][] = [
      [{ presence_penalty: 1 }, 'unsupported_parameter', 'presence_penalty'],
      [{ colour: 'red' }, 'unknown_parameter', 'colour'],
      [{ temperature: 3 }, 'invalid_request', 'temperature'],
      [{ text: { format: { type: 'sonnet' } } }, 'invalid_request', 'text.format.type'],
      [{ previous_response_id: 'resp_none' }, 'previous_response_not_found', 'previous_response_id'],
      [{ input: [{ type: 'item_reference', id: 'msg_none' }] }, 'invalid_request', 'input'],
    ];
    for (const [change, code, param] of cases) {
      const error = await refusal(client().responses.create({ ...asked, background: true, ...change }));
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', code, param });
      expect(error.requestID).toMatch(/^req_/);
    }
  });

  it('BadRequestError: for the cancel of an ended response', async () => {
    const id = await running();
    const attempt = await engine.attempt(id);
    await attempt.commit();
    const error = await refusal(client().responses.cancel(id));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error.message).toBe('400 Cannot cancel a completed response.');
  });

  it('AuthenticationError: for a key that is none', async () => {
    const error = await refusal(client('ak.none').models.list());
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: 'invalid_credentials' });
  });

  it('PermissionDeniedError: names the missing permission', async () => {
    const { apiKey } = await addMember(engine.database.unitOfWork, engine.world, { spaceRole: null });
    const error = await refusal(client(apiKey).responses.create(asked));
    expect(error).toBeInstanceOf(PermissionDeniedError);
    expect(error).toMatchObject({ status: 403, code: 'missing_permission' });
    expect(error.error).toMatchObject({ missing_permission: 'responses.create' });
  });

  it('NotFoundError: for an unknown response, model and path', async () => {
    for (const [ask, code] of [
      [() => client().responses.retrieve('resp_none'), 'response_not_found'],
      [() => client().responses.create({ ...asked, model: 'gpt-9' }), 'model_not_found'],
      [() => client().models.retrieve('gpt-9'), 'model_not_found'],
      [() => client().files.list(), 'route_not_found'],
    ] as const) {
      const error = await refusal(ask());
      expect(error).toBeInstanceOf(NotFoundError);
      expect(error).toMatchObject({ status: 404, code });
    }
  });

  it('ConflictError: when a response is to follow a running one, with the hint not to retry', async () => {
    const id = await running();
    const error = await refusal(client().responses.create({ ...asked, previous_response_id: id }));
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({ status: 409, code: 'previous_response_in_progress' });
    expect(error.headers?.get('x-should-retry')).toBe('false');
    await end(id);
  });

  it('UnprocessableEntityError: never, since no code has the status 422 here', () => {
    const request = { url: '/api/v1/spaces/x/openai/responses', id: 'req_1' };
    for (const code of Object.keys(statusOf) as DomainErrorCode[]) {
      const { status, body } = answerFor(request, new DomainError(code, 'No.'));
      expect(status, code).not.toBe(422);
      expect(body.type === 'invalid_request_error' || status !== 400, code).toBe(true);
    }
  });

  it('RateLimitError: when too many responses of the space run, after the client’s retries', async () => {
    const ids = await Promise.all(Array.from({ length: room }, running));
    const error = await refusal(client().responses.create({ ...asked, background: true }));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, code: 'too_many_active_responses' });
    await Promise.all(ids.map(end));
  });

  it('InternalServerError: when the database is too busy to answer in time', async () => {
    const patient = new OpenAI({ baseURL: baseURL(), apiKey: engine.world.apiKey, maxRetries: 0 });
    await engine.admin.query('begin');
    await engine.admin.query('lock table space_models in access exclusive mode');
    try {
      const error = await refusal(patient.models.list());
      expect(error).toBeInstanceOf(InternalServerError);
      expect(error).toMatchObject({ status: 503, code: 'overloaded' });
      expect(error.headers?.get('retry-after')).toBe('1');
    } finally {
      await engine.admin.query('rollback');
    }
  });

  it('APIConnectionTimeoutError: when the client waits less than the response takes', async () => {
    const hasty = new OpenAI({
      baseURL: baseURL(),
      apiKey: engine.world.apiKey,
      timeout: 300,
      maxRetries: 0,
    });
    const error = await refusal(hasty.responses.create(asked));
    expect(error).toBeInstanceOf(APIConnectionTimeoutError);
    await endNewest('queued');
  });

  it('APIUserAbortError: when the client gives up, which does not end the response', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 300);
    const error = await refusal(client().responses.create(asked, { signal: controller.signal }));
    expect(error).toBeInstanceOf(APIUserAbortError);
    await endNewest('queued');
  });

  it('APIConnectionError: where no server listens', async () => {
    const nobody = new OpenAI({
      baseURL: `http://127.0.0.1:${await claimPort()}`,
      apiKey: 'ak.none',
      maxRetries: 0,
    });
    const error = await refusal(nobody.models.list());
    expect(error).toBeInstanceOf(APIConnectionError);
  });

  it('APIError: in the middle of a stream whose reader may no longer read', async () => {
    const { apiKey, keyId } = await addMember(engine.database.unitOfWork, engine.world);
    const stream = await client(apiKey).responses.create({ ...asked, stream: true });
    const seen: string[] = [];
    const error = await refusal(
      (async () => {
        for await (const event of stream) {
          seen.push(event.type);
          await engine.act((ctx) => revoke(ctx, keyId));
        }
      })(),
    );
    expect(seen).toEqual(['response.created']);
    expect(error).toMatchObject({ code: 'invalid_credentials', type: 'authentication_error' });
    await endNewest('queued');
  });
});

type Acting = Parameters<Parameters<Engine['act']>[0]>[0];

const revoke = ({ em, caller }: Acting, keyId: string) => revokeApiKey(em, caller, keyId);

/** The response that the last test left running. */
async function endNewest(status: string): Promise<void> {
  const { rows } = await engine.admin.query<{ id: string; status: string }>(
    'select id, status from responses order by created_at desc limit 1',
  );
  expect(rows[0]?.status).toBe(status);
  await end(rows[0]!.id);
}

describe('the addresses of the surface', () => {
  it('are the same in every spelling', async () => {
    const path = `/v1/spaces/${engine.world.spaceId}/%6Fpenai/responses`;
    const answer = await gateway.send({ method: 'POST', path, apiKey: engine.world.apiKey, body: {} });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', param: 'input' } },
    });
  });

  it('are distinguished from all others, whether or not they exist', () => {
    const space = '/api/v1/spaces/01a1fec9-ae9c-70ff-bcad-113a84e719fc';
    const inside = ['/openai', '/openai/responses', '/openai/files?x=1', '/openai?x'];
    const outside = ['/responses', '/responses/openai', '/openaiish', '/collections/openai/x', '?/openai/'];
    expect(inside.map((path) => isOpenAiPath(space + path))).toEqual(inside.map(() => true));
    expect(isOpenAiPath(`${space.replace('/api', '/api-proxy')}/openai/models`)).toBe(true);
    expect(outside.map((path) => isOpenAiPath(space + path))).toEqual(outside.map(() => false));
  });
});
