import type { FastifyRequest } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { planCheck } from '#domain/knowledge/connectors/plan-check.ts';
import { planUpdate, type ConnectorChange } from '#domain/knowledge/connectors/plan-update.ts';
import { probeSource, type CheckResult } from '#domain/knowledge/connectors/probe-source.ts';
import type { SourceUse } from '#domain/knowledge/connectors/source-providers.ts';
import { updateConnector } from '#domain/knowledge/connectors/update-connector.ts';
import type { GatewayDependencies } from './compose.ts';
import type { CreateConnectorBody, UpdateConnectorBody } from './contract/connectors.ts';
import { whileConnected } from './while-connected.ts';

type Parts = Pick<GatewayDependencies, 'sources' | 'checkPlaces'>;

interface CollectionPath {
  space_id: string;
  collection_id: string;
}

const late: CheckResult = {
  ok: false,
  code: 'source_unreachable',
  message: 'The source has not answered within 10 seconds.',
};
const faulty: CheckResult = {
  ok: false,
  code: 'internal_error',
  message: 'The source could not be checked; the log of the gateway says why.',
};

/** Whether a connector with this body could reach its source; nothing is stored. */
export async function checkConnector(
  deps: Parts,
  request: FastifyRequest,
  { space_id: spaceId, collection_id: collectionId }: CollectionPath,
  body: CreateConnectorBody,
): Promise<CheckResult> {
  const use = await request.inContext(spaceId, (ctx) =>
    planCheck(ctx, deps.sources, { collectionId, ...fromBody(body) }),
  );
  return checkSource(deps, request, use);
}

/**
 * Changes a connector. Where the change needs a source that answers, it is checked before, outside of any transaction.
 * @throws `connector_check_failed`, and what `updateConnector` throws
 */
export async function changeConnector(
  deps: Parts,
  request: FastifyRequest,
  path: CollectionPath & { connector_id: string },
  body: UpdateConnectorBody,
): Promise<Connector> {
  const change: ConnectorChange = {
    collectionId: path.collection_id,
    connectorId: path.connector_id,
    status: body.status,
    credentialId: body.credential_id,
    clientCredentialId: body.client_credential_id,
    syncSchedule: body.sync_schedule,
    ...(body.scope_config === undefined ? {} : { scopeConfig: body.scope_config }),
  };
  const use = await request.inContext(path.space_id, (ctx) => planUpdate(ctx, deps.sources, change));
  if (use !== null) {
    const result = await checkSource(deps, request, use);
    if (!result.ok) {
      throw new DomainError('connector_check_failed', `${result.code}: ${result.message}`);
    }
  }
  return request.inContext(path.space_id, (ctx) => updateConnector(ctx, deps.sources, change, use));
}

/** A body with what is left out. */
export function fromBody(body: CreateConnectorBody) {
  return {
    providerSlug: body.provider_slug,
    scopeConfig: body.scope_config,
    credentialId: body.credential_id ?? null,
    clientCredentialId: body.client_credential_id ?? null,
    syncSchedule: body.sync_schedule ?? null,
  };
}

async function checkSource(
  { sources, checkPlaces }: Parts,
  request: FastifyRequest,
  use: SourceUse,
): Promise<CheckResult> {
  const probe = (signal: AbortSignal) =>
    probeSource(sources, use, signal).catch((error: unknown) => {
      if (!signal.aborted) {
        request.log.error({ fault: error instanceof Error ? error.name : 'unknown' }, 'check of a source');
      }
      return faulty;
    });
  return whileConnected(request, (left) => checkPlaces.run(use.tenantId, left, probe, late));
}
