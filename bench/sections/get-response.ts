import autocannon from 'autocannon';
import { Client } from 'pg';
import { respond } from '../support/caller.ts';
import { cpuOf } from '../support/cpu.ts';
import { models, type Lab } from '../support/lab.ts';
import { format, type Line } from '../support/report.ts';
import type { Scale } from '../support/scale.ts';
import { median } from '../support/stats.ts';

interface Target {
  url: string;
  /** The responses that the connections read, one each. */
  asked: { path: string; headers: Record<string, string> }[];
  pid: number;
}

interface Load {
  perSecond: number;
  cpuUs: number;
}

/**
 * Reading finished responses, one per connection, with every check, compared with a server that runs one
 * prepared select and sends the row: with one key for all connections, and with the keys of several members.
 */
export async function measureGet(lab: Lab, scale: Scale, say: (line: string) => void): Promise<Line[]> {
  const stored: { id: string; path: string; body: string }[] = [];
  for (let i = 0; i < scale.connections; i += 1) {
    const { responseId: id } = await respond(lab, { model: models.tools(0) });
    const path = `/api/v1/spaces/${lab.world.spaceId}/responses/${id}`;
    stored.push({ id, path, body: await read(lab.gatewayUrl + path, { 'x-api-key': lab.world.apiKey }) });
  }
  await savePlain(lab, stored);
  const server = await lab.addPeer<{ url: string }>({
    name: 'select-server',
    entry: 'bench/peers/select-server.ts',
    env: { DATABASE_URL: lab.postgres.adminUrl },
  });
  const plain: Target = {
    url: server.said.url,
    asked: stored.map(({ id }) => ({ path: `/responses/${id}`, headers: {} })),
    pid: server.pid,
  };
  for (const [i, { path }] of plain.asked.entries())
    if ((await read(plain.url + path)) !== stored[i]!.body)
      throw new Error('The two servers do not answer the same.');
  await load(plain, Math.min(1, scale.getSeconds));
  const lines: Line[] = [];
  for (const keys of [[lab.world.apiKey], lab.readers]) {
    const ours: Target = {
      url: lab.gatewayUrl,
      asked: stored.map(({ path }, i) => ({ path, headers: { 'x-api-key': keys[i % keys.length]! } })),
      pid: lab.gateway.pid,
    };
    const name = `GET of a response with ${keys.length === 1 ? 'one key' : `${keys.length} keys`}`;
    lines.push(await compare({ ours, plain, name, scale }, say));
  }
  return lines;
}

async function compare(
  { ours, plain, name, scale }: { ours: Target; plain: Target; name: string; scale: Scale },
  say: (line: string) => void,
): Promise<Line> {
  const pairs: { ours: Load; plain: Load }[] = [];
  await load(ours, Math.min(1, scale.getSeconds));
  for (let round = 0; round < scale.rounds; round += 1)
    pairs.push({ ours: await load(ours, scale.getSeconds), plain: await load(plain, scale.getSeconds) });
  const of = (side: 'ours' | 'plain', what: keyof Load) =>
    format(median(pairs.map((pair) => pair[side][what])));
  say(
    `${name}, ${scale.connections} connections: ${of('ours', 'perSecond')}/s and ${of('ours', 'cpuUs')} µs of the server, to ${of('plain', 'perSecond')}/s and ${of('plain', 'cpuUs')} µs`,
  );
  return {
    name: `${name}, to Fastify with one prepared select`,
    ratios: pairs.map((pair) => pair.ours.perSecond / pair.plain.perSecond),
    goal: 0.8,
    better: 'higher',
    ours: `${of('ours', 'perSecond')}/s`,
    peer: `${of('plain', 'perSecond')}/s`,
  };
}

async function read(url: string, headers: Record<string, string> = {}): Promise<string> {
  return (await fetch(url, { headers })).text();
}

async function savePlain(lab: Lab, rows: { id: string; body: string }[]): Promise<void> {
  const client = new Client({ connectionString: lab.postgres.adminUrl });
  await client.connect();
  await client.query('create table plain_responses (id text primary key, body text)');
  for (const { id, body } of rows)
    await client.query('insert into plain_responses values ($1, $2)', [id, body]);
  await client.end();
}

async function load({ url, asked, pid }: Target, duration: number): Promise<Load> {
  const before = cpuOf({ server: pid })['server']!;
  let opened = 0;
  const result = await autocannon({
    url,
    connections: asked.length,
    duration,
    // autocannon reads the clock only when it takes a sample.
    sampleInt: Math.min(1, duration) * 1_000,
    setupClient: (connection) => {
      connection.setRequests([{ method: 'GET', ...asked[opened % asked.length]! }]);
      opened += 1;
    },
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url} refused ${result.non2xx} requests.`);
  const { total } = result.requests;
  return {
    perSecond: total / result.duration,
    cpuUs: ((cpuOf({ server: pid })['server']! - before) * 1_000) / total,
  };
}
