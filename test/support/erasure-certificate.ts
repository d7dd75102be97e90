import type { Certificate } from '#domain/operations/erasure-proof/certificate.ts';

const at = '2026-11-25T10:00:00.000Z';

/** What a certificate says of a small tenant of which nothing is left. */
export function certificateOf(tenantId: string, deletionId: string): Certificate {
  return {
    version: 1,
    tenant_id: tenantId,
    deletion_id: deletionId,
    reason_code: 'customer_request',
    software_version: '2026.11.24',
    requested_at: at,
    began_at: at,
    finished_at: at,
    erased_by_key: { key_ids: ['0192b0a0-0000-7000-8000-000000000003'], destroyed_at: at },
    erased_by_row: { rows_before: { items: 3 }, rows_erased: { items: 3 }, bytes: { postgresql: 7 } },
    external_revocations: [{ kind: 'tool_server', id: 'x', outcome: 'revoked' }],
    workflow_histories_deleted: 2,
    event_chain: { last_hash: 'ab', event_count: 5, anchored_at: null },
    verification: {
      verified_at: at,
      tables: { items: 0 },
      shared: {},
      bytes: 0,
      workflows: 0,
      sampled_ids: 9,
    },
  };
}
