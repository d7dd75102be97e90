import { createStoredCredentials } from '#adapters/credentials/stored-credentials.ts';
import { createGuardedConnect } from '#adapters/egress/guarded-connect.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createSourceProviders } from '#adapters/sources/create-source-providers.ts';
import type { SourceProvider } from '#adapters/sources/provider.ts';
import type { CredentialUse } from '#domain/capabilities/credentials/credential-source.ts';
import { openCredential } from '#domain/capabilities/credentials/open-credential.ts';
import type { SourceProviders } from '#domain/knowledge/connectors/source-providers.ts';
import type { KnowledgeWorld } from '../knowledge-world.ts';
import type { SourceServer } from './source-server.ts';

/** A registry of providers with the stored credentials of a world; servers may be added while runs go on. */
export class ReachableProviders {
  readonly sources: SourceProviders;
  readonly #origins: string[] = [];
  readonly #roots = new Map<string, string>();
  #fetch = createGuardedFetch([]);
  #connect = createGuardedConnect([]);

  constructor({ unitOfWork, secrets }: KnowledgeWorld, providers: readonly SourceProvider[]) {
    const fetch: typeof globalThis.fetch = (...request) => this.#fetch(...request);
    const open = (use: CredentialUse) =>
      unitOfWork.inTenant(use.tenantId, (em) => openCredential({ em, secrets }, use));
    this.sources = createSourceProviders({
      fetch,
      connect: (target) => this.#connect(target),
      roots: this.#roots,
      openCredential: open,
      stored: createStoredCredentials({ fetch, open }),
      providers,
    });
  }

  allow({ allowedOrigins, roots }: Pick<SourceServer, 'allowedOrigins' | 'roots'>): void {
    this.#origins.push(...allowedOrigins);
    this.#fetch = createGuardedFetch(this.#origins);
    this.#connect = createGuardedConnect(this.#origins);
    for (const [name, folder] of Object.entries(roots)) {
      this.#roots.set(name, folder);
    }
  }
}
