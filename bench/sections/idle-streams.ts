import { Agent, get, type ClientRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { proportionalBytes } from '#test/support/process-memory.ts';
import { busy } from '../support/caller.ts';
import { cpuOf } from '../support/cpu.ts';
import { models, type Lab } from '../support/lab.ts';
import type { BenchProcess } from '../support/processes.ts';
import { format, type Line } from '../support/report.ts';
import type { Scale } from '../support/scale.ts';

const goalKb = 22;
const opening = 50;

/**
 * Memory of the gateway for each waiting reader, with a response of its own, compared with Node's bare http
 * server. The worker is stopped first, so that all responses stay queued: this has to be the last part.
 */
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
  // A fresh gateway: the heap of earlier parts would hide the memory of the streams.
  const gateway = await lab.addGateway();
  const path = `/api/v1/spaces/${lab.world.spaceId}/responses`;
  const headers = { 'x-api-key': lab.world.apiKey, 'content-type': 'application/json' };
  await lab.worker.stop();
  const urls: string[] = [];
  const create = async () => {
    while (urls.length < scale.idleStreams) {
      const place = urls.push('') - 1;
      urls[place] = `${gateway.url}${path}/${await accept(lab.gatewayUrl + path, headers)}?stream=true`;
    }
  };
  await Promise.all(Array.from({ length: 8 }, create));
  const ours = await weigh(gateway, urls, headers);
  const plain = await weigh(
    bare,
    urls.map(() => bare.said.url),
    {},
  );
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

/** @returns the id of a response that waits for a worker */
async function accept(url: string, headers: Record<string, string>): Promise<string> {
  const body = JSON.stringify({ model: models.silent, input: { text: 'Wait.' }, tools: [] });
  for (;;) {
    const answer = await fetch(url, { method: 'POST', headers, body });
    if (answer.status === 202) return ((await answer.json()) as { data: { id: string } }).data.id;
    await answer.body?.cancel();
    if (answer.status !== 503) throw new Error(`${url} answered ${answer.status}`);
    busy.count += 1;
    await sleep(200);
  }
}

interface Weight {
  kbPerStream: number;
  cpuPerSecond: number;
}

/** The slope from half of the streams to all, which excludes one-time allocations. */
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

/** Kilobytes after full garbage collections, once another one changes nothing more. */
async function settled(server: BenchProcess): Promise<number> {
  let kilobytes = Infinity;
  for (let i = 0; i < 12; i += 1) {
    server.signal('SIGWINCH');
    await sleep(700);
    const before = kilobytes;
    kilobytes = proportionalBytes(server.pid) / 1_024;
    if (i > 0 && Math.abs(kilobytes - before) < 100) break;
  }
  return kilobytes;
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
