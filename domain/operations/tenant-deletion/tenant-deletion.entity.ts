import { defineEntity } from '@mikro-orm/core';
import type { Certificate } from '#domain/operations/erasure-proof/certificate.ts';
import type { DeletionStatus, DeletionStep, Revocation } from './deletion-status.ts';

const schema = defineEntity({
  name: 'TenantDeletion',
  // Erasures delete rows of the schema `public`; this row outlives its tenant.
  schema: 'app',
  tableName: 'tenant_deletions',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    status: p.text().$type<DeletionStatus>(),
    reasonCode: p.text(),
    priorStatus: p.text().$type<'active' | 'suspended'>(),
    requestedBy: p.uuid(),
    requestedAt: p.datetime().defaultRaw('now()'),
    purgeAfter: p.datetime(),
    warnedAt: p.datetime().nullable(),
    startedAt: p.datetime().nullable(),
    endedAt: p.datetime().nullable(),
    tokenHash: p.text(),
    /** When the holder of the token had the certificate first. */
    certificateReadAt: p.datetime().nullable(),
    step: p.text().$type<DeletionStep>().default('scheduled'),
    tableName: p.text().nullable(),
    rowsDone: p.bigint('number').default(0),
    rowsCounted: p.bigint('number').nullable(),
    /** Rows of each table when the erasure began. */
    counted: p.json<Record<string, number>>().nullable(),
    /** Rows of each table that were erased. */
    erased: p.json<Record<string, number>>().defaultRaw("'{}'"),
    revocations: p.json<Revocation[]>().defaultRaw("'[]'"),
    keyIds: p.json<string[]>().defaultRaw("'[]'"),
    keyDestroyedAt: p.datetime().nullable(),
    /** Bytes of each store when the erasure began. */
    bytes: p.json<Record<string, number>>().nullable(),
    eventChain: p.json<NonNullable<Certificate['event_chain']>>().nullable(),
    sampledIds: p.json<string[]>().defaultRaw("'[]'"),
    /** What the verifier found, last. */
    proof: p.json<Certificate['verification']>().nullable(),
    historiesDeleted: p.integer().default(0),
    failure: p.json<{ step: DeletionStep; reason: string; at: string }>().nullable(),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

export class TenantDeletion extends schema.class {
  isOpen(): boolean {
    return this.status === 'deletion_scheduled' || this.status === 'deleting';
  }
}
schema.setClass(TenantDeletion);
