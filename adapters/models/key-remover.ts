import { LRUCache } from 'lru-cache';
import type { ModelPart } from '#domain/capabilities/models/model-gateway.ts';
import { SecretRemover } from '../egress/secret-remover.ts';

/** A shorter one is a word that local servers ask for, and no secret. */
const shortestKey = 16;
/** Text in other scripts is not held back for long. */
const mostPassedOver = 64;

const removers = new LRUCache<string, SecretRemover>({ max: 50 });

function removerOf(apiKey: string): SecretRemover {
  const remover = removers.get(apiKey) ?? new SecretRemover([apiKey]);
  removers.set(apiKey, remover);
  return remover;
}

/** The parts of an answer without the key that was sent, in whatever pieces and form the server says it back. */
export async function* withoutKey(
  apiKey: string,
  parts: AsyncIterable<ModelPart>,
): AsyncGenerator<ModelPart> {
  if (apiKey.length < shortestKey) {
    yield* parts;
    return;
  }
  const remover = removerOf(apiKey);
  const stream = remover.stream(mostPassedOver);
  for await (const part of parts) {
    const text = part.type === 'text' ? stream.push(part.text) : stream.end();
    if (text !== '') {
      yield { type: 'text', text };
    }
    if (part.type === 'run') {
      yield* remover.text(part.id) === part.id ? [part] : [];
    } else if (part.type !== 'text') {
      yield remover.value(part);
    }
  }
}
