import { Agent, get, type ClientRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuOf, memoryOf } from '../support/cpu.ts';
import { models, type Lab } from '../support/lab.ts';
import type { BenchProcess } from '../support/processes.ts';
import { format, type Line } from '../support/report.ts';
import type { Scale } from '../support/scale.ts';

const goalKb = 22;
/** As many readers as one response may have. */
const readersPerResponse = 20;
const opening = 50;

/** Memory of the gateway for each attached reader who waits, beside the bare http server of Node. */
export async function measureIdleStreams(
  lab: Lab,
  scale: Scale,
  say: (line: string) => void,
): Promise<Line[]> {
  const bare = await lab.addPeer<{ url: string }>({
    name: 'idle-server',
    entry: 'bench/peers/idle-server.ts',
    flags: ['--expose-gc', '--import', './bench/support/collect-on-signal.ts'],
  });
  // One that has done nothing else: what earlier parts left on its heap would hide what streams take.
  const gateway = await lab.addGateway();
  const base = `${gateway.url}/api/v1/spaces/${lab.world.spaceId}/responses`;
  const headers = { 'x-api-key': lab.world.apiKey, 'content-type': 'application/json' };
  const count = Math.ceil(scale.idleStreams / readersPerResponse);
  const ids: string[] = [];
  while (ids.length < count) {
    const body = { model: models.silent, input: { text: 'Wait.' }, tools: [] };
    const answer = await fetch(base, { method: 'POST', headers, body: JSON.stringify(body) });
    if (answer.status === 202) ids.push(((await answer.json()) as { data: { id: string } }).data.id);
    else if (answer.status !== 503) throw new Error(`${base} answered ${answer.status}`);
  }
  await sleep(2_000);
  const urls = Array.from({ length: scale.idleStreams }, (_, i) => `${base}/${ids[i % count]}?stream=true`);
  const ours = await weigh(gateway, urls, headers);
  const plain = await weigh(
    bare,
    urls.map(() => bare.said.url),
    {},
  );
  for (const id of ids) await fetch(`${base}/${id}/cancel`, { method: 'POST', headers });
  say(
    `${scale.idleStreams} idle streams: ${format(ours.kbPerStream)} kB each and ${format(ours.cpuPerSecond)} ms CPU/s in all, to ${format(plain.kbPerStream)} kB and ${format(plain.cpuPerSecond)} ms`,
  );
  return [
    {
      name: `memory per idle stream, of ${goalKb} kB (bare http: ${format(plain.kbPerStream)} kB)`,
      ratios: [ours.kbPerStream / goalKb],
      goal: 1,
      better: 'lower',
      ours: `${format(ours.kbPerStream)} kB`,
      peer: `${goalKb} kB`,
    },
  ];
}

interface Weight {
  kbPerStream: number;
  cpuPerSecond: number;
}

/** The slope from half of the streams to all: what the first ones load and grow is no stream's. */
async function weigh(server: BenchProcess, urls: string[], headers: Record<string, string>): Promise<Weight> {
  const agent = new Agent({ keepAlive: false });
  const open: ClientRequest[] = [];
  const half = Math.ceil(urls.length / 2);
  const openAll = async (part: string[]) => {
    for (let i = 0; i < part.length; i += opening)
      open.push(...(await Promise.all(part.slice(i, i + opening).map((url) => attach(url, headers, agent)))));
  };
  await openAll(urls.slice(0, half));
  const first = await settled(server);
  await openAll(urls.slice(half));
  const second = await settled(server);
  const before = cpuOf({ server: server.pid })['server']!;
  await sleep(2_000);
  const cpuPerSecond = (cpuOf({ server: server.pid })['server']! - before) / 2;
  open.forEach((request) => request.destroy());
  return { kbPerStream: (second - first) / (urls.length - half), cpuPerSecond };
}

/** Kilobytes after two full collections. */
async function settled(server: BenchProcess): Promise<number> {
  for (let i = 0; i < 2; i += 1) {
    server.signal('SIGWINCH');
    await sleep(700);
  }
  return memoryOf(server.pid);
}

/** Resolves when the stream has begun. */
function attach(url: string, headers: Record<string, string>, agent: Agent): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers, agent }, (answer) => {
      if (answer.statusCode !== 200) return reject(new Error(`${url} answered ${answer.statusCode}`));
      answer.once('data', () => resolve(request));
      answer.on('error', () => undefined).resume();
    });
    request.on('error', reject);
  });
}
