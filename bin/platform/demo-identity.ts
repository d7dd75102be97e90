import type { EntityManager } from '@mikro-orm/postgresql';
import { RoleAssignment } from '#domain/identity/roles/role-assignment.entity.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { addProvider } from '#domain/identity/identity-providers/add-provider.ts';
import { saveClientSecret } from '#domain/identity/identity-providers/client-secret.ts';
import { IdentityProvider } from '#domain/identity/identity-providers/identity-provider.entity.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import { sealPrincipal } from '#domain/foundation/events/seal-principal.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';
import { demoClientId, demoProviderId, demoUsers } from './demo-users.ts';

const firstUserId = '00000000-0000-7000-8000-00000000de33';

interface Work {
  em: EntityManager;
  secrets: Secrets;
  actor: Actor;
}

export interface DemoIdentity {
  issuer: string;
  clientSecret: string;
  /** Of the gateway. */
  publicUrl: string;
}

/** Registers the demo's identity provider as it runs now, and makes the first of its users an administrator of the space. */
export async function seedIdentity(work: Work, spaceId: string, demo: DemoIdentity): Promise<void> {
  const { em } = work;
  const redirectUris = [`${demo.publicUrl}/signed-in`];
  const known = await em.findOne(IdentityProvider, { id: demoProviderId });
  if (known === null) {
    await addProvider(work, {
      id: demoProviderId,
      slug: 'demo',
      displayName: 'Identity provider of the demo',
      issuer: demo.issuer,
      clientId: demoClientId,
      clientSecret: demo.clientSecret,
      signingAlg: 'ES256',
      extraAudiences: [],
      redirectUris,
      provisioning: 'automatic',
      strictRotation: false,
      confirmedBy: null,
    });
    await addFirstUser(work, spaceId);
    return;
  }
  // It is the same provider, on the ports of this start.
  known.issuer = demo.issuer;
  known.redirectUris = redirectUris;
  await saveClientSecret(work, known, demo.clientSecret);
  await em.flush();
}

async function addFirstUser({ em, secrets, actor: { tenantId } }: Work, spaceId: string): Promise<void> {
  const [user] = demoUsers;
  const { name, email } = user;
  em.create(Principal, { tenantId, id: firstUserId, type: 'user', name, email });
  await em.flush();
  await sealPrincipal({ em, secrets }, { tenantId, id: firstUserId, name, email });
  em.create(RoleAssignment, { tenantId, principalId: firstUserId, roleKey: 'member' });
  em.create(SpaceMember, { tenantId, spaceId, principalId: firstUserId, roleKey: 'space_admin' });
  await em.flush();
  await em.execute(
    'insert into external_identities (tenant_id, provider_id, subject, principal_id) values (?, ?, ?, ?)',
    [tenantId, demoProviderId, user.sub, firstUserId],
  );
}
