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
  headers?: Record<string, string>;
  pid: number;
}

interface Load {
  perSecond: number;
  cpuUs: number;
}

const connections = 50;

/** Reading a finished response, with every check, beside a server that makes one prepared select and sends the row. */
export async function measureGet(lab: Lab, scale: Scale, say: (line: string) => void): Promise<Line[]> {
  const { responseId } = await respond(lab, { model: models.tools(0) });
  const url = `${lab.gatewayUrl}/api/v1/spaces/${lab.world.spaceId}/responses/${responseId}`;
  const headers = { 'x-api-key': lab.world.apiKey };
  const body = await (await fetch(url, { headers })).text();
  await keepPlainly(lab, responseId, body);
  const server = await lab.addPeer<{ url: string }>({
    name: 'select-server',
    entry: 'bench/peers/select-server.ts',
    env: { DATABASE_URL: lab.postgres.adminUrl },
  });
  const ours: Target = { url, headers, pid: lab.gateway.pid };
  const plain: Target = { url: `${server.said.url}/responses/${responseId}`, pid: server.pid };
  const answered = await (await fetch(plain.url)).text();
  if (answered !== body) throw new Error('The two servers do not answer the same.');
  const pairs: { ours: Load; plain: Load }[] = [];
  await load(ours, 1);
  await load(plain, 1);
  for (let round = 0; round < scale.rounds; round += 1)
    pairs.push({ ours: await load(ours, scale.getSeconds), plain: await load(plain, scale.getSeconds) });
  const of = (side: 'ours' | 'plain', what: keyof Load) =>
    format(median(pairs.map((pair) => pair[side][what])));
  say(
    `GET of ${body.length} bytes, ${connections} connections: ${of('ours', 'perSecond')}/s and ${of('ours', 'cpuUs')} µs of the server, to ${of('plain', 'perSecond')}/s and ${of('plain', 'cpuUs')} µs`,
  );
  return [
    {
      name: 'GET of a response, to Fastify with one prepared select',
      ratios: pairs.map((pair) => pair.ours.perSecond / pair.plain.perSecond),
      goal: 0.8,
      better: 'higher',
      ours: `${of('ours', 'perSecond')}/s`,
      peer: `${of('plain', 'perSecond')}/s`,
    },
  ];
}

async function keepPlainly(lab: Lab, id: string, body: string): Promise<void> {
  const client = new Client({ connectionString: lab.postgres.adminUrl });
  await client.connect();
  await client.query('create table plain_responses (id text primary key, body text)');
  await client.query('insert into plain_responses values ($1, $2)', [id, body]);
  await client.end();
}

async function load({ url, headers = {}, pid }: Target, duration: number): Promise<Load> {
  const before = cpuOf({ server: pid })['server']!;
  const result = await autocannon({ url, headers, connections, duration });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url} refused ${result.non2xx} requests.`);
  const { total } = result.requests;
  return {
    perSecond: total / result.duration,
    cpuUs: ((cpuOf({ server: pid })['server']! - before) * 1_000) / total,
  };
}
