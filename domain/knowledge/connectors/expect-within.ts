import type { EntityManager } from '@mikro-orm/postgresql';
import type { Connector } from './connector.entity.ts';

/** After so many seconds without a sign of life, the sweep wakes the connector's actor. */
export async function expectWithin(
  em: EntityManager,
  { tenantId, id }: Pick<Connector, 'tenantId' | 'id'>,
  seconds: number | null,
): Promise<void> {
  await em.execute(
    'update connectors set due_at = now() + make_interval(secs => ?) where tenant_id = ? and id = ?',
    [seconds, tenantId, id],
  );
}
