import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openConnection } from '#domain/capabilities/connections/connection-state.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import {
  startAuthorizationServer,
  type AuthorizationServer,
} from '../support/authorization/authorization-server.ts';
import type { Decision } from '../support/authorization/browser-part.ts';
import { startProtectedServer, type ProtectedServer } from '../support/authorization/protected-server.ts';
import { dumpOf, foundIn, historiesOf, logsOf } from '../support/canaries.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import { Popup } from '../support/popup.ts';
import { ResponsesClient } from '../support/responses-client.ts';
import { openToolWorld, type Server, type ToolWorld } from '../support/tool-world.ts';
import { addMember, secrets } from '../support/world.ts';

interface Elicitation {
  elicitation_id: string;
  url: string;
}

const tool = (script: string, name = `mcp__docs__${script}`) => ({
  name: script,
  text: 'Done.',
  calls: [[{ name, arguments: {} }]],
});

let authorization: AuthorizationServer;
let docs: ProtectedServer;
let tools: ToolWorld;
let server: Server;
let bound: ProtectedServer;
const servers = {} as { team: Server };

beforeAll(async () => {
  authorization = await startAuthorizationServer();
  docs = await startProtectedServer({ authorization });
  bound = await startProtectedServer({ authorization, demandsProof: true });
  tools = await openToolWorld({
    scripts: [
      ...['whoami', 'note', 'purge'].map((each) => tool(each)),
      tool('team', 'mcp__team__whoami'),
      tool('proof', 'mcp__proof__whoami'),
    ],
    origins: [authorization.issuer, docs.origin, bound.origin],
    armable: true,
    workers: 2,
    env: { LOG_LEVEL: 'trace' },
  });
  server = await tools.register('docs', docs.url, { connection_mode: 'personal' });
});
afterAll(async () => {
  await tools?.stop();
  await Promise.all([authorization, docs, bound].map((each) => each?.stop()));
});

const gateway = () => tools.stack.gateways[0]!;
const send = (method: string, path: string, apiKey: string, body?: object): Promise<Answer> =>
  sendOver(gateway).send({ method, path, apiKey, ...(body && { body }) });
const place = () => `/v1/spaces/${tools.world.spaceId}/mcp-servers/${server.mcp_server_config_id}`;
const idOf = ({ mcp_server_config_id: id }: Server): string => id;
const statusOf = async (apiKey: string): Promise<string> =>
  (await send('GET', `${place()}/connection`, apiKey)).body.data.status;

/** All of it: popup, the person's part at the authorization server, and the end at the client. */
async function connect(apiKey: string, decision: Decision, serverId = idOf(server)): Promise<Answer> {
  const done = `${gateway().url}/api/v1/mcp-auth/done`;
  const path = `/v1/mcp-auth/${serverId}/initiate?redirect_uri=${encodeURIComponent(done)}`;
  const begun = await send('POST', path, apiKey);
  expect(begun.status, begun.text).toBe(200);
  const popup = new Popup(sendOver(gateway));
  const address = await popup.decide(begun.body.data.popup_url, 'continue');
  const callback = new URL(await authorization.authorize(address.href, decision));
  const back = await popup.open(callback.href);
  expect(back.status, back.text).toBe(303);
  const handle = new URL(back.headers['location']!).searchParams.get('handle')!;
  return send('POST', '/v1/mcp-auth/complete', apiKey, { handle });
}

async function ask(script: string, apiKey: string): Promise<ResponseRecord['output'][number]> {
  const client = new ResponsesClient({ ...tools.world, apiKey }, gateway);
  const made = await client.create({ input: { text: 'Do it.' }, model: script }, { prefer: 'wait=30' });
  if (made.status > 202) throw new Error(JSON.stringify(made));
  for (const deadline = Date.now() + 60_000; ; await sleep(200)) {
    const { data } = made.status === 200 ? made : await client.call(`/${made.data.id}`);
    if (data.finished_at !== null) return data.output[0]!;
    if (Date.now() > deadline) throw new Error(JSON.stringify(data));
  }
}

async function serverBecomes(status: string, id = idOf(server)): Promise<Server> {
  for (const deadline = Date.now() + 30_000; ; await sleep(100)) {
    const { data } = await tools.call('GET', `mcp-servers/${id}`);
    if (data.status === status) return data;
    if (Date.now() > deadline) throw new Error(`The server is still ${data.status} ${data.last_error}.`);
  }
}

/** Reads the list until all discoveries are over: the last one says what is offered. */
async function serverIsRead(of: Server): Promise<void> {
  await tools.refresh((await tools.call('GET', `mcp-servers/${idOf(of)}`)).data);
  await serverBecomes('connected', idOf(of));
}

const editor = () => addMember(tools.database.unitOfWork, tools.world, { spaceRole: 'space_editor' });
const admin = () => addMember(tools.database.unitOfWork, tools.world, { spaceRole: 'space_admin' });
const expire = () => tools.admin.query(`update mcp_connections set expires_at = now() - interval '1 second'`);

describe('a tool server that is authorized by each person', () => {
  it('asks for a connection, is read with it, and is called with the account of the person who asks', async () => {
    expect(server).toMatchObject({ status: 'auth_required' });
    const [ann, ben] = [await editor(), await editor()];
    const connected = await connect(ann.apiKey, { account: 'ann' });
    expect(connected.body).toMatchObject({ data: { status: 'connected', issuer: authorization.issuer } });
    server = await serverBecomes('connected');
    server = await tools.update(server, { enabled_tools: ['whoami', 'note', 'purge'] });

    expect(await ask('whoami', ann.apiKey)).toMatchObject({ status: 'completed', output: 'ann' });
    const refused = await ask('note', ben.apiKey);
    expect(refused).toMatchObject({
      status: 'failed',
      error: {
        code: 'authorization_required',
        elicitation: { mode: 'url', elicitation_id: expect.stringMatching(/^mcp_/) },
      },
    });
    const { elicitation } = (refused as unknown as { error: { elicitation: Elicitation } }).error;
    const url = new URL(elicitation.url);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      server_id: server.mcp_server_config_id,
      elicitation_id: elicitation.elicitation_id,
    });
    const page = await new Popup(sendOver(gateway)).open(url.href);
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('Connect an account') });
    const again = await ask('note', ben.apiKey);
    expect(again).not.toMatchObject({
      error: { elicitation: { elicitation_id: elicitation.elicitation_id } },
    });
    expect(docs.calls).toEqual([]);
    await connect(ben.apiKey, { account: 'ben' });
    expect(await ask('note', ben.apiKey)).toMatchObject({ status: 'completed', output: 'note for ben' });
    expect(await ask('whoami', ann.apiKey)).toMatchObject({ output: 'ann' });
    expect(docs.calls).toEqual([{ tool: 'note', sub: 'ben' }]);
  });

  it('says so to OpenAI’s clients, too, and goes on in the next response of the chain', async () => {
    const ned = await editor();
    const create = async (more: object = {}) => {
      const path = `/v1/spaces/${tools.world.spaceId}/openai/responses`;
      const body = {
        model: 'note',
        input: 'Do it.',
        tools: [{ type: 'mcp', server_label: 'docs' }],
        ...more,
      };
      const answer = await send('POST', path, ned.apiKey, body);
      expect(answer.status, answer.text).toBe(200);
      const { id, output } = answer.body as { id: string; output: { type: string }[] };
      return { id, call: output.find(({ type }) => type === 'mcp_call') };
    };
    const refused = await create();
    expect(refused.call).toMatchObject({
      status: 'failed',
      error: {
        code: 'authorization_required',
        elicitation: { mode: 'url', url: expect.stringContaining('/api/v1/mcp-auth/connect?server_id=') },
      },
    });
    await connect(ned.apiKey, { account: 'ned' });
    const next = await create({ previous_response_id: refused.id });
    expect(next.call).toMatchObject({ status: 'completed', output: 'note for ned' });
  });

  it('gets a new token when the old one expires or is refused, each refresh token being used once', async () => {
    const cat = await editor();
    await connect(cat.apiKey, { account: 'cat' });
    const before = authorization.tokenRequests.length;
    await expire();
    expect(await ask('whoami', cat.apiKey)).toMatchObject({ output: 'cat' });
    await expire();
    expect(await Promise.all([ask('whoami', cat.apiKey), ask('whoami', cat.apiKey)])).toMatchObject([
      { output: 'cat' },
      { output: 'cat' },
    ]);
    const used = authorization.tokenRequests.slice(before);
    expect(used.map(({ grantType, error }) => [grantType, error])).toEqual([
      ['refresh_token', null],
      ['refresh_token', null],
    ]);
  });

  it('asks for another connection when the authorization server has revoked it', async () => {
    const dan = await editor();
    await connect(dan.apiKey, { account: 'dan' });
    await authorization.revokeAccount('dan');
    expect(await ask('whoami', dan.apiKey)).toMatchObject({ error: { code: 'authorization_required' } });
    expect(await statusOf(dan.apiKey)).toBe('auth_expired');
    await connect(dan.apiKey, { account: 'dan' });
    expect(await ask('whoami', dan.apiKey)).toMatchObject({ output: 'dan' });
  });

  it('asks for the scopes that a call needs, beside those that were granted', async () => {
    const eve = await editor();
    await connect(eve.apiKey, { account: 'eve' });
    expect(await ask('purge', eve.apiKey)).toMatchObject({ error: { code: 'authorization_required' } });
    expect(await statusOf(eve.apiKey)).toBe('scope_required');
    expect(await ask('whoami', eve.apiKey)).toMatchObject({ output: 'eve' });
    const connected = await connect(eve.apiKey, { account: 'eve' });
    expect(connected.body.data.granted_scopes).toEqual(expect.arrayContaining(['read', 'admin']));
    expect(await ask('purge', eve.apiKey)).toMatchObject({ status: 'completed', output: 'purge for eve' });
  });

  it('is called no more after disconnecting, and the tokens are revoked and erased', async () => {
    const fay = await editor();
    await connect(fay.apiKey, { account: 'fay' });
    const revocations = authorization.asked.get('/token/revocation') ?? 0;
    expect((await send('DELETE', `${place()}/connection`, fay.apiKey)).status).toBe(200);
    expect(await statusOf(fay.apiKey)).toBe('auth_required');
    expect(authorization.asked.get('/token/revocation')).toBeGreaterThan(revocations);
    expect(await ask('whoami', fay.apiKey)).toMatchObject({ error: { code: 'authorization_required' } });
    const { rows } = await tools.admin.query('select 1 from mcp_connections where owner_id = $1', [
      fay.principalId,
    ]);
    expect(rows).toEqual([]);
  });

  it('is refreshed by another worker when one dies between the answer and its commit', async () => {
    const jan = await editor();
    await connect(jan.apiKey, { account: 'jan' });
    await expire();
    await Promise.all(tools.stack.workers.map((worker) => worker.arm('refresh.before_commit')));
    const before = authorization.tokenRequests.length;
    const asked = ask('whoami', jan.apiKey);
    const dead = await Promise.race(tools.stack.workers.map(async (worker) => (await worker.exited, worker)));
    await Promise.all(tools.stack.workers.filter((worker) => worker !== dead).map((worker) => worker.kill()));
    await Promise.all([tools.stack.start('worker'), tools.stack.start('worker')]);
    await tools.admin.query('update mcp_connections set lease_until = now() where lease_until is not null');
    // The token was rotated by the answer that was lost: the server ends the grant, and the person connects again. The
    // call itself was not started.
    expect(await asked).toMatchObject({ error: { code: 'authorization_required' } });
    expect(await ask('whoami', jan.apiKey)).toMatchObject({ error: { code: 'authorization_required' } });
    expect(await statusOf(jan.apiKey)).toBe('auth_expired');
    expect(authorization.tokenRequests.slice(before).map(({ error }) => error)).toEqual([
      null,
      'invalid_grant',
    ]);
    await connect(jan.apiKey, { account: 'jan' });
    expect(await ask('whoami', jan.apiKey)).toMatchObject({ output: 'jan' });
  });

  it('leaves codes, verifiers and tokens nowhere but sealed in their columns', async () => {
    const kim = await editor();
    await connect(kim.apiKey, { account: 'kim' });
    await expire();
    expect(await ask('whoami', kim.apiKey)).toMatchObject({ output: 'kim' });
    const { tenantId } = tools.world;
    const identity = { tenantId, serverId: idOf(server), ownerId: kim.principalId };
    const opened = await tools.database.unitOfWork.inTenant(tenantId, (em) =>
      openConnection({ em, secrets }, identity),
    );
    const planted = new Map([['access token', opened!.tokens.accessToken]]);
    for (const { form } of authorization.tokenRequests) {
      for (const name of ['code', 'code_verifier', 'refresh_token']) {
        if (typeof form[name] === 'string') planted.set(`${name} ${planted.size}`, form[name]);
      }
    }
    expect(planted.size).toBeGreaterThan(10);
    for (const text of [await dumpOf(tools), await logsOf(tools), await historiesOf(tools)]) {
      expect(text.length).toBeGreaterThan(1_000);
      expect(foundIn(planted, text)).toEqual([]);
    }
  });

  it('loses the connections of people that are disabled or deleted, and those of a removed server', async () => {
    const [gus, hal, ida] = [await editor(), await editor(), await editor()];
    for (const [person, account] of [
      [gus, 'gus'],
      [hal, 'hal'],
      [ida, 'ida'],
    ] as const) {
      await connect(person.apiKey, { account });
    }
    const before = authorization.asked.get('/token/revocation') ?? 0;
    const admin = tools.world.apiKey;
    await send('PATCH', `/v1/admin/principals/${gus.principalId}`, admin, { status: 'disabled' });
    await send('DELETE', `/v1/admin/principals/${hal.principalId}`, admin);
    const left = async (of: string[]) =>
      (await tools.admin.query('select 1 from mcp_connections where owner_id = any ($1)', [of])).rowCount;
    await settled(async () => (await left([gus.principalId, hal.principalId])) === 0);
    expect(await left([ida.principalId])).toBe(1);
    expect((await send('DELETE', place(), admin)).status).toBe(200);
    await settled(async () => (await left([ida.principalId])) === 0);
    // An access token and a refresh token each.
    expect((authorization.asked.get('/token/revocation') ?? 0) - before).toBeGreaterThanOrEqual(6);
    expect(await tools.eventTypes('security.mcp_auth_revoked')).not.toEqual([]);
  });
});

describe('a tool server that is authorized for the space', () => {
  it('is called with the shared account for every member', async () => {
    const team = await tools.register('team', docs.url, { connection_mode: 'shared' });
    servers.team = team;
    const [lea, max] = [await admin(), await editor()];
    expect((await connect(lea.apiKey, { account: 'team' }, idOf(team))).status).toBe(200);
    await tools.update(await serverBecomes('connected', idOf(team)), { enabled_tools: ['whoami'] });
    expect(await ask('team', max.apiKey)).toMatchObject({ status: 'completed', output: 'team' });
  });
});

describe('an authorization server', () => {
  it('that binds tokens to a key gets a proof with each request, also after a refresh', async () => {
    const proof = await tools.register('proof', bound.url, { connection_mode: 'shared' });
    const { apiKey } = await admin();
    expect((await connect(apiKey, { account: 'bound' }, idOf(proof))).status).toBe(200);
    await tools.update(await serverBecomes('connected', idOf(proof)), { enabled_tools: ['whoami'] });
    expect(await ask('proof', apiKey)).toMatchObject({ status: 'completed', output: 'bound' });
    await expire();
    expect(await ask('proof', apiKey)).toMatchObject({ status: 'completed', output: 'bound' });
  });

  it('that forgot the platform has it registered again for the next connection', async () => {
    const nat = await admin();
    await connect(nat.apiKey, { account: 'nat' }, idOf(servers.team));
    await serverIsRead(servers.team);
    authorization.forgetClients();
    await expire();
    expect(await ask('team', nat.apiKey)).toMatchObject({ error: { code: 'authorization_required' } });
    const path = `/v1/spaces/${tools.world.spaceId}/mcp-servers/${idOf(servers.team)}/connection`;
    expect((await send('GET', path, nat.apiKey)).body.data.status).toBe('client_rejected');
    expect((await connect(nat.apiKey, { account: 'nat' }, idOf(servers.team))).status).toBe(200);
    await serverIsRead(servers.team);
    expect(await ask('team', nat.apiKey)).toMatchObject({ status: 'completed', output: 'nat' });
  });
});

/** Within some rounds of upkeep. */
async function settled(isDone: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 40_000; !(await isDone()); await sleep(200)) {
    if (Date.now() > deadline) throw new Error('It has not settled.');
  }
}
