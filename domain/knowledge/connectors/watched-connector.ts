import type { EntityManager } from '@mikro-orm/postgresql';
import { SourceDocument } from './source-document.entity.ts';
import { maxWatchedRefs, watchableRefs } from './watchable-refs.ts';

/** What a watch of a connector's source depends on. */
export interface WatchState {
  /** Scope, credential with its version and tool server with its settings: with another one the watch begins again. */
  source: string;
  /** Changes with each run that ended well, which may have found new documents. */
  synced: string;
}

/** The state of a connector whose source may be watched, in one query; null: it is not active, or gone. */
export async function readWatchState(em: EntityManager, connectorId: string): Promise<WatchState | null> {
  const [row] = await em.execute<WatchState[]>(
    `select jsonb_build_array(c.scope_config, k.id, k.version, c.client_credential_id,
         s.url, s.status = 'disabled', s.credential_ref, s.connection_mode, m.id)::text as source,
       coalesce(c.last_synced_at::text, '') as synced
     from connectors c
     join tenants t on t.tenant_id = c.tenant_id and t.status not in ('deletion_scheduled', 'deleting')
     join collections l on l.tenant_id = c.tenant_id and l.id = c.collection_id and l.deleted_at is null
     left join mcp_servers s on s.tenant_id = c.tenant_id and s.id = c.server_id
     left join mcp_connections m
       on m.tenant_id = s.tenant_id and m.server_id = s.id and m.owner_id is null and m.withdrawn_at is null
     left join credentials k on k.tenant_id = c.tenant_id and k.id = coalesce(c.credential_id, s.credential_id)
     where c.id = ? and c.status = 'active'`,
    [connectorId],
  );
  return row ?? null;
}

/** References of the documents that were known first, as many as one subscription may name. */
export async function watchedRefs(em: EntityManager, connectorId: string): Promise<string[]> {
  const found = await em.find(
    SourceDocument,
    { connectorId, state: 'stored' },
    { fields: ['ref'], orderBy: { createdAt: 'asc', id: 'asc' }, limit: maxWatchedRefs },
  );
  return watchableRefs(found.map(({ ref }) => ref));
}
