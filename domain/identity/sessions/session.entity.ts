import { defineEntity } from '@mikro-orm/core';

export type EndReason =
  | 'logout'
  | 'revoked'
  | 'reuse'
  | 'superseded'
  | 'provider_disabled'
  | 'provider_changed'
  | 'principal_deleted';

/** Of what ended all sessions of its provider at once, if it began before: see `endSessionsOfProvider`. */
const ofProvider = (column: string) => (session: Record<string, string>) =>
  `(select p.${column} from identity_providers p where p.tenant_id = ${session['tenantId']}
     and p.id = ${session['providerId']} and p.sessions_ended_at >= ${session['createdAt']}
     and p.sessions_ended_at < ${session['expiresAt']})`;

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
    providerEndedAt: p.datetime().nullable().formula(ofProvider('sessions_ended_at')),
    providerEndReason: p.text().$type<EndReason>().nullable().formula(ofProvider('sessions_end_reason')),
    lastUsedAt: p.datetime().defaultRaw('now()'),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

/** One sign-in of one user, until it ends or expires. */
export class Session extends schema.class {
  /** When and why it ended, by itself or with its provider; null: it has not. */
  end(): { at: Date; reason: EndReason | null } | null {
    if (this.endedAt != null) {
      return { at: this.endedAt, reason: this.endReason ?? null };
    }
    return this.providerEndedAt == null
      ? null
      : { at: this.providerEndedAt, reason: this.providerEndReason ?? null };
  }
}
schema.setClass(Session);
