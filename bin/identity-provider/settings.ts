import { readFileSync } from 'node:fs';
import { z } from 'zod';

const kept = z.object({
  port: z.int(),
  clientSecret: z.string().min(32),
  cookieKey: z.string().min(32),
  jwk: z.record(z.string(), z.unknown()),
});

/** State of the demo's identity provider that survives a restart. */
export type StoredProvider = z.infer<typeof kept>;

export interface ProviderSettings extends StoredProvider {
  issuer: string;
  /** Redirect addresses that are allowed. */
  redirectUris: string[];
}

export function parseStoredProvider(text: string): StoredProvider {
  return kept.parse(JSON.parse(text));
}

/** From the file and the addresses that the launcher names. */
export function readProviderSettings(env: NodeJS.ProcessEnv): ProviderSettings {
  const file = z.string().min(1).parse(env['IDENTITY_PROVIDER_FILE']);
  const known = parseStoredProvider(readFileSync(file, 'utf8'));
  const redirectUris = z.string().min(1).parse(env['IDENTITY_PROVIDER_REDIRECTS']).split(',');
  return { ...known, issuer: `http://127.0.0.1:${known.port}`, redirectUris };
}
