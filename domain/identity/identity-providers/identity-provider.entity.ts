import { defineEntity } from '@mikro-orm/core';
import type { Provisioning, SigningAlg } from './provider-settings.ts';

const schema = defineEntity({
  name: 'IdentityProvider',
  tableName: 'identity_providers',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    slug: p.text(),
    displayName: p.text(),
    issuer: p.text(),
    clientId: p.text(),
    clientSecret: p.text().nullable(),
    signingAlg: p.text().$type<SigningAlg>(),
    extraAudiences: p.array().default([]),
    redirectUris: p.array().default([]),
    provisioning: p.text().$type<Provisioning>().default('known'),
    strictRotation: p.boolean().default(false),
    /** See `requireConfirmed`; null: the operator, or before providers had this. */
    confirmedBy: p.uuid().nullable(),
    status: p.text().$type<'active' | 'disabled'>().default('active'),
    /** The sessions that began before have ended: see `endSessionsOfProvider`. */
    sessionsEndedAt: p.datetime().nullable(),
    sessionsEndReason: p.text().$type<'provider_disabled' | 'provider_changed'>().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

/** An OpenID provider with which a tenant's users sign in. */
export class IdentityProvider extends schema.class {}
schema.setClass(IdentityProvider);
