import type { Connected, SyncSite } from './connected.ts';

const samples = 20;

/** Documents of a finished run are found by their words, through the gateway. @throws unless each is the first result */
export async function expectFound(
  { admin, lab, world }: SyncSite,
  { collectionId }: Pick<Connected, 'collectionId'>,
): Promise<void> {
  const { rows } = await admin.query<{ id: string; text: string }>(
    `select document_id as id, text from chunks where tenant_id = $1 and collection_id = $2
     order by md5(document_id::text), position limit $3`,
    [world.tenantId, collectionId, samples],
  );
  for (const { id, text } of rows) {
    const answer = await fetch(
      `${lab.gatewayUrl}/api/v1/spaces/${world.spaceId}/tools/knowledge_search/execute`,
      {
        method: 'POST',
        headers: { 'x-api-key': world.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ query: text.slice(0, 200), max_results: 5, alpha: 0 }),
      },
    );
    const body = await answer.text();
    if (!answer.ok || !body.includes(id)) throw new Error(`A document is not found: ${body.slice(0, 500)}`);
  }
  if (rows.length === 0) throw new Error('Nothing is stored.');
}
