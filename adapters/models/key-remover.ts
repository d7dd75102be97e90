import { LRUCache } from 'lru-cache';
import type { ModelPart } from '#domain/capabilities/models/model-gateway.ts';
import { SecretRemover } from '../egress/secret-remover.ts';

/** A shorter one is a word that local servers ask for, and no secret. */
const shortestKey = 16;
/** Text in other scripts is not held back for long. */
const maxPassedOver = 64;

const removers = new LRUCache<string, SecretRemover>({ max: 50 });

function removerOf(secrets: readonly string[]): SecretRemover {
  const place = JSON.stringify(secrets);
  const remover = removers.get(place) ?? new SecretRemover(secrets);
  removers.set(place, remover);
  return remover;
}

/**
 * The parts of an answer without the key that was sent, in whatever pieces and form the server says it back.
 * @param stored what a stored credential consists of: it is a secret however short it is
 */
export async function* withoutKey(
  apiKey: string,
  parts: AsyncIterable<ModelPart>,
  stored: readonly string[] = [],
): AsyncGenerator<ModelPart> {
  const secrets = apiKey.length < shortestKey ? stored : [apiKey, ...stored];
  if (secrets.length === 0) {
    yield* parts;
    return;
  }
  const remover = removerOf(secrets);
  const stream = remover.stream(maxPassedOver);
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
