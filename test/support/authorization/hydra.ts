import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { createDatabase, dropDatabase } from '../database-admin.ts';
import { databaseUrl } from '../database-urls.ts';
import { claimPort } from '../free-port.ts';
import type { KnownToken } from './authorization-server.ts';
import { started, type ForeignServer } from './foreign-servers.ts';
import { startHydraPages } from './hydra-pages.ts';
import { findHydra } from './hydra-program.ts';
import { startProtectedServer } from './protected-server.ts';

const run = promisify(execFile);
const migrateMs = 60_000;

/** Ory Hydra before a tool server of ours, on a database of its own; the reason where its program is not here. */
export async function startHydra(): Promise<ForeignServer | { missing: string }> {
  const found = findHydra(process.env);
  if ('missing' in found) return found;
  const { adminUrl } = inject('postgres');
  const name = `hydra_${randomBytes(6).toString('hex')}`;
  await createDatabase(adminUrl, { name });
  const [port, adminPort] = [await claimPort(), await claimPort()];
  const [issuer, admin] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${adminPort}`];
  const pages = await startHydraPages(admin);
  const env = {
    DSN: databaseUrl(adminUrl, name),
    SECRETS_SYSTEM: randomBytes(16).toString('hex'),
    SERVE_PUBLIC_HOST: '127.0.0.1',
    SERVE_PUBLIC_PORT: String(port),
    SERVE_ADMIN_HOST: '127.0.0.1',
    SERVE_ADMIN_PORT: String(adminPort),
    URLS_SELF_ISSUER: issuer,
    URLS_LOGIN: `${pages.origin}/login`,
    URLS_CONSENT: `${pages.origin}/consent`,
    OIDC_DYNAMIC_CLIENT_REGISTRATION_ENABLED: 'true',
    WEBFINGER_OIDC_DISCOVERY_CLIENT_REGISTRATION_URL: `${issuer}/oauth2/register`,
    SQA_OPT_OUT: 'true',
  };
  await run(found.path, ['migrate', 'sql', 'up', '--read-from-env', '--yes'], { env, timeout: migrateMs });
  // Without TLS, which it demands otherwise.
  const hydra = await started([found.path, 'serve', 'all', '--dev'], env, [issuer, admin]);
  const resource = await startProtectedServer({ authorization: { issuer, find } });

  async function find(token: string): Promise<KnownToken | null> {
    const answer = await fetch(`${admin}/admin/oauth2/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token }),
    });
    const { active, sub, client_id, scope = '', exp } = (await answer.json()) as Introspection;
    return active
      ? {
          sub,
          clientId: client_id,
          scopes: scope.split(' '),
          resource: resource.url,
          expiresAt: exp,
          jkt: null,
        }
      : null;
  }

  return {
    url: resource.url,
    origins: [issuer, resource.origin],
    stop: async () => {
      await Promise.all([hydra.stop(), resource.stop(), pages.stop()]);
      await dropDatabase(adminUrl, name);
    },
  };
}

/** RFC 7662; the token's own members are there when it is active. */
interface Introspection {
  active: boolean;
  sub: string;
  client_id: string;
  scope?: string;
  exp: number;
}
