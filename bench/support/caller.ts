import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './stamps.ts';
import type { Lab } from './lab.ts';

const done = 'data: [DONE]\n\n';

export interface Streamed {
  responseId: string;
  /** The whole SSE text. */
  text: string;
  /** Microseconds from the call to the first text of the model. */
  firstTextUs: number;
}

export interface StreamTarget {
  url: string;
  headers?: Record<string, string>;
  body: unknown;
  agent?: Agent;
  /** The event on the wire that carries the first text. */
  mark: string;
  /** Every piece of the body as it comes, with its time. */
  onPiece?: (piece: string, at: number) => void;
}

/** The gateway allows a retry. */
class Busy extends Error {}

/** How often a gateway asked for a retry in this run. */
export const busy = { count: 0 };

/** Posts and reads the stream to its end. @throws unless the answer is 200 and complete */
export function postStream(target: StreamTarget): Promise<Streamed> {
  const startedAt = now();
  const { url, headers = {}, agent, mark, onPiece } = target;
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        ...(agent ? { agent } : {}),
      },
      (answer) => {
        let text = '';
        let firstTextUs = 0;
        answer.setEncoding('utf8');
        answer.on('data', (piece: string) => {
          const at = now();
          text += piece;
          if (firstTextUs === 0 && text.includes(mark)) firstTextUs = at - startedAt;
          onPiece?.(piece, at);
        });
        answer.once('error', reject);
        answer.once('end', () => {
          if (answer.statusCode === 503) return reject(new Busy());
          if (answer.statusCode !== 200 || !text.endsWith(done))
            return reject(new Error(`${url} answered ${answer.statusCode}: ${text.slice(-300)}`));
          resolve({ responseId: String(answer.headers['x-response-id'] ?? ''), text, firstTextUs });
        });
      },
    );
    call.once('error', reject);
    call.setNoDelay(true);
    call.end(JSON.stringify(target.body));
  });
}

export const callers = new Agent({ keepAlive: true, maxSockets: Infinity });

export interface Asked {
  model: string;
  tools?: boolean;
  onPiece?: StreamTarget['onPiece'];
}

/**
 * One response of ours as a client makes it: created with a key, read as a stream, and retried after a moment
 * where the gateway is too busy to accept it.
 * @throws unless it completed
 */
export async function respond(lab: Lab, asked: Asked): Promise<Streamed> {
  for (;;) {
    try {
      return await respondOnce(lab, asked);
    } catch (error) {
      if (!(error instanceof Busy)) throw error;
      busy.count += 1;
      await sleep(200);
    }
  }
}

async function respondOnce(lab: Lab, asked: Asked): Promise<Streamed> {
  const streamed = await postStream({
    url: `${lab.gatewayUrl}/api/v1/spaces/${lab.world.spaceId}/responses`,
    headers: { 'x-api-key': lab.world.apiKey },
    agent: callers,
    mark: 'event: response.output_text.delta',
    body: {
      model: asked.model,
      input: { text: 'Why are there tides?' },
      stream: true,
      ...(asked.tools === true ? {} : { tools: [] }),
    },
    ...(asked.onPiece ? { onPiece: asked.onPiece } : {}),
  });
  if (!streamed.text.includes('event: response.completed'))
    throw new Error(`A response did not complete: ${streamed.text.slice(-300)}`);
  return streamed;
}

/** The model called directly. */
export function askDirectly(
  url: string,
  model: string,
  onPiece?: StreamTarget['onPiece'],
): Promise<Streamed> {
  return postStream({
    url: `${url}/v1/chat/completions`,
    agent: callers,
    mark: '"content"',
    body: { model, messages: [{ role: 'user', content: 'Why are there tides?' }] },
    ...(onPiece ? { onPiece } : {}),
  });
}
