import type { ConnectorDeployment } from './connector-deployment.ts';

type Query = ConnectorDeployment['query'];

export interface RunRow {
  id: string;
  tenant_id: string;
  connector_id: string;
  status: string;
  isOpen: boolean;
  /** Changes whenever the run has stored something. */
  progress: string;
}

export async function runRows(query: Query): Promise<RunRow[]> {
  return query<RunRow>(
    `select id, tenant_id, connector_id, status, status in ('queued', 'running') as "isOpen",
       concat_ws(' ', status, pages, records_fetched, deleted) as progress from sync_runs order by id`,
  );
}

export const runningRuns = async (query: Query): Promise<RunRow[]> =>
  (await runRows(query)).filter(({ status }) => status === 'running');

export const openRuns = async (query: Query): Promise<RunRow[]> =>
  (await runRows(query)).filter(({ isOpen }) => isOpen);

/** Names and texts of the documents of a collection, as searches find them. */
export async function storedTexts(
  query: Query,
  collectionId: string,
): Promise<[name: string, text: string][]> {
  const rows = await query<{ name: string; text: string | null }>(
    `select d.filename as name, string_agg(c.text, ' ' order by c.position) as text
     from documents d left join chunks c on c.tenant_id = d.tenant_id and c.document_id = d.id and c.generation = d.generation
     where d.collection_id = $1 group by d.id, d.filename`,
    [collectionId],
  );
  return rows.map(({ name, text }) => [name, text ?? '']);
}

/** Rows that contradict each other, and runs without exactly one event of their end. */
export async function oddRows(query: Query): Promise<string[]> {
  const rows = await query<{ odd: string }>(
    `select 'run ' || r.status || ' without its time' as odd from sync_runs r
       where (r.completed_at is null) <> (r.status in ('queued', 'running'))
     union all select 'run that ended as ' || r.status || ' ' || coalesce(r.error_code, '') from sync_runs r
       where r.status <> 'completed'
     union all select 'run with ' || count(e.id) || ' events of its end' from sync_runs r
       left join events e on e.tenant_id = r.tenant_id and e.metadata->>'sync_run_id' = r.id::text
         and e.event_type like 'collection.sync\\_%'
       group by r.tenant_id, r.id having count(e.id) <> 1
     union all select count(*) || ' events ' || e.event_type || ' of one run' from events e
       where e.metadata ? 'sync_run_id' group by e.tenant_id, e.metadata->>'sync_run_id', e.event_type having count(*) > 1
     union all select 'document without its row ' || d.filename from documents d
       where not exists (select from source_documents s where s.tenant_id = d.tenant_id and s.document_id = d.id)
     union all select 'row ' || s.state || ' of ' || s.ref from source_documents s
       left join documents d on d.tenant_id = s.tenant_id and d.id = s.document_id
       where s.state <> 'stored' or d.id is null or s.is_gone
     union all select 'message that waits: ' || o.workflow_type from outbox o
       where o.workflow_type in ('runConnector', 'syncConnector') and o.created_at < now() - interval '1 minute'`,
  );
  return rows.map(({ odd }) => odd);
}
