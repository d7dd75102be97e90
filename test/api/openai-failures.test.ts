import OpenAI, {
  APIError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  RateLimitError,
} from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf } from '#api/present/openai/failure.ts';
import { ModelFailure } from '#domain/capabilities/models/model-gateway.ts';
import { toVendorRefusal } from '#domain/capabilities/models/vendor-refusal.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { failTurn } from '#domain/responses/turn/fail-turn.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

let engine: Engine;
let gateway: TestGateway;
let url: string;

beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database);
  url = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

const asked = { model: 'paid', input: 'Why tides?' };
const secret = 'sk-canary-of-the-operator';

const client = () =>
  new OpenAI({
    baseURL: `${url}/api/v1/spaces/${engine.world.spaceId}/openai`,
    apiKey: engine.world.apiKey,
    maxRetries: 0,
  });

async function newest(): Promise<string | undefined> {
  const { rows } = await engine.admin.query<{ id: string }>(
    'select id from responses order by created_at desc, id desc limit 1',
  );
  return rows[0]?.id;
}

/** The client's answer for a response that `end` ends while the client waits. */
async function received(end: (responseId: string) => Promise<unknown>): Promise<APIError> {
  const before = await newest();
  const waiting = client()
    .responses.create(asked)
    .then(
      (response) => new Error(`answered ${response.status} with "${response.output_text}"`),
      (error: unknown) => error,
    );
  let id = await newest();
  while (id === undefined || id === before) id = await newest();
  await end(id);
  const error = await waiting;
  expect(error).toBeInstanceOf(APIError);
  expect((error as APIError).error).toMatchObject({ response_id: id });
  expect((error as APIError).headers?.get('location')).toMatch(new RegExp(`/openai/responses/${id}$`));
  expect((await client().responses.retrieve(id)).id, 'stays readable').toBe(id);
  return error as APIError;
}

const failing = (failure: ModelFailure) => async (id: string) => {
  const { turn } = await engine.attempt(id);
  await engine.act(({ em }) => failTurn(em, turn, failure));
};

const refusing = (status: number, error: object) =>
  failing(new ModelFailure('model_error', { retryable: false, refusal: toVendorRefusal(status, { error }) }));

const repeats = (error: APIError) => error.headers?.get('x-should-retry');

describe('a response that fails while OpenAI’s client waits for it', () => {
  it('is a bad request where the vendor refused it, described by codes that hold no secret', async () => {
    const error = await received(
      refusing(400, {
        message: `Unsupported value for key ${secret}`,
        code: 'unsupported_value',
        param: 'reasoning_effort',
      }),
    );
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({
      code: 'model_request_refused',
      type: 'invalid_request_error',
      param: 'reasoning.effort',
      message: "400 The model's provider refused the request (HTTP 400, unsupported_value).",
    });
    expect(JSON.stringify([error, error.message])).not.toContain('canary');
  });

  it('omits a vendor’s codes that are on no list', async () => {
    const error = await received(
      refusing(400, { message: secret, code: secret, type: secret, param: secret }),
    );
    expect(error).toMatchObject({
      param: null,
      message: "400 The model's provider refused the request (HTTP 400).",
    });
  });

  it('is an upstream error without retry where the vendor does not accept the platform’s credential', async () => {
    const error = await received(
      refusing(401, { message: `Incorrect key: ${secret}`, code: 'invalid_api_key' }),
    );
    expect(error).toBeInstanceOf(InternalServerError);
    expect(error).toMatchObject({ status: 502, code: 'model_error', type: 'upstream_error' });
    expect(repeats(error)).toBe('false');
  });

  it.each([
    ['model_error', 502],
    ['model_timeout', 504],
  ] as const)('is %s with %i and retryable where the vendor’s failure is temporary', async (code, status) => {
    const error = await received(failing(new ModelFailure(code, { retryable: false })));
    expect(error).toBeInstanceOf(InternalServerError);
    expect(error).toMatchObject({ status, code, type: 'upstream_error' });
    expect(repeats(error)).toBe('true');
  });

  it('is a rate limit with Retry-After where the vendor’s limit is exhausted', async () => {
    const error = await received(failing(new ModelFailure('rate_limited', { retryable: false })));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ code: 'rate_limited', type: 'rate_limit_error' });
    expect([repeats(error), error.headers?.get('retry-after')]).toEqual(['true', '5']);
  });

  it('is a bad request where the conversation is too long', async () => {
    const error = await received(failing(new ModelFailure('context_length_exceeded', { retryable: false })));
    expect(error).toMatchObject({ status: 400, code: 'context_length_exceeded' });
  });

  it('is a conflict where it was cancelled', async () => {
    const error = await received((responseId) => engine.act((ctx) => cancelResponse(ctx, { responseId })));
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({ code: 'response_cancelled' });
    expect(repeats(error)).toBe('false');
  });
});

describe('an automatic retry by the client', () => {
  it('is not requested where an external tool was called', async () => {
    const id = await engine.create();
    const record = await engine.record(id);
    const failure_reason = { code: 'model_error', type: 'server_error', message: 'x', param: null } as const;
    const failed = { ...record, status: 'failed' as const, platform: { ...record.platform, failure_reason } };
    const acted = { ...failed, output: [{ type: 'mcp_call' }] as typeof record.output };
    expect([failed, acted].map((each) => failureOf(each)?.detail.mayRepeat)).toEqual([true, false]);
  });
});

describe('the surface of the contract', () => {
  it('answers a failed response as it is', async () => {
    const path = `/v1/spaces/${engine.world.spaceId}/responses`;
    const before = await newest();
    const waiting = gateway.send({
      method: 'POST',
      path,
      apiKey: engine.world.apiKey,
      headers: { Prefer: 'wait=20' },
      body: { model: 'paid', input: { text: asked.input } },
    });
    let id = await newest();
    while (id === undefined || id === before) id = await newest();
    await refusing(400, { code: 'unsupported_value', param: 'top_p' })(id);
    expect(await waiting).toMatchObject({
      status: 200,
      body: {
        data: {
          id,
          status: 'failed',
          platform: {
            failure_reason: { code: 'model_error', type: 'invalid_request_error', param: 'top_p' },
          },
        },
      },
    });
  });
});
