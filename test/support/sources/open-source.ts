import type { AnswerLimits } from '#adapters/egress/answer-limits.ts';
import { createGuardedConnect } from '#adapters/egress/guarded-connect.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createSourceProviders } from '#adapters/sources/create-source-providers.ts';
import type { SourceProvider } from '#adapters/sources/provider.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { ListedDocument, Source } from '#domain/knowledge/connectors/source.ts';
import type { SourceServer } from './source-server.ts';

/**
 * Opens the source of a server as a run does, without a database; `stored` gives `oauth2_client` tokens.
 * @param limits shorter waits than those of `answerLimits`
 */
export function openSource(
  provider: SourceProvider,
  server: Pick<SourceServer, 'slug' | 'scopeConfig' | 'credential' | 'allowedOrigins' | 'roots'>,
  token = '',
  limits: Partial<AnswerLimits> = {},
): Promise<Source> {
  const providers = createSourceProviders({
    fetch: createGuardedFetch(server.allowedOrigins),
    limits,
    connect: createGuardedConnect(server.allowedOrigins),
    roots: new Map(Object.entries(server.roots)),
    openCredential: () =>
      Promise.resolve(server.credential && { version: 1, value: server.credential.value }),
    stored: {
      read: () =>
        Promise.resolve({
          version: 1,
          header: { name: 'Authorization', value: `Bearer ${token}` },
          token,
          secrets: [token],
        }),
      refused: () => {},
    },
    providers: [provider],
  });
  const scopeConfig = providers.parseScope(server.slug, server.scopeConfig);
  return providers.open({
    tenantId: newId(),
    spaceId: newId(),
    principalId: newId(),
    connectorId: newId(),
    providerSlug: server.slug,
    scopeConfig,
    credentialId: server.credential === null ? null : newId(),
  });
}

export interface WholeListing {
  documents: ListedDocument[];
  gone: string[];
  checkpoint: string | null;
  pages: number;
  scope: 'everything' | 'changes';
  truncated: boolean;
}

/** Lists page after page, as a run does. */
export async function listAll(
  source: Source,
  checkpoint: string | null = null,
  signal: AbortSignal = AbortSignal.timeout(60_000),
): Promise<WholeListing> {
  const documents: ListedDocument[] = [];
  const gone: string[] = [];
  let cursor: string | null = null;
  for (let pages = 1; ; pages += 1) {
    const page = await source.list({ cursor, checkpoint }, signal);
    documents.push(...page.documents);
    gone.push(...page.gone);
    if (page.next === null) {
      const { scope, truncated = false } = page;
      return { documents, gone, checkpoint: page.checkpoint, pages, scope, truncated };
    }
    cursor = page.next;
  }
}
