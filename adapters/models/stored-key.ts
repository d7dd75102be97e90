import {
  CredentialFailure,
  type CredentialSource,
  type CredentialUse,
  type UsableCredential,
} from '#domain/capabilities/credentials/credential-source.ts';
import { ModelFailure } from '#domain/capabilities/models/model-gateway.ts';

type Fetch = typeof globalThis.fetch;

/** @throws ModelFailure: the model is not called without its credential */
export async function readStored(
  source: CredentialSource | undefined,
  use: CredentialUse,
): Promise<UsableCredential> {
  try {
    if (source === undefined) {
      throw new CredentialFailure('missing');
    }
    return await source.read(use);
  } catch (error) {
    throw error instanceof CredentialFailure
      ? new ModelFailure('model_error', { retryable: error.code === 'unreachable' })
      : error;
  }
}

/** Headers in which the vendors' packages send a key. */
const keyHeaders = ['authorization', 'x-api-key', 'x-goog-api-key'];

/** A fetch that sends a credential in its own header and removes the package's key. */
export function sendingHeader(fetch: Fetch, { name, value }: UsableCredential['header']): Fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    keyHeaders.forEach((each) => headers.delete(each));
    headers.set(name, value);
    return fetch(input, { ...init, headers: [...headers] });
  };
}
