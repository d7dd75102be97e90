import type { EntityManager } from '@mikro-orm/postgresql';
import { foldedInSql } from '#domain/identity/principals/fold-address.ts';
import { reachesOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Caller, Identity } from '#domain/foundation/access/caller.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import {
  permissions,
  platformOnly,
  spaceScoped,
  type Permission,
} from '#domain/foundation/access/permissions.ts';
import { expand, refusal } from '#domain/foundation/access/policy.ts';
import { permissionsOf } from './role-permissions.ts';
import { inProject } from './in-project.ts';

/** The principals that could use a new credential, as a condition on their id, with the credential's own limit. */
export interface Recipients {
  /** SQL with one parameter, such as `= ?`. */
  principals: { condition: string; parameter: string };
  /** Upper bound of the permissions of their key; null: all of theirs. */
  keyPermissions: readonly string[] | null;
}

/** A role that a principal holds or a pending invite names: in the tenant, in a space or in a project. */
interface Standing {
  space_id: string | null;
  project_id: string | null;
  role_key: string;
}

/**
 * Prevents privilege escalation: everything that `recipient` could do, in the tenant and in each of its spaces and
 * projects, the caller must be able to do too; likewise for pending invites that `recipient` could accept. Access to
 * own resources and to later grants depends on the key alone, so a caller with a restricted key can only create a key
 * with the same restriction.
 * @throws `missing_permission` with the first permission that the caller lacks
 */
export async function requireNoMore(ctx: Context, recipient: Identity): Promise<void> {
  const { principalId, keyPermissions } = recipient;
  requireKeyOfNoMore(ctx.caller, keyPermissions);
  await loadCaller(ctx.em, recipient, ctx.caller.origin, null);
  await requireNoMoreThanAny(ctx, {
    principals: { condition: '= ?', parameter: principalId },
    keyPermissions,
  });
}

/** Like `requireNoMore` for several principals: all that any of them could do. @throws `missing_permission` */
export async function requireNoMoreThanAny(ctx: Context, recipients: Recipients): Promise<void> {
  const { keyPermissions } = recipients;
  const standings = await rolesOf(ctx.em, recipients);
  if (reachesOwn({ keyPermissions }, 'members.add')) {
    standings.push(...(await findPendingInvites(ctx, recipients)));
  }
  await requireStandings(ctx, standings, keyPermissions);
}

/**
 * Like `requireNoMore` for any address: it could accept every present and later invite, and an invite may grant every
 * permission of a space. @throws `missing_permission`
 */
export async function requireNoMoreThanAnyAddress(ctx: Context): Promise<void> {
  requireKeyOfNoMore(ctx.caller, null);
  const own = await loadCaller(ctx.em, ctx.caller, ctx.caller.origin, null);
  requireCovered(spaceScoped, own);
  const pending = await ctx.em.execute<Standing[]>(
    `select distinct space_id, null::uuid as project_id, role_key from invites
     where status = 'pending' and expires_at > now()`,
  );
  await requireStandings(ctx, pending, null);
}

export function requireKeyOfNoMore(caller: Caller, keyPermissions: readonly string[] | null): void {
  if (caller.keyPermissions !== null) {
    const missing = firstMissing(expand(keyPermissions ?? permissions), expand(caller.keyPermissions));
    if (missing !== null) {
      throw refusal(caller, [missing], missing);
    }
  }
}

async function rolesOf(em: EntityManager, { principals }: Recipients): Promise<Standing[]> {
  const { condition, parameter } = principals;
  return em.execute<Standing[]>(
    `select null::uuid as space_id, null::uuid as project_id, role_key from role_assignments where principal_id ${condition}
     union
     select space_id, null, role_key from space_members where principal_id ${condition}
     union
     select space_id, project_id, role_key from project_members where principal_id ${condition}`,
    [parameter, parameter, parameter],
  );
}

/**
 * Pending invites that the recipients could accept. The caller is no recipient here, because it can accept its own
 * invites.
 */
async function findPendingInvites({ em, caller }: Context, { principals }: Recipients): Promise<Standing[]> {
  return em.execute<Standing[]>(
    `select distinct i.space_id, null::uuid as project_id, i.role_key
     from invites i join principals p on ${foldedInSql('p.email')} = ${foldedInSql('i.email')}
     where i.status = 'pending' and i.expires_at > now() and p.id ${principals.condition} and p.id <> ?`,
    [principals.parameter, caller.principalId],
  );
}

/** The caller's permissions are read once per place, and not at all where its tenant-wide permissions suffice. */
async function requireStandings(
  ctx: Context,
  standings: readonly Standing[],
  keyPermissions: readonly string[] | null,
): Promise<void> {
  const { em, caller } = ctx;
  const keyScope = keyPermissions === null ? null : expand(keyPermissions);
  const everywhere = await loadCaller(em, caller, caller.origin, null);
  const inSpaces = new Map<string | null, Caller | null>([[null, everywhere]]);
  const heldBy = new Map<string, Permission[]>();
  for (const { space_id: spaceId, project_id: projectId, role_key: roleKey } of standings) {
    const held =
      heldBy.get(roleKey) ??
      [...expand(await permissionsOf(em, roleKey))].filter(
        (permission) =>
          (keyScope === null || keyScope.has(permission)) &&
          (caller.isPlatform || !platformOnly.has(permission)),
      );
    heldBy.set(roleKey, held);
    if (firstMissing(held, everywhere.granted) !== null) {
      const known = inSpaces.get(spaceId);
      const there = known === undefined ? await callerIn(ctx, spaceId) : known;
      inSpaces.set(spaceId, there);
      if (there !== null) {
        requireCovered(
          held,
          projectId === null ? there : (await inProject({ ...ctx, caller: there }, projectId)).caller,
        );
      }
    }
  }
}

/** Null in a space that is being deleted: a role there gives nothing. */
async function callerIn({ em, caller }: Context, spaceId: string | null): Promise<Caller | null> {
  try {
    return await loadCaller(em, caller, caller.origin, spaceId);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'space_not_found') {
      return null;
    }
    throw error;
  }
}

function requireCovered(wanted: Iterable<Permission>, own: Caller): void {
  const missing = firstMissing(wanted, own.granted);
  if (missing !== null) {
    throw refusal(own, [missing], missing);
  }
}

export function firstMissing(wanted: Iterable<Permission>, held: ReadonlySet<Permission>): Permission | null {
  for (const permission of wanted) {
    if (!held.has(permission)) {
      return permission;
    }
  }
  return null;
}
