import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { stampedToken } from '../support/stamps.ts';

/**
 * A model that costs next to nothing, in the Chat Completions format. Its name sets its behaviour:
 * `instant-<n>` calls `knowledge_search` n times and then answers at once, `paced-<n>-<ms>` answers n tokens
 * at that interval, each with the time at which it was written, and `silent` sends one word and then nothing.
 */
interface Asked {
  model: string;
  messages: { role: string }[];
}

const answer = 'The moon pulls at the sea, and the sea follows it around the earth twice a day.';
let requests = 0;

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify({ requests }));
    return;
  }
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    requests += 1;
    response.socket?.setNoDelay(true);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    void speak(JSON.parse(Buffer.concat(parts).toString()) as Asked, response);
  });
});

async function speak({ model, messages }: Asked, response: ServerResponse): Promise<void> {
  const [manner, ...numbers] = model.split('-');
  const [first = 0, second = 0] = numbers.map(Number);
  const rounds = messages.filter((each) => each.role === 'tool').length;
  switch (manner) {
    case 'instant':
      response.end(rounds < first ? callText(rounds) : answerText);
      return;
    case 'paced':
      for (let i = 0; i < first && !response.destroyed; i += 1) {
        await sleep(second);
        response.write(delta({ content: stampedToken() }));
      }
      response.end(ending('stop'));
      return;
    default:
      response.write(delta({ content: 'Well' }));
  }
}

function chunk(choice: object, usage: object | null = null): string {
  const common = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench' };
  return `data: ${JSON.stringify({ ...common, choices: [choice], usage })}\n\n`;
}

function delta(content: object, finish: string | null = null): string {
  return chunk({ index: 0, delta: content, finish_reason: finish });
}

function ending(finish: string): string {
  const usage = { prompt_tokens: 20, completion_tokens: 20, total_tokens: 40 };
  return `${delta({}, finish)}data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [], usage })}\n\ndata: [DONE]\n\n`;
}

const answerText =
  answer
    .match(/.{1,10}/g)!
    .map((piece) => delta({ content: piece }))
    .join('') + ending('stop');

function callText(round: number): string {
  const call = { name: 'knowledge_search', arguments: JSON.stringify({ query: `tides ${round}` }) };
  return (
    delta({ tool_calls: [{ index: 0, id: `call_${round}`, type: 'function', function: call }] }) +
    ending('tool_calls')
  );
}

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
process.stdin.on('end', () => process.exit()).resume();
