import { defineEntity } from '@mikro-orm/core';

export type EndReason =
  | 'logout'
  | 'revoked'
  | 'reuse'
  | 'provider_disabled'
  | 'provider_changed'
  | 'principal_deleted';

const schema = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    principalId: p.uuid(),
    providerId: p.uuid(),
    generation: p.integer().default(1),
    deviceHash: p.text().nullable(),
    expiresAt: p.datetime(),
    endedAt: p.datetime().nullable(),
    endReason: p.text().$type<EndReason>().nullable(),
    lastUsedAt: p.datetime().defaultRaw('now()'),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

/** One sign-in of one user, until it ends or expires. */
export class Session extends schema.class {}
schema.setClass(Session);
