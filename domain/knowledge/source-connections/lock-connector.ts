import { LockMode } from '@mikro-orm/core';
import { authorize } from '#domain/foundation/access/policy.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { LockHolder } from '#domain/capabilities/connections/complete-authorization.ts';
import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import type { SourceCatalogue } from '#domain/knowledge/connectors/source-providers.ts';
import { holderOf } from './read-connection.ts';
import { resumeConnector } from './resume-connector.ts';

/** The holder of an attempt for a connector. @throws `missing_permission`, `connector_not_found` */
export function lockConnectorHolder(providers: SourceCatalogue): LockHolder {
  return async (ctx, attempt) => {
    authorize(ctx.caller, 'connectors.update');
    const where = { id: attempt.connectorId ?? '', spaceId: attempt.spaceId };
    const connector = await ctx.em.findOne(Connector, where, {
      lockMode: LockMode.PESSIMISTIC_WRITE,
      refresh: true,
    });
    if (connector === null || connector.status === 'deleting') {
      throw notFound('connector_not_found');
    }
    const { providerSlug, scopeConfig, clientCredentialId = null } = connector;
    const { origin } = providers.endpoint(providerSlug, scopeConfig);
    const isSame =
      origin !== null &&
      clientCredentialId !== null &&
      origin === attempt.target.source?.origin &&
      clientCredentialId === attempt.clientCredentialId;
    return {
      shown: holderOf(connector),
      key: isSame ? { connectorId: connector.id, origin } : null,
      connected: () => resumeConnector(ctx, connector),
    };
  };
}
