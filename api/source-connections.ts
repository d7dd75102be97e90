import type { FastifyRequest } from 'fastify';
import type { ShownConnection } from '#domain/capabilities/connections/read-connection.ts';
import type { ConnectorRef } from '#domain/knowledge/connectors/find-connector.ts';
import { beginSourceAuthorization } from '#domain/knowledge/source-connections/begin-authorization.ts';
import { disconnectSource } from '#domain/knowledge/source-connections/disconnect.ts';
import { readSourceConnection } from '#domain/knowledge/source-connections/read-connection.ts';
import type { GatewayDependencies } from './compose.ts';
import { connectionSettings, popupOf, revokeNow } from './connections.ts';

export interface ConnectorPath {
  space_id: string;
  collection_id: string;
  connector_id: string;
}

export function refOf(path: ConnectorPath): ConnectorRef {
  return { collectionId: path.collection_id, connectorId: path.connector_id };
}

/** Begins to connect an account for a connector. */
export async function initiateSourceConnection(
  deps: GatewayDependencies,
  request: FastifyRequest,
  { redirectUri, ...path }: ConnectorPath & { redirectUri: string },
): Promise<{ popupUrl: string; expiresAt: Date }> {
  const settings = connectionSettings(deps);
  const begun = await request.inContext(path.space_id, (ctx) =>
    beginSourceAuthorization(ctx, { providers: deps.sources, settings }, { ...refOf(path), redirectUri }),
  );
  return popupOf(settings, begun);
}

export function readConnectionOf(
  deps: GatewayDependencies,
  request: FastifyRequest,
  path: ConnectorPath,
): Promise<ShownConnection> {
  return request.inContext(path.space_id, (ctx) => readSourceConnection(ctx, deps.sources, refOf(path)));
}

/** Ends the connection of a connector, and revokes its tokens. */
export async function endSourceConnection(
  deps: GatewayDependencies,
  request: FastifyRequest,
  path: ConnectorPath,
): Promise<void> {
  const id = await request.inContext(path.space_id, (ctx) => disconnectSource(ctx, refOf(path)));
  await revokeNow(deps, request, id);
}
