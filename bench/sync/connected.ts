import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { SourceServer } from '#test/support/sources/source-server.ts';
import type { World } from '#test/support/world.ts';
import type { Lab } from '../support/lab.ts';

const pollMs = 20;
const maxMs = 3_600_000;

export interface SyncSite {
  lab: Lab;
  admin: Client;
  /** Whose documents are synchronised; the responses beside it are of the lab's first tenant. */
  world: World;
}

export interface Connected {
  collectionId: string;
  connectorId: string;
  /** One run from its request to its end. */
  sync(): Promise<Synced>;
}

export interface Synced {
  seconds: number;
  fetched: number;
  added: number;
  updated: number;
  unchanged: number;
  skipped: number;
}

/** A connector of a source in a collection of its own, made as a client makes it. */
export async function connect(
  site: SyncSite,
  server: Pick<SourceServer, 'slug' | 'scopeConfig' | 'credential'>,
  scope: Record<string, unknown> = {},
): Promise<Connected> {
  const { id: collectionId } = await post<{ id: string }>(site, 'collections', { name: server.slug });
  const { credential } = server;
  let credentialId: string | null = null;
  if (credential !== null) {
    const { kind, ...value } = credential.value;
    const body = { name: newId(), kind, origin: credential.origin, value };
    credentialId = (await post<{ id: string }>(site, 'credentials', body)).id;
  }
  const { id: connectorId } = await post<{ id: string }>(site, `collections/${collectionId}/connectors`, {
    provider_slug: server.slug,
    scope_config: { ...server.scopeConfig, ...scope },
    credential_id: credentialId,
    sync_schedule: { type: 'manual' },
  });
  const path = `collections/${collectionId}/connectors/${connectorId}/sync`;
  const sync = async () => {
    const startedAt = performance.now();
    const { id } = await post<{ id: string }>(site, path, {});
    const run = await ended(site, id);
    return { ...run, seconds: (performance.now() - startedAt) / 1_000 };
  };
  return { collectionId, connectorId, sync };
}

async function ended({ admin, world }: SyncSite, runId: string): Promise<Omit<Synced, 'seconds'>> {
  for (let waitedMs = 0; waitedMs < maxMs; waitedMs += pollMs) {
    const { rows } = await admin.query<
      Omit<Synced, 'seconds'> & { status: string; over: boolean; error: string }
    >(
      `select status, completed_at is not null as over, concat_ws(': ', error_code, error_text) as error,
         records_fetched as fetched, added, updated, unchanged, skipped
       from sync_runs where tenant_id = $1 and id = $2`,
      [world.tenantId, runId],
    );
    const [run] = rows;
    if (run?.over === true) {
      if (run.status !== 'completed') throw new Error(`The run is ${run.status}. ${run.error}`);
      return run;
    }
    await sleep(pollMs);
  }
  throw new Error('The run did not end in time.');
}

async function post<T>({ lab, world }: SyncSite, path: string, body: object): Promise<T> {
  const answer = await fetch(`${lab.gatewayUrl}/api/v1/spaces/${world.spaceId}/${path}`, {
    method: 'POST',
    headers: { 'x-api-key': world.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { data: T }).data;
}
