import type { World } from '../support/world.ts';
import { manners } from './model-server.ts';

/** The attacks of one tenant, each in a loop of its own until `signal` ends it. */
export interface Target {
  /** `http://127.0.0.1:<port>/api` */
  base: string;
  world: World;
  collectionId: string;
  refreshToken: string;
  /** The attacks to run; all by default. */
  only?: readonly string[];
  /** The pause of a loop after a refusal; 100 by default. */
  pauseMs?: number;
  signal: AbortSignal;
}

/** The number of answers by status, 0 for a failed request; by attack. */
export type Answers = Record<string, Record<number, number>>;

const documents = [
  { filename: 'brackets.md', media_type: 'text/markdown', content: '['.repeat(250_000) },
  { filename: 'images.md', media_type: 'text/markdown', content: '![a]('.repeat(50_000) },
  { filename: 'stars.md', media_type: 'text/markdown', content: '*a_ '.repeat(60_000) },
  { filename: 'quotes.md', media_type: 'text/markdown', content: '> '.repeat(120_000) },
  { filename: 'ticks.md', media_type: 'text/markdown', content: '`a``b'.repeat(50_000) },
  { filename: 'nested.html', media_type: 'text/html', content: '<div>'.repeat(50_000) },
  { filename: 'open.html', media_type: 'text/html', content: '<!--'.repeat(60_000) },
  { filename: 'line.txt', media_type: 'text/plain', content: 'a'.repeat(1_000_000) },
];
const message = 'Call +49 30 1234567 or write to a.b@example.com, card 4111 1111 1111 111 '.repeat(13_000);

/** Starts every attack with `width` loops each. Resolves with the answers when the signal has ended all of them. */
export async function attack(target: Target, width: number): Promise<Answers> {
  const answers: Answers = {};
  const { world } = target;
  const space = `/v1/spaces/${world.spaceId}`;
  let n = 0;
  const loops: [name: string, once: () => Promise<number>][] = [
    [
      'documents',
      () => post(target, `${space}/collections/${target.collectionId}/documents`, next(documents)),
    ],
    [
      'models',
      () =>
        post(target, `${space}/responses`, {
          input: { text: 'Why are there tides?' },
          model: next(manners),
          stream: false,
          tools: [],
          platform: { timeout_seconds: 60 },
        }),
    ],
    ['messages', () => post(target, `${space}/threads/messages`, { content: message })],
    ['refresh', () => send(target, '/v1/refresh', { Authorization: `Bearer ${target.refreshToken}` })],
  ];
  const next = <T>(values: readonly T[]): T => values[(n += 1) % values.length]!;
  const chosen = loops.filter(([name]) => target.only?.includes(name) ?? true);
  await Promise.all(
    chosen.flatMap(([name, once]) =>
      Array.from({ length: width }, async () => {
        const counted = (answers[name] ??= {});
        while (!target.signal.aborted) {
          const status = await once().catch(() => 0);
          counted[status] = (counted[status] ?? 0) + 1;
          // Refused requests are retried after a moment: the test must not be the load itself.
          if (status === 429 || status === 503 || status === 0) {
            await pause(target.pauseMs ?? 100, target.signal);
          }
        }
      }),
    ),
  );
  return answers;
}

function post(target: Target, path: string, body: object): Promise<number> {
  return send(
    target,
    path,
    { 'X-API-Key': target.world.apiKey, 'Content-Type': 'application/json' },
    JSON.stringify(body),
  );
}

async function send(
  { base, signal }: Target,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<number> {
  const answer = await fetch(`${base}${path}`, {
    method: 'POST',
    headers,
    signal,
    ...(body === undefined ? {} : { body }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((go) => {
    const timer = setTimeout(go, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), go()), { once: true });
  });
}
