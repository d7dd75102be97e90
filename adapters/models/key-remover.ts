import { LRUCache } from 'lru-cache';
import type { ModelPart } from '#domain/capabilities/models/model-gateway.ts';
import { SecretRemover } from '../egress/secret-remover.ts';

/** A shorter key is a placeholder that local servers require, and no secret. */
const minKeyLength = 16;
/** Limits how long text in other scripts is held back. */
const maxPassedOver = 64;

const removers = new LRUCache<string, SecretRemover>({ max: 50 });

function removerOf(secrets: readonly string[]): SecretRemover {
  const place = JSON.stringify(secrets);
  const remover = removers.get(place) ?? new SecretRemover(secrets);
  removers.set(place, remover);
  return remover;
}

/**
 * Removes the sent key from the parts of an answer, whatever the chunks and the form in which the server repeats it.
 * @param stored the parts of a stored credential: each is a secret however short it is
 */
export async function* withoutKey(
  apiKey: string,
  parts: AsyncIterable<ModelPart>,
  stored: readonly string[] = [],
): AsyncGenerator<ModelPart> {
  const secrets = apiKey.length < minKeyLength ? stored : [apiKey, ...stored];
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
