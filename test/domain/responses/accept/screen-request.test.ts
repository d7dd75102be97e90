import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NamesNeeded, type FoundNames } from '#domain/governance/redaction/found-names.ts';
import { showRestored } from '#domain/conversations/threads/show-restored.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { claimCall } from '#domain/responses/calls/claim-call.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { restartResponse } from '#domain/responses/accept/restart-response.ts';
import { connectServer, tool } from '../../../support/connected-server.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';

const value = 'desk@example.org';
const token = expect.stringMatching(/^\[EMAIL_\w{12}\]$/) as string;
const limits = { maxActivePerSpace: 10_000, retentionSeconds: 600 };
const write = tool('write', {
  description: `Writes to ${value}.`,
  inputSchema: {
    type: 'object',
    properties: { to: { type: 'string', enum: [value], description: 'Or call +49 30 901820.' } },
    required: ['to'],
  },
});
const desk: NonNullable<CreateResponseInput['tools']> = [
  { type: 'mcp', serverLabel: 'desk', allowedTools: ['write'], requireApproval: [] },
  { type: 'function', name: 'tell', description: `Tells ${value}.`, parameters: { type: 'object' } },
];

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
  const settings = [{ name: 'ask', requireApproval: true }];
  await connectServer(engine, { slug: 'desk', tools: [write, tool('ask')], settings });
});
beforeEach(() => govern({ mode: 'redact' }));
afterAll(() => engine.stop());

const govern = (pii: object) =>
  engine.admin.query('update spaces set policy = $1', [JSON.stringify({ version: 2, pii })]);

async function fail(id: string): Promise<string> {
  await engine.admin.query(`update responses set status = 'failed', finished_at = now() where id = $1`, [id]);
  return id;
}

async function restart(responseId: string): Promise<string> {
  const options = { newId: newResponseId(), limits };
  return (await engine.act((ctx) => restartResponse(ctx, { responseId }, options))).id;
}

/** The tools as the model sees them. */
const offered = async (id: string) => (await engine.attempt(id)).turn.settings.tools;

describe('the definition of a connected server’s tool', () => {
  it('reaches the model with tokens, under its own names, and its reader as it is', async () => {
    const id = await engine.create({ tools: desk });
    const tools = await offered(id);
    expect(tools).toMatchObject([
      {
        name: 'mcp__desk__write',
        description: expect.stringMatching(/^Writes to \[EMAIL_\w{12}\]\.$/) as string,
        parameters: { properties: { to: { type: 'string', enum: [token] } }, required: ['to'] },
      },
      { name: 'tell', description: expect.stringMatching(/^Tells \[EMAIL_\w{12}\]\.$/) as string },
    ]);
    expect(JSON.stringify(tools)).not.toMatch(/desk@|901820/);
    const record = await engine.record(id);
    // The function's: text from a connected server has no principal who supplied it.
    expect(record.platform.governance_applied.redactions).toBe(1);
    const shown = await engine.act(async (ctx) =>
      showRestored(ctx, await ctx.em.findOneOrFail(Response, { id }), record),
    );
    expect(shown.output).toMatchObject([
      { tools: [{ name: 'write', description: write.description, input_schema: write.inputSchema }] },
    ]);
  });

  it('is unchanged where the space has no redaction, and screened when the response is restarted under redaction', async () => {
    await govern({ mode: 'off' });
    const id = await fail(await engine.create({ tools: desk }));
    await govern({ mode: 'redact' });
    const again = await restart(id);
    const tools = JSON.stringify(await offered(again));
    expect(tools).toMatch(/\[EMAIL_\w{12}\].*\[PHONE_\w{12}\]/);
    expect(tools).not.toMatch(/desk@|901820/);
  });

  it('does not block requests in a space that refuses personal data', async () => {
    await govern({ mode: 'block' });
    const id = await engine.create({ tools: desk.slice(0, 1) });
    expect(JSON.stringify(await offered(id))).toContain('[EMAIL_');
  });
});

describe('a call that was requested before the space demanded redaction', () => {
  async function approve(): Promise<Parameters<typeof requestOf>[1]> {
    await govern({ mode: 'off' });
    const id = await engine.create();
    const args = JSON.stringify({ who: 'Ada', to: value });
    const calls = [{ name: 'mcp__desk__ask', arguments: args }];
    await (await engine.attempt(id)).commit({ calls, reason: 'tool_calls' });
    const approvalRequestId = (await engine.record(id)).output[0]?.id ?? '';
    const answer = { type: 'mcp_approval_response' as const, approvalRequestId, approve: true, reason: null };
    return { previousResponseId: id, tools: [], input: [answer] };
  }
  const follow = async (input: Parameters<typeof requestOf>[1], names: FoundNames | null = null) => {
    const responseId = newResponseId();
    const request = requestOf(engine.world, input);
    await engine.act((ctx) => createResponse(ctx, request, { responseId, limits, names }));
    return responseId;
  };
  const called = async (responseId: string): Promise<unknown> => {
    await engine.claim(responseId);
    const key = { tenantId: engine.world.tenantId, responseId, iteration: 0, callIndex: 0 };
    const claim = await claimCall(engine.database, key);
    return claim.kind === 'claimed' ? JSON.parse(claim.call.arguments) : claim;
  };

  it('is made with tokens once it is approved', async () => {
    const input = await approve();
    await govern({ mode: 'redact' });
    expect(await called(await follow(input))).toEqual({ who: 'Ada', to: token });
  });

  it('is made with tokens in a restart', async () => {
    const id = await fail(await follow(await approve()));
    await govern({ mode: 'redact' });
    expect(await called(await restart(id))).toEqual({ who: 'Ada', to: token });
  });

  it('is sent to the recogniser of names first', async () => {
    const input = await approve();
    await govern({ mode: 'redact', presidio_url: 'https://names.example.com' });
    const needed = await follow(input).catch((error: unknown) => error);
    const texts = needed instanceof NamesNeeded ? needed.texts : [];
    expect(texts).toContain('Ada');
    const names = new Map(
      texts.map((text) => [text, text === 'Ada' ? [{ kind: 'person' as const, start: 0, end: 3 }] : []]),
    );
    expect(await called(await follow(input, names))).toEqual({
      who: expect.stringMatching(/^\[NAME_\w{12}\]$/) as string,
      to: token,
    });
  });
});
