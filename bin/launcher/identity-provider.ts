import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { parseStoredProvider, type StoredProvider } from '../identity-provider/settings.ts';
import { readIfPresent, writePrivately } from './data-directory.ts';
import { findFreePort, isFree } from './ports.ts';

/** The demo's identity provider, as the other processes need to know it. */
export interface DemoProvider {
  file: string;
  issuer: string;
  clientSecret: string;
}

/**
 * Its keys are stored, so that signatures survive a restart. Its port is reused while it is free, because the
 * address is part of the issuer's name.
 */
export async function prepareIdentityProvider(folder: string): Promise<DemoProvider> {
  const file = join(folder, 'identity-provider.json');
  const known = readStoredProvider(file);
  const kept: StoredProvider =
    known !== undefined && (await isFree(known.port))
      ? known
      : { ...(known ?? newProvider()), port: await findFreePort() };
  writePrivately(file, `${JSON.stringify(kept)}\n`);
  return { file, issuer: `http://127.0.0.1:${kept.port}`, clientSecret: kept.clientSecret };
}

function readStoredProvider(file: string): StoredProvider | undefined {
  try {
    return parseStoredProvider(readIfPresent(file) ?? '');
  } catch {
    return undefined;
  }
}

function newProvider(): Omit<StoredProvider, 'port'> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = {
    ...privateKey.export({ format: 'jwk' }),
    alg: 'ES256',
    use: 'sig',
    kid: randomBytes(8).toString('hex'),
  };
  return {
    clientSecret: randomBytes(32).toString('base64url'),
    cookieKey: randomBytes(32).toString('base64url'),
    jwk,
  };
}
