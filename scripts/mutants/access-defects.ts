import type { Defect } from './defect.ts';

const escalation = 'test/api/provider-escalation.test.ts';

/**
 * In who may create identities and credentials, and in the handling of unauthenticated requests at the
 * gateway.
 */
export const accessDefects: readonly Defect[] = [
  {
    name: 'provider registered without the rights of its identities',
    file: 'domain/identity/identity-providers/add-provider.ts',
    replace: [
      ['  await requireProviderRights(ctx, { id, provisioning: input.provisioning });\n', ''],
      [`import { requireProviderRights } from './require-provider-rights.ts';\n`, ''],
    ],
    test: escalation,
    caughtBy: 'registers none that lets anybody in',
  },
  {
    name: 'client of a provider changed by whoever manages providers',
    file: 'domain/identity/identity-providers/update-provider.ts',
    replace: [
      ['displayName: _name, status, ...others', 'displayName: _name, clientId: _client, status, ...others'],
    ],
    test: escalation,
    caughtBy: 'does not change the client of a provider',
  },
  {
    name: 'limit for each IPv6 address of a network',
    file: 'api/limits/address-key.ts',
    replace: [['if (isIP(plain) !== 6) {', 'if (isIP(plain) !== 0) {']],
    test: 'test/api/limits.test.ts',
    caughtBy: 'counts sign-ins of an IPv6 network behind a trusted proxy together',
  },
  {
    name: 'plain fingerprint of a body with a secret',
    file: 'domain/identity/identity-providers/add-provider.ts',
    replace: [
      ['keyed(ctx, input.idempotency)', 'input.idempotency'],
      ['claimKey, keyed, type', 'claimKey, type'],
    ],
    test: 'test/api/credentials.test.ts',
    caughtBy: 'is registered once for a key, whose fingerprint no reader',
  },
  {
    name: 'new users of a provider whose manager has left',
    file: 'domain/identity/sign-in/admit-identity.ts',
    replace: [
      ['  await requireConfirmed({ em, secrets, origin }, provider);\n', ''],
      [`import { requireConfirmed } from '#domain/identity/identity-providers/require-confirmed.ts';\n`, ''],
    ],
    test: 'test/api/provider-confirmation.test.ts',
    caughtBy: 'admits no new user when it lost its role',
  },
  {
    name: 'invite accepted with an identity of a provider whose manager has left',
    file: 'domain/identity/api-keys/credential-makers.ts',
    replace: [['and p.confirmed_by <> s.principal_id', 'and p.confirmed_by <> s.principal_id and false']],
    test: 'test/api/provider-confirmation.test.ts',
    caughtBy: 'accepts no invite with permissions that the manager of the provider lost',
  },
  {
    name: 'identities that survive a change of client',
    file: 'domain/identity/identity-providers/unlink-identities.ts',
    replace: [
      [
        'delete from external_identities where provider_id = ? returning',
        'delete from external_identities where provider_id = ? and false returning',
      ],
    ],
    test: escalation,
    caughtBy: 'has no session, no open sign-in and no identity left',
  },
  {
    name: 'refresh that writes to every token of its session',
    file: 'domain/identity/sessions/refresh-session.ts',
    replace: [
      [
        `and k.tenant_id = ? and k.session_id = ? and k.id = ?
       and k.expires_at < least(s.expires_at, now() + make_interval(secs => ?))`,
        `and k.tenant_id = ? and k.session_id = ? and (k.id = ? or true)
       and (k.expires_at < least(s.expires_at, now() + make_interval(secs => ?)) or true)`,
      ],
    ],
    test: 'test/api/refresh-brake.test.ts',
    caughtBy: 'keeps a bounded number of rows',
  },
  {
    name: 'invite accepted with a key that somebody with less made before',
    file: 'domain/workspace/invites/answer-invite.ts',
    replace: [['  await requireMakersOfNoMore(ctx, spaceId, roleKey);\n', '']],
    test: 'test/api/principals.test.ts',
    caughtBy: 'accepts no such invite that comes later either',
  },
  {
    name: 'role of its own looked up among what every object has',
    file: 'domain/foundation/access/policy.ts',
    replace: [['own(builtInRoles, key) ??', 'builtInRoles[key] ??']],
    test: 'test/api/inherited-names.test.ts',
    caughtBy: 'is given in a space',
  },
  {
    name: 'moment that PostgreSQL does not know',
    file: 'api/contract/common.ts',
    replace: [["  .refine(isStorable, 'must", "  .refine((text) => isStorable(text) || true, 'must"]],
    test: 'test/contract/hostile-input.test.ts',
    caughtBy: 'is refused by every operation',
  },
  {
    name: 'gateway started with the vendors’ keys',
    file: 'bin/launcher/child-environment.ts',
    replace: [
      [
        '  const gateway = {\n    ...shared,',
        '  const gateway = {\n    ...shared,\n    ...chosen(env, OF_THE_WORKER),',
      ],
    ],
    test: 'test/launcher/child-environment.test.ts',
    caughtBy: 'gives each child the secrets that it reads',
  },
];
